'use strict';
// What may be a name (CONTRACT 1.1 and 5.1).

exports.CHANNEL = 'a channel is 1 to 128 visible ASCII characters without , = " and \\';
exports.EMITTER = 'an emitter\'s name is 1 to 128 letters, digits, - _ and .';

exports.isChannel = function (name) {
  return typeof name === 'string' && /^[!-~]{1,128}$/.test(name) && !/[,="\\]/.test(name);
};

exports.isEmitter = function (name) {
  return /^[A-Za-z0-9._-]{1,128}$/.test(name);
};
