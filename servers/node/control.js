'use strict';
// The control requests (CONTRACT 2, 4 and 5): each answered with a document.

var clock = require('./clock'), emitter = require('./emitter'), names = require('./names');
var reply = require('./reply'), Refusal = reply.Refusal;

/** Whole numbers below it are exact. */
var EXACT = Math.pow(2, 53);

exports.health = function (house, request, response) {
  reply.send(response, 200, 'text/plain', 'ok');
};

exports.time = function (house, request, response, query) {
  var client = query.find('client') || '';
  reply.json(response, 200, {
    // A number where it is one, so that it comes back as it was sent.
    client: /^\d{1,16}$/.test(client) && Number(client) < EXACT ? Number(client) : client,
    monotonic_us: clock.now(),
    realtime_us: clock.realtime()
  });
};

exports.stats = function (house, request, response) {
  house.hub.stats(function (document) { reply.json(response, 200, document); });
};

exports.log = function (house, request, response, asked) {
  if (!asked || typeof asked.on !== 'boolean') throw new Refusal(400, '{"on": true} or {"on": false} is needed');
  house.hub.log(asked.on, function () { reply.json(response, 200, { on: asked.on }); });
};

exports.shutdown = function (house, request, response) {
  reply.json(response, 200, { stopping: true });
  house.hub.stop();
};

/** CONTRACT 4.1: a message from outside, relayed byte for byte. */
exports.publish = function (house, request, response, query, message) {
  var channels = query.channels(), name = channels[0];
  if (channels.length !== 1) throw new Refusal(400, 'one channel at a time is published to');
  if (!message || message.length < 1 || message.length > house.messageMax) throw new Refusal(413, 'a message has 1 byte to 1 MiB');
  house.publish(name, message, function (refusal, accepted) {
    if (refusal) return reply.refuse(response, refusal);
    reply.json(response, 200, { channel: name, subscribers: accepted.subscribers, queued: accepted.queued });
  });
};

exports.setEmitter = function (house, request, response, name, spec) {
  if (!names.isEmitter(name)) throw new Refusal(400, names.EMITTER);
  var why = emitter.refusal(spec, clock.now());
  if (why) throw new Refusal(400, why);
  if (!house.channels.room(spec.channels)) throw new Refusal(503, 'too many channels');
  house.hub.setEmitter(name, spec, function (set) {
    if (!set) return reply.refuse(response, new Refusal(503, 'too many emitters'));
    house.mention(spec.channels);
    reply.json(response, 200, set);
  });
};

exports.clearEmitter = function (house, request, response, name) {
  if (!names.isEmitter(name)) throw new Refusal(400, names.EMITTER);
  house.hub.clearEmitter(name, function (cleared) {
    if (cleared === 0) return reply.refuse(response, new Refusal(404, 'no emitter of that name'));
    reply.json(response, 200, { cleared: cleared });
  });
};

exports.clearEmitters = function (house, request, response) {
  house.hub.clearEmitters(function (cleared) { reply.json(response, 200, { cleared: cleared }); });
};
