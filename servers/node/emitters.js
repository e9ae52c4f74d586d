'use strict';
// All named emitters: set, changed, cleared; and the one timer that looks what is due. The timer's
// grain is 1 ms: a publication goes out up to about 1 ms late, and never early.

var clock = require('./clock'), compat = require('./compat'), Emitter = require('./emitter').Emitter;

var EMITTERS_MAX = 256;

/** Most publications in one turn of the loop; the rest go out in the next. */
var TURN_MAX = 4096;

/** Longest time that a timer is set for, ms. */
var TIMER_MAX_MS = 1e9;

/** `publish(tick)` says whether there was room; `published()` is called after those of one turn. */
function Emitters(publish, published) {
  this.publish = publish;
  this.published = published;
  this.byName = Object.create(null);
  this.timer = null;
  this.count = 0;
  this.skipped = 0;
}
exports.Emitters = Emitters;

/** Emitters that are set, those that have done their work among them. */
Emitters.prototype.size = function () {
  return Object.keys(this.byName).length;
};

/** CONTRACT 5.2: sets one, or changes it; null where there is no room for another. */
Emitters.prototype.set = function (name, spec) {
  var changed = !!this.byName[name];
  if (!changed && this.size() >= EMITTERS_MAX) return null;
  var emitter = this.byName[name] = new Emitter(spec, clock.now());
  this.arm();
  return { name: name, start_us: emitter.start, changed: changed };
};

/** CONTRACT 5.5: clears one; how many it was. */
Emitters.prototype.clear = function (name) {
  var cleared = this.byName[name] ? 1 : 0;
  delete this.byName[name];
  this.arm();
  return cleared;
};

Emitters.prototype.clearAll = function () {
  var cleared = this.size();
  this.byName = Object.create(null);
  this.arm();
  return cleared;
};

/** The emitter whose next publication is due first. */
Emitters.prototype.first = function () {
  var byName = this.byName;
  return Object.keys(byName).reduce(function (first, name) {
    return !first || byName[name].due() < first.due() ? byName[name] : first;
  }, null);
};

Emitters.prototype.arm = function () {
  clearTimeout(this.timer);
  var first = this.first(), due = first ? first.due() : Infinity;
  if (due === Infinity) return;
  var ms = Math.max(1, Math.min(TIMER_MAX_MS, Math.ceil((due - clock.now()) / 1000)));
  this.timer = setTimeout(this.look.bind(this), ms);
};

/** Publishes what is due: also what was missed, each with its own due and sequence (CONTRACT 5.4). */
Emitters.prototype.look = function () {
  var now = clock.now(), ticks = 0, first;
  // Timers may ring up to 1 ms early; then there is nothing yet, and it is set again.
  while (ticks++ < TURN_MAX && (first = this.first()) && first.due() <= now) {
    if (this.publish(first.take())) this.count++;
    else this.skipped++;
  }
  this.published();
  this.arm();
};
