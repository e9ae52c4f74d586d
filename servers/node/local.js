'use strict';
// The hub of a server that is one process: it numbers publications and keeps the emitters.
// worker.js offers the same methods to a process of a cluster.

var Emitters = require('./emitters').Emitters, stats = require('./stats');

function Local(house) {
  var self = this;
  this.house = house;
  this.cursor = 0;
  /** Instrumented requests (CONTRACT 7). */
  this.registered = 0;
  this.emitters = new Emitters(function (tick) {
    var room = house.channels.room([tick.name]) && house.delivery.room(tick.size);
    if (room) house.accept(++self.cursor, tick.name, tick);
    return room;
  }, function () { house.delivery.now(); });
}
exports.Local = Local;

Local.prototype.publish = function (name, message, done) {
  var subscribers = this.house.accept(++this.cursor, name, message);
  done(null, { subscribers: subscribers, queued: this.house.delivery.waiting() });
};

/** `done(start)`: how many are registered, this one among them. */
Local.prototype.register = function (names, done) {
  done(++this.registered);
};

/** `done(finish)`: how many were registered, this one among them. */
Local.prototype.deregister = function (names, done) {
  done(this.registered--);
};

Local.prototype.setEmitter = function (name, spec, done) {
  done(this.emitters.set(name, spec));
};

/** Nothing is emitted after the answer (CONTRACT 5.5): what is on its way is written first. */
Local.prototype.clearEmitter = function (name, done) {
  var cleared = this.emitters.clear(name);
  this.house.delivery.after(function () { done(cleared); });
};

Local.prototype.clearEmitters = function (done) {
  var cleared = this.emitters.clearAll();
  this.house.delivery.after(function () { done(cleared); });
};

Local.prototype.stats = function (done) {
  done(stats.document([stats.own(this.house)], { emitters: this.emitters, channels_total: this.house.channels.list.length }));
};

Local.prototype.log = function (on, done) {
  this.house.logging = on;
  done();
};

Local.prototype.stop = function () {
  this.emitters.clearAll();
  this.house.stop(process.exit.bind(process, 0));
};
