'use strict';
// The process that leads a cluster: it orders publications and relays each to every worker, keeps
// the emitters, and answers for all. It reads no request and writes to no subscriber.

var clock = require('./clock'), cluster = require('cluster'), cursor = require('./cursor');
var Emitters = require('./emitters').Emitters, Line = require('./line').Line, stats = require('./stats');

/** Most publications that a worker may be behind; beyond it there is no room (CONTRACT 4.4). */
var BEHIND_MAX = 65536;

/** How long workers may take to stop before they are ended. */
var STOP_MS = 1500;

exports.lead = function (options) {
  var master = new Master();
  var urls = 0, left = options.workers;
  for (var i = 0; i < options.workers; i++) {
    var worker = cluster.fork({ PUSHMARK_CURSORS: cursor.mark });
    worker.on('exit', gone.bind(null, worker));
    master.hire(worker, function (url) { if (++urls === options.workers) console.log(url); });
  }
  process.on('SIGTERM', master.stop.bind(master));
  process.on('SIGINT', master.stop.bind(master));

  function gone(worker, code, signal) {
    if (!master.stopping) {
      // A crash is a finding: nobody takes its place, and the server ends with it.
      console.error('worker ' + worker.process.pid + ' ended by itself: ' + (signal || 'status ' + code));
      process.exit(1);
    }
    if (--left === 0) process.exit(0);
  }
};

function Master() {
  var self = this;
  this.staff = [];
  this.cursor = 0;
  /** Instrumented requests (CONTRACT 7). */
  this.registered = 0;
  this.stopping = false;
  this.channels = Object.create(null);
  // What is due at one time goes in one message, so that it can go out in one write.
  var due = [];
  this.emitters = new Emitters(function (tick) {
    var room = self.behind() + due.length < BEHIND_MAX;
    if (room) due.push(tick);
    return room;
  }, function () {
    if (due.length > 0) {
      self.relay(due.map(function (tick) { return { name: tick.name, message: tick.message(clock.now()).toString('binary') }; }));
    }
    due = [];
  });
}

/** Begins to listen to a worker; `listening(url)` is called once it serves. */
Master.prototype.hire = function (worker, listening) {
  var self = this, member = { process: worker.process, behind: 0, requests: {} };
  member.line = new Line(worker, {
    listening: listening,
    mentioned: function (name) { self.channels[name] = true; },
    written: function (publications) { member.behind -= publications; },
    publish: function (asked, answer) { self.publish(asked, answer); },
    register: function (names, answer) {
      count(member.requests, names, 1);
      answer(++self.registered);
    },
    deregister: function (names, answer) {
      count(member.requests, names, -1);
      answer(self.registered--);
    },
    setEmitter: function (asked, answer) { answer(self.emitters.set(asked.name, asked.spec)); },
    clearEmitter: function (name, answer) { self.settled(self.emitters.clear(name), answer); },
    clearEmitters: function (_, answer) { self.settled(self.emitters.clearAll(), answer); },
    stats: function (_, answer) { self.stats(answer); },
    log: function (on, answer) { self.askAll('log', on, answer); },
    stop: function () { self.stop(); }
  });
  this.staff.push(member);
};

/** The most publications that any worker has not written yet. */
Master.prototype.behind = function () {
  return this.staff.reduce(function (most, member) { return Math.max(most, member.behind); }, 0);
};

Master.prototype.publish = function (asked, answer) {
  if (this.behind() >= BEHIND_MAX) return answer(null);
  var accepted = { subscribers: 0, queued: this.behind() + 1 };
  this.relay([asked], function (subscribers) {
    accepted.subscribers = subscribers.reduce(function (sum, n) { return sum + n; }, 0);
    answer(accepted);
  });
};

/** Gives publications their place in the order of all, and to every worker; `counted` gets their subscriptions. */
Master.prototype.relay = function (publications, counted) {
  var staff = this.staff, registered = this.registered, answers = [];
  publications.forEach(function (publication) { publication.cursor = ++this.cursor; }, this);
  staff.forEach(function (member) {
    var copies = publications.map(function (publication) {
      var asked = shares(staff, member, publication.name, registered);
      return { cursor: publication.cursor, name: publication.name, message: publication.message, asked: asked };
    });
    member.behind += publications.length;
    member.line[counted ? 'ask' : 'tell']('accept', copies, function (subscriptions) {
      if (answers.push(subscriptions) === staff.length) counted(answers);
    });
  });
};

/** How many instrumented requests hear a channel, and how many of them stand before a worker's own; undefined for none. */
function shares(staff, member, name, registered) {
  var total = 0, before = 0;
  staff.forEach(function (other) {
    if (other === member) before = total;
    total += other.requests[name] || 0;
  });
  return total > 0 ? { before: before, total: total, registered: registered } : undefined;
}

/** CONTRACT 5.5: nothing is emitted after the answer; what is on its way is written first. */
Master.prototype.settled = function (cleared, answer) {
  this.askAll('settle', null, function () { answer(cleared); });
};

Master.prototype.stats = function (answer) {
  var self = this;
  this.askAll('stats', null, function (all) {
    answer(stats.document(all, { emitters: self.emitters, channels_total: Object.keys(self.channels).length }));
  });
};

Master.prototype.tellAll = function (verb, value) {
  this.staff.forEach(function (member) { member.line.tell(verb, value); });
};

/** `done` gets every worker's answer. */
Master.prototype.askAll = function (verb, value, done) {
  var answers = [], staff = this.staff;
  staff.forEach(function (member) {
    member.line.ask(verb, value, function (answer) {
      answers.push(answer);
      if (answers.length === staff.length) done(answers);
    });
  });
};

/** CONTRACT 2.5. */
Master.prototype.stop = function () {
  if (this.stopping) return;
  this.stopping = true;
  this.emitters.clearAll();
  this.tellAll('stop');
  var staff = this.staff;
  setTimeout(function () {
    staff.forEach(function (member) { member.process.kill('SIGKILL'); });
  }, STOP_MS);
};

function count(requests, names, by) {
  names.forEach(function (name) {
    requests[name] = (requests[name] || 0) + by;
    if (requests[name] === 0) delete requests[name];
  });
}
