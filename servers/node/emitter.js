'use strict';
// One emitter: publication n of a channel is due at start + phase + n × interval, whatever happened
// to those before it (CONTRACT 5.3). Pure arithmetic: nothing here knows the time or writes a byte.

var names = require('./names'), stamp = require('./stamp');

var MESSAGE_MAX = 1048576, CHANNELS_MAX = 65536, DAY_US = 86400e6;

/** How far in the past a schedule may begin: its missed ticks are all published. */
var PAST_MAX_US = 60e6;

var KEYS = ['interval_us', 'size', 'channels', 'nonce', 'publisher', 'channel_indexes', 'phases_us', 'start_us', 'count'];

/** Why a document (CONTRACT 5.2) cannot be followed; null if it can. */
exports.refusal = function (spec, now) {
  if (!spec || typeof spec !== 'object' || Array.isArray(spec)) return 'an emitter is a JSON object';
  var strange = Object.keys(spec).filter(function (key) { return KEYS.indexOf(key) < 0; })[0];
  if (strange !== undefined) return strange + ': no such key; there are ' + KEYS.join(' ');
  if (!Array.isArray(spec.channels) || !spec.channels.every(names.isChannel)) return 'channels: a list of names is needed; ' + names.CHANNEL;
  var n = spec.channels.length;
  return number('interval_us', spec.interval_us, 1, DAY_US) ||
    number('size', spec.size, stamp.SIZE, MESSAGE_MAX) ||
    number('channels', n, 1, CHANNELS_MAX) ||
    number('nonce', spec.nonce, 0, Math.pow(36, 6) - 1) ||
    optional('publisher', spec.publisher, 0, 36 * 36 - 1) ||
    optional('count', spec.count, 0, Number.MAX_VALUE) ||
    optional('start_us', spec.start_us, Math.max(0, now - PAST_MAX_US), now + DAY_US) ||
    list('channel_indexes', spec.channel_indexes, n, Math.pow(36, 4) - 1) ||
    list('phases_us', spec.phases_us, n, spec.interval_us - 1);
};

/** An emitter that follows a document that can be followed. */
function Emitter(spec, now) {
  this.spec = spec;
  this.start = given(spec.start_us) ? spec.start_us : now;
  this.count = given(spec.count) ? spec.count : Infinity;
  this.sequence = 0;
  this.next = 0;
  this.voices = spec.channels.map(function (name, i) {
    return { name: name, phase: spec.phases_us ? spec.phases_us[i] : 0, index: spec.channel_indexes ? spec.channel_indexes[i] : i, order: i };
  }).sort(function (a, b) { return a.phase - b.phase || a.order - b.order; });
}
exports.Emitter = Emitter;

/** When its next publication is due; Infinity once it has done its work. */
Emitter.prototype.due = function () {
  if (this.sequence >= this.count) return Infinity;
  return this.start + this.voices[this.next].phase + this.sequence * this.spec.interval_us;
};

/** Takes the publication that is due. */
Emitter.prototype.take = function () {
  var voice = this.voices[this.next];
  var tick = new Tick(voice, this.spec, this.sequence, this.due());
  this.next = (this.next + 1) % this.voices.length;
  if (this.next === 0) this.sequence++;
  return tick;
};

/** A publication that is due: everything but the instant of sending. */
function Tick(voice, spec, sequence, due) {
  this.name = voice.name;
  this.size = spec.size;
  this.stamp = { nonce: spec.nonce, publisher: spec.publisher || 0, channel: voice.index, sequence: sequence, due: due, sent: 0 };
}

/** What its stamp will say of who counts, and how far. */
Tick.prototype.said = function () {
  return stamp.said(this.stamp);
};

/** Its message, sent now. */
Tick.prototype.message = function (now) {
  this.stamp.sent = now;
  return stamp.message(this.stamp, this.size);
};

function given(value) {
  return value !== undefined && value !== null;
}

function number(key, found, low, high) {
  var fits = typeof found === 'number' && found % 1 === 0 && found >= low && found <= high;
  return fits ? null : key + ': found ' + JSON.stringify(found) + ', accepted: ' + low + ' to ' + high;
}

function optional(key, found, low, high) {
  return given(found) ? number(key, found, low, high) : null;
}

function list(key, found, n, high) {
  if (!given(found)) return null;
  if (!Array.isArray(found) || found.length !== n) return key + ': a list of ' + n + ' values is needed, one for each channel';
  return found.reduce(function (refusal, value) { return refusal || number(key, value, 0, high); }, null);
}
