'use strict';
// What a request target says: its path, and the parameters of CONTRACT 6, checked.

var cursor = require('./cursor'), names = require('./names'), Refusal = require('./reply').Refusal;

var HOLD_DEFAULT_MS = 30000, HOLD_MAX_MS = 3600000;

function Query(target) {
  var at = target.indexOf('?');
  this.path = at < 0 ? target : target.slice(0, at);
  this.pairs = at < 0 ? [] : target.slice(at + 1).split('&');
}
exports.Query = Query;

/** The first value of a name, decoded; undefined where there is none. */
Query.prototype.find = function (name) {
  var found = this.pairs.filter(function (pair) { return pair.slice(0, name.length + 1) === name + '='; })[0];
  return found && exports.decode(found.slice(name.length + 1));
};

/** The names asked for, sorted, each once; at least one. */
Query.prototype.channels = function () {
  var list = (this.find('channel') || '').split(',');
  if (!list.every(names.isChannel)) throw new Refusal(400, 'channel=NAME[,NAME...] is needed; ' + names.CHANNEL);
  return list.sort().filter(function (name, i) { return i === 0 || name !== list[i - 1]; });
};

/** undefined: it does not say; null: from now on, it wants its first cursor; a number: what came after it. */
Query.prototype.since = function () {
  var text = this.find('since');
  if (text === undefined) return undefined;
  var number = text === '' ? null : cursor.read(text);
  if (text !== '' && number === null) throw new Refusal(400, 'since is a cursor of this server, or empty');
  return number;
};

Query.prototype.hold = function () {
  var text = this.find('hold');
  if (text === undefined) return HOLD_DEFAULT_MS;
  if (!/^\d{1,7}$/.test(text) || Number(text) > HOLD_MAX_MS) throw new Refusal(400, 'hold is a number of ms, at most ' + HOLD_MAX_MS);
  return Number(text);
};

/** Undoes percent-encoding (RFC 3986 2.1). */
exports.decode = function (text) {
  try { return decodeURIComponent(text); } catch (bad) { throw new Refusal(400, 'bad percent-encoding'); }
};
