'use strict';
// A contract server (servers/CONTRACT.md) on Node.js: one text for 0.8, 0.10 and today's versions,
// in one process, or in several that lead and serve.
//
// Reading order: routes, polls and streams, then delivery, which is the heart of it.

var cluster = require('cluster'), options = require('./options').parse(process.argv.slice(2));

if (options.error) {
  console.error(options.error);
  process.exit(2);
} else if (options.help) {
  console.log(require('./options').help());
} else if (options.version) {
  console.log('Node.js ' + process.version + ', ws ' + require(require('./compat').modules + 'ws/package.json').version);
} else if (cluster.isWorker) {
  require('./worker').serve(options);
} else if (options.workers > 0) {
  require('./master').lead(options);
} else {
  alone();
}

function alone() {
  var House = require('./house').House, Local = require('./local').Local;
  var house = new House(options, false);
  house.hub = new Local(house);
  process.on('SIGTERM', function () { house.hub.stop(); });
  process.on('SIGINT', function () { house.hub.stop(); });
  require('./front').serve(house, function (url) { console.log(url); });
}
