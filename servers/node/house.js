'use strict';
// Everything that one process serves with, in one place: given to whoever handles a request.

var Channels = require('./channels').Channels, Counters = require('./counters').Counters;
var Delivery = require('./delivery').Delivery, Outbox = require('./outbox').Outbox;
var Publication = require('./publication').Publication, Refusal = require('./reply').Refusal;
var Subscribers = require('./subscribers').Subscribers;

/** `inCluster`: a client may come back with its cursor to another process, so all remember from the start. */
function House(options, inCluster) {
  this.options = options;
  this.counters = new Counters();
  this.channels = new Channels(inCluster);
  this.subscribers = new Subscribers(this.channels);
  this.outbox = new Outbox(options.outbox, this.counters);
  this.delivery = new Delivery(options.slice, this.channels, this.subscribers, this.counters);
  this.logging = false;
  this.stopping = false;
  /** Who orders publications, keeps emitters, and answers for all processes: local.js, or worker.js. */
  this.hub = null;
}
exports.House = House;

/** The longest message (CONTRACT 1.2). */
House.prototype.messageMax = 1048576;

/** The channels of these names, which exist from now on. */
House.prototype.mention = function (names) {
  if (!this.channels.room(names)) throw new Refusal(503, 'too many channels');
  return names.map(this.channels.mention, this.channels);
};

/** Publishes a message; `done(refusal, {subscribers, queued})`. */
House.prototype.publish = function (name, message, done) {
  var counters = this.counters;
  var refused = function (why) {
    counters.publish_refused++;
    done(new Refusal(503, why));
  };
  if (this.stopping) return refused('the server is stopping');
  if (!this.channels.room([name])) return refused('too many channels');
  if (!this.delivery.room(message.length)) return refused('too many publications waiting');
  this.hub.publish(name, message, done);
};

/** Takes a publication that has its place in the order of all; how many subscribe to its channel now. */
House.prototype.accept = function (cursor, name, source, asked) {
  var channel = this.channels.mention(name);
  this.delivery.accept(new Publication(channel, cursor, source, asked));
  return channel.subscriptions.length;
};
