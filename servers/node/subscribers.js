'use strict';
// The registry of those who hear: it enters them into the lists of their channels and takes them
// out. Nothing here waits for anything, and nobody walks a list while it may change: delivery.js
// copies it first.
//
// A subscriber has: `transport`; `once` (a poll: one answer, then it is out); `deliver(group, pass)`;
// `leave()`, said when the server stops; and, if it likes, `out()`, called when it is taken out.
// An instrumented request has also `place(publication)`, called as the list is copied, and `lost()`,
// called when its socket closes before it is answered.

function Subscribers(channels) {
  this.channels = channels;
  this.byTransport = {};
}
exports.Subscribers = Subscribers;

/**
 * Enters a subscriber into the lists of its channels, until its socket closes. What is accepted from
 * now on is its to hear; one that comes with a cursor from another process may be ahead of this one.
 */
Subscribers.prototype.enter = function (subscriber, channels, socket) {
  subscriber.socket = socket;
  subscriber.from = Math.max(subscriber.since || 0, this.channels.cursor);
  subscriber.due = null;
  subscriber.subscriptions = channels.map(function (channel) {
    var subscription = { channel: channel, subscriber: subscriber, position: channel.subscriptions.length };
    channel.subscriptions.push(subscription);
    if (subscriber.place) channel.requests++;
    return subscription;
  });
  socket.subscribers.push(subscriber);
  this.byTransport[subscriber.transport] = (this.byTransport[subscriber.transport] || 0) + 1;
};

/** Whether something was accepted for it that is not written yet. A poll that has its answer is out. */
Subscribers.prototype.owes = function (subscriber) {
  return subscriber.subscriptions.some(function (subscription) {
    var latest = subscription.channel.latest;
    return latest && latest.cursor > subscriber.from;
  });
};

/** Takes it out of all lists. */
Subscribers.prototype.exit = function (subscriber) {
  var mine = subscriber.socket.subscribers, at = mine.indexOf(subscriber);
  if (at < 0) return;
  mine.splice(at, 1);
  subscriber.subscriptions.forEach(function (subscription) {
    // The last of the list takes the place: leaving costs the same in a list of any length.
    var list = subscription.channel.subscriptions, last = list.pop();
    if (last !== subscription) {
      list[subscription.position] = last;
      last.position = subscription.position;
    }
    if (subscriber.place) subscription.channel.requests--;
  });
  this.byTransport[subscriber.transport]--;
  if (subscriber.out) subscriber.out();
};

/** Takes out all of a socket that has closed. */
Subscribers.prototype.gone = function (socket) {
  socket.subscribers.slice().forEach(function (subscriber) {
    this.exit(subscriber);
    if (subscriber.lost) subscriber.lost();
  }, this);
};
