'use strict';
// Publications go to their subscribers. A pass takes what waits, copies the lists of subscribers,
// and writes from the copy, each client once. It is cut into slices: between two of them the event
// loop accepts connections, reads requests and publishes, so that none of these waits for a long
// emit (CONTRACT 3.7). What is published meanwhile is accepted, and written by the next pass.

var clock = require('./clock'), compat = require('./compat');

/** Most publications of one pass, and most bytes. */
var PASS_MAX = 1024, PASS_BYTES_MAX = 1048576;

/** Most publications that wait, and most bytes; beyond it there is no room (CONTRACT 4.4). */
var WAITING_MAX = 65536, WAITING_BYTES_MAX = 64 * 1048576;

/** `slice`: writes before the event loop gets its turn; 0: a pass is never cut. */
function Delivery(slice, channels, subscribers, counters) {
  this.slice = slice || Infinity;
  this.channels = channels;
  this.subscribers = subscribers;
  this.counters = counters;
  this.queue = [];
  this.bytes = 0;
  this.pass = null;
  this.scheduled = false;
  this.afterwards = [];
  /** Called with the number of publications written out, after each pass. */
  this.written = function () {};
}
exports.Delivery = Delivery;

/** Publications accepted and not yet written. */
Delivery.prototype.waiting = function () {
  return this.queue.length + (this.pass ? this.pass.publications.length : 0);
};

Delivery.prototype.room = function (size) {
  return this.queue.length < WAITING_MAX && this.bytes + size <= WAITING_BYTES_MAX;
};

/** Accepts a publication; it goes out in this turn of the loop, with all others of the turn. */
Delivery.prototype.accept = function (publication) {
  this.channels.accept(publication);
  this.queue.push(publication);
  this.bytes += publication.size;
  this.schedule();
};

/** Begins to write what waits, without waiting for the end of the turn. */
Delivery.prototype.now = function () {
  if (!this.pass) this.turn();
};

/** Writes everything that waits, however long it takes: the server is about to stop. */
Delivery.prototype.finish = function () {
  this.slice = Infinity;
  this.turn();
};

/** Calls back once everything accepted so far is written. */
Delivery.prototype.after = function (then) {
  var last = this.queue.length ? this.queue[this.queue.length - 1] : this.pass;
  if (last) this.afterwards.push({ cursor: last.cursor, then: then });
  else then();
};

Delivery.prototype.schedule = function () {
  if (this.scheduled) return;
  this.scheduled = true;
  var self = this;
  compat.later(function () {
    self.scheduled = false;
    self.turn();
  });
};

Delivery.prototype.turn = function () {
  var left = this.slice;
  while (left > 0 && (this.pass || this.queue.length > 0)) {
    if (!this.pass) this.begin();
    left -= this.write(left);
  }
  if (this.pass || this.queue.length > 0) this.schedule();
};

/** Copies the lists. Polls leave them here: they have their answer, and no time-out can overtake it. */
Delivery.prototype.begin = function () {
  var publications = this.take(), copy = [];
  publications.forEach(function (publication) {
    var list = publication.channel.subscriptions;
    for (var i = 0; i < list.length; i++) {
      var subscriber = list[i].subscriber;
      if (publication.cursor <= subscriber.from) continue; // it came later, and its acknowledgement says so
      if (!subscriber.due) copy.push(subscriber);
      subscriber.due = subscriber.due ? subscriber.due.and(publication) : publication.alone;
      if (subscriber.place) subscriber.place(publication);
    }
  }, this);
  copy.forEach(function (subscriber) {
    if (subscriber.once) this.subscribers.exit(subscriber);
  }, this);
  this.pass = { publications: publications, copy: copy, next: 0, cursor: publications[publications.length - 1].cursor, began: clock.now() };
};

Delivery.prototype.take = function () {
  var bytes = 0, n = 0;
  while (n < this.queue.length && n < PASS_MAX && (n === 0 || bytes + this.queue[n].size <= PASS_BYTES_MAX)) {
    bytes += this.queue[n++].size;
  }
  this.bytes -= bytes;
  return this.queue.splice(0, n);
};

/** Goes on with the pass, for at most so many writes; how many it were. */
Delivery.prototype.write = function (most) {
  var pass = this.pass, from = pass.next, to = Math.min(pass.copy.length, from + most);
  while (pass.next < to) {
    var subscriber = pass.copy[pass.next++], group = subscriber.due;
    subscriber.due = null;
    if (!subscriber.socket.destroyed) subscriber.deliver(group, pass);
    else if (subscriber.once && subscriber.lost) subscriber.lost();
  }
  if (pass.next === pass.copy.length) this.end(pass);
  return to - from;
};

Delivery.prototype.end = function (pass) {
  this.pass = null;
  pass.publications.forEach(function (publication) { publication.message(); }); // stamped, though nobody heard it
  if (pass.copy.length > 0) this.counters.emitted(clock.now() - pass.began);
  while (this.afterwards.length > 0 && this.afterwards[0].cursor <= pass.cursor) this.afterwards.shift().then();
  this.written(pass.publications.length);
};
