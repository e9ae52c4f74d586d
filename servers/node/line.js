'use strict';
// A line between the master and a worker, over which each can tell the other something, or ask.
// What is said arrives in its order.

/** `peer` sends and emits messages; `verbs` are what the other side may say: `verb(value, answer)`. */
function Line(peer, verbs) {
  var self = this;
  this.peer = peer;
  this.asked = {};
  this.count = 0;
  peer.on('message', function (message) {
    if (message.verb) verbs[message.verb](message.value, self.answer.bind(self, message.id));
    else if (message.to) {
      var done = self.asked[message.to];
      delete self.asked[message.to];
      done(message.value);
    }
  });
}
exports.Line = Line;

Line.prototype.tell = function (verb, value) {
  this.send({ verb: verb, value: value });
};

Line.prototype.ask = function (verb, value, done) {
  this.asked[++this.count] = done;
  this.send({ verb: verb, value: value, id: this.count });
};

Line.prototype.answer = function (id, value) {
  if (id) this.send({ to: id, value: value });
};

Line.prototype.send = function (message) {
  if (this.peer.connected !== false) this.peer.send(message);
};
