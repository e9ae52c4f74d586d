'use strict';
// The last 48 bytes of a measured message (CONTRACT 1.3), written by emitters and read for the sequence.

var compat = require('./compat');

/** Bytes of a stamp. */
exports.SIZE = 48;

var DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz';
var FORM = /^pm1:([0-9a-z]{6}):([0-9a-z]{2}):[0-9a-z]{4}:([0-9a-z]{7}):[0-9a-z]{10}:[0-9a-z]{10}$/;

/** A message of `size` bytes: padding, then the stamp. */
exports.message = function (stamp, size) {
  var text = 'pm1:' + [
    field(stamp.nonce, 6), field(stamp.publisher, 2), field(stamp.channel, 4),
    field(stamp.sequence, 7), field(stamp.due, 10), field(stamp.sent, 10)
  ].join(':');
  var message = compat.buffer(size), padding = size - exports.SIZE;
  for (var i = 0; i < padding; i++) message[i] = DIGITS.charCodeAt(i % 36);
  compat.bytes(text, 'binary').copy(message, padding);
  return message;
};

/** Who counts, and how far: what a message's stamp says; null where it has none. */
exports.read = function (message) {
  if (message.length < exports.SIZE) return null;
  var found = FORM.exec(message.toString('binary', message.length - exports.SIZE));
  return found && { counter: found[1] + found[2], sequence: parseInt(found[3], 36) };
};

/** What a stamp of these fields says, as `read` gives it. */
exports.said = function (stamp) {
  return { counter: field(stamp.nonce, 6) + field(stamp.publisher, 2), sequence: stamp.sequence };
};

function field(value, width) {
  var digits = value.toString(36);
  return '0000000000'.slice(0, width - digits.length) + digits;
}
