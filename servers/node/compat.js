'use strict';
// What the Node.js versions do differently, from 0.8 to today's. Nothing else asks for the version.

/** The place of the libraries that belong to this version. */
var version = /^v(\d+)\.(\d+)/.exec(process.version);
exports.modules = version[1] === '0' ? './node-0.' + version[2] + '/node_modules/' : './node_modules/';

/** Whether http.createServer takes options. */
exports.modern = version[1] >= 10;

/** Bytes of a text, in an encoding; `binary` is one byte a character. */
exports.bytes = function (text, encoding) {
  return Buffer.alloc ? Buffer.from(text, encoding) : new Buffer(text, encoding);
};

/** A buffer of so many bytes, to be filled. */
exports.buffer = function (size) {
  return Buffer.alloc ? Buffer.alloc(size) : new Buffer(size);
};

/**
 * Calls back after the sockets that are ready have had their turn. 0.8 has no setImmediate; its
 * nextTick lets the loop go round, as it no longer does from 0.10 on.
 */
exports.later = typeof setImmediate === 'function' ? setImmediate : process.nextTick;

/**
 * Writes ready bytes of a body without end in one write, the head before them where it has not
 * gone yet. `response.write` of old makes three writes of one chunk and could never put several
 * chunks into one (CONTRACT 3.6); the method under it is the same in all versions, and keeps
 * requests that were sent ahead in their order.
 */
exports.write = function (response, bytes) {
  response._send(bytes);
};

/** Calls back when nothing more can be written to a socket: our side has ended. */
exports.whenEnded = function (socket, then) {
  if (typeof setImmediate === 'function') return socket.on('finish', then);
  // 0.8 does not say it.
  var end = socket.end;
  socket.end = function () {
    then();
    return end.apply(socket, arguments);
  };
};

/** Bytes written to a response or a socket that the kernel has not taken yet. */
exports.unsent = function (writable) {
  if (typeof writable.writableLength === 'number') return writable.writableLength;
  if (typeof writable.bufferSize === 'number') return writable.bufferSize;
  var socket = writable.connection;
  if (socket && socket._httpMessage === writable) return socket.bufferSize || 0;
  return writable.output.reduce(function (sum, piece) { return sum + piece.length; }, 0);
};

/** Lets connections idle as long as they like: the study's clients wait for minutes. */
exports.patient = function (server) {
  server.timeout = server.keepAliveTimeout = server.headersTimeout = server.requestTimeout = 0;
};

/** Whether bytes are UTF-8. */
exports.isUtf8 = require('buffer').isUtf8 || function (bytes) {
  for (var i = 0; i < bytes.length; i++) {
    var first = bytes[i];
    if (first < 0x80) continue;
    var more = first >= 0xc2 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xf0 && first < 0xf5 ? 3 : 0;
    if (more === 0 || i + more >= bytes.length) return false;
    // No overlong forms, no surrogates, nothing above U+10FFFF (RFC 3629 4).
    var low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
    var high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
    if (bytes[i + 1] < low || bytes[i + 1] > high) return false;
    for (var j = 2; j <= more; j++) if (bytes[i + j] < 0x80 || bytes[i + j] > 0xbf) return false;
    i += more;
  }
  return true;
};

/** How often the event loop's delay is looked at. */
var LOOP_LOOK_MS = 20;

/** Begins to measure how late the event loop is; gives what was seen so far, or nothing of old. */
exports.loopDelay = function () {
  var hooks = null;
  try { hooks = require('perf_hooks'); } catch (none) { /* before 8 */ }
  if (!hooks || !hooks.monitorEventLoopDelay) return function () { return undefined; };
  var seen = hooks.monitorEventLoopDelay({ resolution: LOOP_LOOK_MS });
  seen.enable();
  // What it records is the time between two looks.
  var late = function (ns) { return isFinite(ns) ? Math.max(0, Math.round(ns / 1000) - LOOP_LOOK_MS * 1000) : 0; };
  return function () { return { mean: late(seen.mean), p99: late(seen.percentile(99)), max: late(seen.max) }; };
};
