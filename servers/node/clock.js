'use strict';
// The instants of CONTRACT 1.4: µs of CLOCK_MONOTONIC, which is what process.hrtime reads.

/** Now, in whole µs. */
exports.now = function () {
  var time = process.hrtime();
  return time[0] * 1e6 + Math.floor(time[1] / 1000);
};

/** Now, in µs since 1970; of ms grain. */
exports.realtime = function () {
  return Date.now() * 1000;
};
