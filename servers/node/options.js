'use strict';
// What the server is told when it starts.

var FLAGS = {
  port: { unit: 'N', about: 'where to listen; 0: the system chooses (CONTRACT 2.6)', value: 0, min: 0, max: 65535 },
  host: { unit: 'ADDRESS', about: 'address to listen at', value: process.env.PUSHMARK_LISTEN || '127.0.0.1' },
  workers: { unit: 'N', about: 'processes that serve, and one that leads them; 0: one process does all', value: 0, min: 0, max: 64 },
  slice: { unit: 'N', about: 'subscribers written to before sockets get their turn; 0: all of them', value: 256, min: 0, max: 1e9 },
  outbox: { unit: 'BYTES', about: 'unsent bytes at which a subscriber is disconnected', value: 262144, min: 1, max: 16777216 },
  backlog: { unit: 'N', about: 'connections that the kernel may hold before they are accepted', value: 4096, min: 1, max: 65535 }
};

/** The options in a list of arguments; or `error`; or `help`, `version`. */
exports.parse = function (words) {
  var options = {};
  Object.keys(FLAGS).forEach(function (name) { options[name] = FLAGS[name].value; });
  for (var i = 0; i < words.length; i++) {
    var name = words[i].replace(/^--/, '');
    if (name === 'help' || name === 'version') { options[name] = true; continue; }
    var flag = words[i] !== name && FLAGS.hasOwnProperty(name) && FLAGS[name];
    if (!flag) return { error: words[i] + ': no such flag\n' + exports.help() };
    options[name] = flag.min === undefined ? words[++i] : Number(words[++i]);
    var fits = flag.min === undefined ? options[name] : options[name] % 1 === 0 && options[name] >= flag.min && options[name] <= flag.max;
    if (!fits) return { error: '--' + name + ': found ' + words[i] + ', accepted: ' + (flag.max ? flag.min + ' to ' + flag.max : flag.unit) };
  }
  return options;
};

/** All flags, a line each. */
exports.help = function () {
  return Object.keys(FLAGS).map(function (name) {
    return '  --' + name + ' ' + FLAGS[name].unit + '  ' + FLAGS[name].about + ' [' + FLAGS[name].value + ']';
  }).concat('  --version  --help').join('\n');
};
