'use strict';
// What this process counts for GET /stats (CONTRACT 2.3).

function Counters() {
  this.connections = 0;
  this.accepted = 0;
  this.requests = 0;
  this.bad_requests = 0;
  this.polls = 0;
  this.long_poll_answers = 0;
  this.long_poll_timeouts = 0;
  this.publish_refused = 0;
  this.deliveries = 0;
  this.dropped = 0;
  this.disconnected = 0;
  this.queue_depth_max = 0;
  this.passes = 0;
  this.passes_us = 0;
  this.passes_us_max = 0;
}
exports.Counters = Counters;

/** So many messages wait for one subscriber. */
Counters.prototype.queued = function (messages) {
  if (messages > this.queue_depth_max) this.queue_depth_max = messages;
};

/** A pass over the subscribers took so long, the loop's other work between its slices included. */
Counters.prototype.emitted = function (us) {
  this.passes++;
  this.passes_us += us;
  if (us > this.passes_us_max) this.passes_us_max = us;
};
