'use strict';
// What waits for a subscriber who does not read is bounded (CONTRACT 3.5): it waits in the socket,
// and at the bound the subscriber is disconnected, which is counted.

var compat = require('./compat');

/** `most`: unsent bytes of one subscriber. */
function Outbox(most, counters) {
  this.most = most;
  this.counters = counters;
}
exports.Outbox = Outbox;

/** Has `write` write so many messages to a subscriber, unless too much waits for it already. */
Outbox.prototype.write = function (subscriber, writable, bytes, messages, write) {
  if (compat.unsent(writable) > this.most) {
    this.counters.disconnected++;
    subscriber.socket.destroy();
    return;
  }
  write(writable, bytes);
  this.counters.deliveries += messages;
  var unsent = compat.unsent(writable);
  // Sockets count bytes; of these messages' size it would be so many.
  if (unsent > 0) this.counters.queued(Math.ceil(unsent * messages / bytes.length));
};
