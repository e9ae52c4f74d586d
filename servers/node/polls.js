'use strict';
// GET /poll and GET /long-poll (CONTRACT 6.1 to 6.3): answered from what is remembered, or held
// until something is published.

var clock = require('./clock'), cursor = require('./cursor'), reply = require('./reply');
var Group = require('./publication').Group;

/** CONTRACT 6.1: the state now, or what came after a cursor; never held. */
exports.poll = function (house, request, response, query) {
  var since = query.since(), channels = house.mention(query.channels());
  house.counters.polls++;
  if (since === undefined) return state(house, request, response, channels);
  house.channels.remember(channels);
  var newer = since === null ? [] : house.channels.newer(channels, since);
  answer(house, response, newer, since, headers(house, channels));
};

/** CONTRACT 6.2: answered at once where there is something to tell, held where not. */
exports.longPoll = function (house, request, response, query) {
  var since = query.since(), hold = query.hold(), channels = house.mention(query.channels());
  if (since !== undefined) house.channels.remember(channels);
  var newer = typeof since === 'number' ? house.channels.newer(channels, since) : [];
  if (newer.length > 0) house.counters.long_poll_answers++;
  if (since === null || newer.length > 0) return answer(house, response, newer, since, headers(house, channels));
  var held = new Held(house, response, channels, hold, since || 0);
  house.subscribers.enter(held, channels, request.connection);
};

function state(house, request, response, channels) {
  var latest = channels.map(function (channel) { return channel.latest; }).filter(Boolean);
  var newest = latest.reduce(function (newest, publication) { return Math.max(newest, publication.cursor); }, 0);
  var head = headers(house, channels);
  head['pushmark-cursor'] = cursor.text(house.channels.cursor);
  head.ETag = '"' + cursor.text(newest) + '"';
  if (names(request.headers['if-none-match'] || '', head.ETag)) {
    response.writeHead(304, head);
    return response.end();
  }
  house.counters.deliveries += latest.length;
  reply.send(response, 200, 'text/plain', new Group(latest).as('body'), head);
}

/** Whether a list of entity tags names this one (RFC 9110 13.1.2). */
function names(list, tag) {
  return list.trim() === '*' || list.split(',').some(function (other) { return other.trim().replace(/^W\//, '') === tag; });
}

/** Answers with messages; the next cursor is never older than the one that came. */
function answer(house, response, publications, since, head) {
  house.counters.deliveries += publications.length;
  head['pushmark-cursor'] = cursor.text(Math.max(house.channels.cursor, since || 0));
  reply.send(response, 200, 'text/plain', new Group(publications).as('body'), head);
}

function headers(house, channels) {
  return house.channels.acknowledge(channels, {});
}

/** A poll that waits. */
function Held(house, response, channels, hold, since) {
  this.house = house;
  this.response = response;
  this.hold = hold;
  this.since = since;
  this.came = clock.now();
  // In the answer it tells the instant of now (CONTRACT 3.2).
  this.head = headers(house, channels);
  this.timer = setTimeout(this.rang.bind(this), hold);
}

Held.prototype.transport = 'long-poll';
Held.prototype.once = true;

Held.prototype.out = function () {
  clearTimeout(this.timer);
};

Held.prototype.deliver = function (group, pass) {
  this.house.counters.long_poll_answers++;
  this.house.counters.deliveries += group.publications.length;
  this.head['pushmark-cursor'] = cursor.text(pass.cursor);
  reply.send(this.response, 200, 'text/plain', group.as('body'), this.head);
};

Held.prototype.rang = function () {
  var left = this.hold - (clock.now() - this.came) / 1000;
  // Timers may ring up to 1 ms early. What is published already is its answer, as soon as it is written.
  if (left > 0 || this.house.subscribers.owes(this)) this.timer = setTimeout(this.rang.bind(this), Math.max(1, Math.ceil(left)));
  else this.timeOut();
};

/** CONTRACT 6.3: a document says that the time has passed; never a bare close. */
Held.prototype.timeOut = function () {
  this.house.subscribers.exit(this);
  this.house.counters.long_poll_timeouts++;
  this.head['pushmark-cursor'] = cursor.text(Math.max(this.house.channels.cursor, this.since));
  reply.json(this.response, 200, { timeout: true, hold_ms: this.hold, held_us: clock.now() - this.came }, this.head);
};

Held.prototype.leave = function () {
  this.head.Connection = 'close';
  this.timeOut();
};
