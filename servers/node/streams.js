'use strict';
// GET /stream and GET /sse (CONTRACT 6.4 and 6.5): one answer without end.

var compat = require('./compat'), cursor = require('./cursor'), reply = require('./reply');
var Group = require('./publication').Group;

exports.stream = function (house, request, response, query) {
  begin(house, request, response, query, 'stream', 'text/plain', null);
};

exports.sse = function (house, request, response, query) {
  // A client that comes back says what it saw last; what is no cursor of ours is passed over.
  var since = cursor.read(request.headers['last-event-id'] || '');
  var stream = begin(house, request, response, query, 'sse', 'text/event-stream', since);
  var missed = since === null ? [] : house.channels.newer(stream.channels, since);
  if (missed.length > 0) stream.deliver(new Group(missed));
};

function begin(house, request, response, query, transport, type, since) {
  if (request.httpVersion !== '1.1') throw new reply.Refusal(400, 'HTTP/1.1 is needed');
  var channels = house.mention(query.channels());
  if (transport === 'sse') house.channels.remember(channels);
  reply.endless(response, type, house.channels.acknowledge(channels, {}));
  var stream = new Stream(house, response, channels, transport, since);
  house.subscribers.enter(stream, channels, request.connection);
  return stream;
}

/** A subscriber until its connection ends. `transport` is the name of its framing too. */
function Stream(house, response, channels, transport, since) {
  this.house = house;
  this.response = response;
  this.channels = channels;
  this.transport = transport;
  this.since = since;
}

Stream.prototype.deliver = function (group) {
  this.house.outbox.write(this, this.response, group.as(this.transport), group.publications.length, compat.write);
};

Stream.prototype.leave = function () {
  this.house.subscribers.exit(this);
  this.response.end();
};
