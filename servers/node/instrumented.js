'use strict';
// POST /request (CONTRACT 7): the first study's requests. Each event is answered with a document
// that tells when its emit began, when it came to this request, and this request's place in it.

var clock = require('./clock'), compat = require('./compat'), framing = require('./framing');
var names = require('./names'), reply = require('./reply');

var DURATION_MAX_MS = 3600000;

var KEYS = ['type', 'events', 'duration_ms'];

exports.request = function (house, request, response, received) {
  var refusal = wrong(received);
  if (refusal) throw new reply.Refusal(400, refusal);
  var names = received.events.slice().sort().filter(function (name, i, all) { return name !== all[i - 1]; });
  if (!house.channels.room(names)) throw new reply.Refusal(503, 'too many channels');
  var asked = new Asked(house, response, received, names);
  // Of a cluster, the master knows how many are registered.
  house.hub.register(names, function (start) { asked.begin(request.connection, start); });
};

function wrong(received) {
  if (!received || typeof received !== 'object' || Array.isArray(received)) return 'a request is a JSON object';
  var strange = Object.keys(received).filter(function (key) { return KEYS.indexOf(key) < 0; })[0];
  if (strange !== undefined) return strange + ': no such key; there are ' + KEYS.join(' ');
  if (received.type !== 'comet' && received.type !== 'long-poll') return 'type: "comet" or "long-poll" is needed';
  var events = received.events, ms = received.duration_ms;
  if (!Array.isArray(events) || events.length === 0 || !events.every(names.isChannel)) return 'events: a list of channels is needed; ' + names.CHANNEL;
  var fits = typeof ms === 'number' && ms % 1 === 0 && ms >= 0 && ms <= DURATION_MAX_MS;
  var absent = ms === undefined && received.type === 'comet';
  return fits || absent ? null : 'duration_ms: a number of ms up to ' + DURATION_MAX_MS + ' is needed';
}

/** A request that waits for its events. */
function Asked(house, response, received, names) {
  this.house = house;
  this.response = response;
  this.received = received;
  this.names = names;
  this.once = received.type === 'long-poll';
  this.transport = this.once ? 'long-poll' : 'stream';
  this.created = clock.now();
  this.places = [];
  this.timer = null;
}

/** It is registered. */
Asked.prototype.begin = function (socket, start) {
  if (socket.destroyed) return this.lost();
  var house = this.house, channels = house.mention(this.names);
  this.start = start;
  this.head = house.channels.acknowledge(channels, {});
  house.subscribers.enter(this, channels, socket);
  if (this.once) this.timer = setTimeout(this.rang.bind(this), this.received.duration_ms);
  else reply.endless(this.response, 'application/json', this.head);
};

/** Its socket closed before it was answered. */
Asked.prototype.lost = function () {
  this.house.hub.deregister(this.names, function () {});
};

Asked.prototype.out = function () {
  clearTimeout(this.timer);
};

/** Remembers its place among the requests that a publication goes to, in all processes. */
Asked.prototype.place = function (publication) {
  var all = publication.asked, place = ++publication.placed + (all ? all.before : 0);
  this.places.push({ total: Math.max(place, all ? all.total : publication.channel.requests), place: place });
};

Asked.prototype.deliver = function (group, pass) {
  var places = this.places, counters = this.house.counters, n = group.publications.length;
  this.places = [];
  var lines = group.publications.map(function (publication, i) {
    var now = clock.now();
    var registered = publication.asked ? publication.asked.registered : this.house.hub.registered;
    return this.line(registered, {
      name: publication.channel.name,
      timings: { created: pass.began, sent: now, duration: (now - pass.began) / 1000 },
      connections: places[i],
      message: publication.message().toString('utf8')
    });
  }, this);
  if (!this.once) {
    var chunks = Buffer.concat(lines.map(function (line) { return framing.chunk(line + '\n'); }));
    return this.house.outbox.write(this, this.response, chunks, n, compat.write);
  }
  this.house.hub.deregister(this.names, function () {});
  counters.long_poll_answers++;
  counters.deliveries += n;
  this.answer(lines.join('\n'));
};

/** The document on one line; without an event the request has timed out. `finish`: registered now, this one too. */
Asked.prototype.line = function (finish, event) {
  var now = clock.now(), response = event ? { event: event } : { timeout: true };
  response.request = this.received;
  response.timings = { created: this.created, sent: now, duration: (now - this.created) / 1000 };
  response.connections = { start: this.start, finish: finish };
  return JSON.stringify({ response: response });
};

Asked.prototype.answer = function (text) {
  reply.send(this.response, 200, 'application/json', compat.bytes(text + '\n', 'utf8'), this.head);
};

Asked.prototype.rang = function () {
  var left = this.received.duration_ms - (clock.now() - this.created) / 1000;
  // Timers may ring up to 1 ms early. What is published already is its answer, as soon as it is written.
  if (left > 0 || this.house.subscribers.owes(this)) this.timer = setTimeout(this.rang.bind(this), Math.max(1, Math.ceil(left)));
  else this.timeOut();
};

Asked.prototype.timeOut = function () {
  var self = this;
  this.house.subscribers.exit(this);
  this.house.counters.long_poll_timeouts++;
  this.house.hub.deregister(this.names, function (finish) { self.answer(self.line(finish, null)); });
};

Asked.prototype.leave = function () {
  if (this.once) {
    this.head.Connection = 'close';
    return this.timeOut();
  }
  this.house.subscribers.exit(this);
  this.response.end();
};
