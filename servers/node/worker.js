'use strict';
// A process of a cluster: it serves its share of the connections. The methods are those of local.js;
// what concerns all processes it asks the master.

var compat = require('./compat'), front = require('./front'), House = require('./house').House;
var Line = require('./line').Line, Refusal = require('./reply').Refusal, stats = require('./stats');

exports.serve = function (options) {
  var house = new House(options, true);
  var line = new Line(process, {
    accept: function (publications, answer) {
      answer(publications.reduce(function (subscribers, publication) {
        var message = compat.bytes(publication.message, 'binary');
        return subscribers + house.accept(publication.cursor, publication.name, message, publication.asked);
      }, 0));
    },
    settle: function (_, answer) { house.delivery.after(function () { answer(true); }); },
    stats: function (_, answer) { answer(stats.own(house)); },
    log: function (on, answer) { answer(house.logging = on); },
    stop: function () { house.stop(process.exit.bind(process, 0)); }
  });
  house.hub = new Worker(line);
  house.channels.mentioned = function (name) { line.tell('mentioned', name); };
  house.delivery.written = function (publications) { line.tell('written', publications); };
  // The master says when to stop; where it is no more, nobody is left to say it.
  process.on('SIGTERM', function () {});
  process.on('SIGINT', function () {});
  process.on('disconnect', process.exit.bind(process, 0));
  front.serve(house, function (url) { line.tell('listening', url); });
};

function Worker(line) {
  this.line = line;
}

Worker.prototype.publish = function (name, message, done) {
  this.line.ask('publish', { name: name, message: message.toString('binary') }, function (accepted) {
    if (accepted) done(null, accepted);
    else done(new Refusal(503, 'too many publications waiting'));
  });
};

Worker.prototype.register = function (names, done) {
  this.line.ask('register', names, done);
};

Worker.prototype.deregister = function (names, done) {
  this.line.ask('deregister', names, done);
};

Worker.prototype.setEmitter = function (name, spec, done) {
  this.line.ask('setEmitter', { name: name, spec: spec }, done);
};

Worker.prototype.clearEmitter = function (name, done) {
  this.line.ask('clearEmitter', name, done);
};

Worker.prototype.clearEmitters = function (done) {
  this.line.ask('clearEmitters', null, done);
};

Worker.prototype.stats = function (done) {
  this.line.ask('stats', null, done);
};

Worker.prototype.log = function (on, done) {
  this.line.ask('log', on, done);
};

Worker.prototype.stop = function () {
  this.line.tell('stop');
};
