'use strict';
// A cursor (CONTRACT 1.5): the number of a publication in the order of all of this server, from 1,
// after a mark that tells this server from another, and from an earlier life of itself.

var mark = process.env.PUSHMARK_CURSORS || Date.now().toString(36);

/** What the processes of one server have in common. */
exports.mark = mark;

/** A cursor as text. */
exports.text = function (number) {
  return mark + '-' + number;
};

/** The number in a cursor's text; null where it is none of this server's. */
exports.read = function (text) {
  var number = text.slice(0, mark.length + 1) === mark + '-' ? text.slice(mark.length + 1) : '';
  return /^\d{1,15}$/.test(number) ? Number(number) : null;
};
