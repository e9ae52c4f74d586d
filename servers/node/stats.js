'use strict';
// GET /stats (CONTRACT 2.3): what one process counts, and one document of all processes.

var compat = require('./compat');

/** Most channels that are listed; the number of all is given beside them. */
var LISTED_MAX = 4096;

var loopDelay = compat.loopDelay();

/** What this process says of itself. */
exports.own = function (house) {
  var memory = process.memoryUsage(), channels = {};
  house.channels.list.slice(0, LISTED_MAX).forEach(function (channel) {
    var last = channel.last ? channel.last.sequence : null;
    channels[channel.name] = { published: channel.published, last: last, subscribers: channel.subscriptions.length };
  });
  return {
    pid: process.pid,
    logging: house.logging,
    counters: house.counters,
    transports: house.subscribers.byTransport,
    publications: house.channels.accepted,
    channels: channels,
    waiting: house.delivery.waiting(),
    memory: { rss: memory.rss, heap_total: memory.heapTotal, heap_used: memory.heapUsed },
    loop_delay_us: loopDelay()
  };
};

/** The document of what all processes say; `hub`: what belongs to none of them. */
exports.document = function (all, hub) {
  var sum = function (key) { return all.reduce(function (sum, own) { return sum + (own.counters[key] || 0); }, 0); };
  var max = function (read) { return Math.max.apply(null, all.map(read)); };
  var transports = { 'long-poll': 0, stream: 0, sse: 0, websocket: 0 };
  var document = {
    clock: 'monotonic', grain_us: 1, timer_grain_us: 1000, nodelay: true, emitter: 'absolute',
    threads: all.length, node: process.version, logging: all[0].logging,
    transports: transports,
    publications: max(function (own) { return own.publications; }),
    publications_waiting: max(function (own) { return own.waiting; }),
    channels: channels(all),
    channels_total: hub.channels_total,
    queue_depth_max: max(function (own) { return own.counters.queue_depth_max; }),
    emitters: hub.emitters.size(),
    emits: {
      count: hub.emitters.count, skipped: hub.emitters.skipped, passes: sum('passes'),
      duration_us: sum('passes') === 0 ? {} : {
        mean: Math.round(sum('passes_us') / sum('passes')),
        max: max(function (own) { return own.counters.passes_us_max; })
      }
    },
    processes: all.map(function (own) {
      return { pid: own.pid, connections: own.counters.connections, memory: own.memory, loop_delay_us: own.loop_delay_us };
    })
  };
  all.forEach(function (own) {
    Object.keys(own.transports).forEach(function (name) { transports[name] += own.transports[name]; });
  });
  ['connections', 'accepted', 'requests', 'bad_requests', 'polls', 'long_poll_answers', 'long_poll_timeouts',
    'publish_refused', 'deliveries', 'dropped', 'disconnected'].forEach(function (key) { document[key] = sum(key); });
  return document;
};

/** Every process sees every publication; subscribers are each one's own. */
function channels(all) {
  var merged = {}, listed = 0;
  all.forEach(function (own) {
    Object.keys(own.channels).forEach(function (name) {
      var channel = own.channels[name], before = merged[name];
      if (!before && listed++ < LISTED_MAX) merged[name] = channel;
      if (before) {
        var ahead = channel.published > before.published ? channel : before;
        merged[name] = { published: ahead.published, last: ahead.last, subscribers: before.subscribers + channel.subscribers };
      }
    });
  });
  return merged;
}
