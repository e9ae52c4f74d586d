'use strict';
// The channels: who hears each, its latest message, how far its publisher has counted, and the
// recent messages for those who ask with a cursor.

/** Most channels; beyond it there is no room (CONTRACT 4.4). */
var CHANNELS_MAX = 262144;

/** Messages that a channel remembers (CONTRACT 6.1), and bytes that all of them may remember together. */
var HISTORY_MAX = 256, HISTORY_BYTES_MAX = 64 * 1048576;

/** What a remembered message costs beside its bytes, roughly. */
var REMEMBERED_BYTES = 512;

/** Longest list of channels that is acknowledged (CONTRACT 3.3). */
var ACKNOWLEDGED_MAX = 256;

/** `always`: remember from the start; otherwise from the first subscription that could ask for it. */
function Channels(always) {
  this.always = always;
  this.byName = Object.create(null);
  this.list = [];
  this.accepted = 0;
  /** Number of the last publication that was accepted. */
  this.cursor = 0;
  this.remembered = [];
  this.remembers = 0;
  this.bytes = 0;
  /** Called with the name of each new channel. */
  this.mentioned = function () {};
}
exports.Channels = Channels;

/** Whether there is room for those of these names that there are not yet. */
Channels.prototype.room = function (names) {
  var byName = this.byName;
  var fresh = names.filter(function (name) { return !byName[name]; });
  return this.list.length + fresh.length <= CHANNELS_MAX;
};

/** The channel of a name: it exists from its first mention (CONTRACT 1.1). */
Channels.prototype.mention = function (name) {
  var channel = this.byName[name];
  if (!channel) {
    channel = { name: name, subscriptions: [], requests: 0, published: 0, latest: null, last: null, history: this.always ? [] : null };
    this.byName[name] = channel;
    this.list.push(channel);
    this.mentioned(name);
  }
  return channel;
};

/** Begins to remember: somebody subscribed who may come back with a cursor. */
Channels.prototype.remember = function (channels) {
  channels.forEach(function (channel) { channel.history = channel.history || []; });
};

/**
 * Takes note of a publication as it is accepted. From now on it is published: polls see it, and who
 * subscribes later has missed it, though the writes may wait for those before it.
 */
Channels.prototype.accept = function (publication) {
  var channel = publication.channel;
  this.cursor = publication.cursor;
  this.accepted++;
  channel.published++;
  channel.latest = publication;
  channel.last = later(channel.last, publication.said);
  if (!channel.history) return;
  channel.history.push(publication);
  this.remembered.push(publication);
  this.remembers++;
  this.bytes += publication.size + REMEMBERED_BYTES;
  if (channel.history.length > HISTORY_MAX) this.forget(channel);
  this.bound();
};

/** What was published on these channels after a cursor, oldest first. */
Channels.prototype.newer = function (channels, cursor) {
  var found = channels.map(function (channel) {
    return (channel.history || []).filter(function (publication) { return publication.cursor > cursor; });
  });
  return [].concat.apply([], found).sort(function (a, b) { return a.cursor - b.cursor; });
};

/** CONTRACT 3.2: the header that tells up to where each channel had come; none for very many. */
Channels.prototype.acknowledge = function (channels, headers) {
  if (channels.length > 0 && channels.length <= ACKNOWLEDGED_MAX) {
    headers['pushmark-subscribed'] = channels.map(function (channel) {
      return channel.name + '=' + (channel.last ? channel.last.sequence : '-');
    }).join();
  }
  return headers;
};

/** The higher sequence. The count begins anew with another nonce or publisher (CONTRACT 3.2). */
function later(last, said) {
  if (!said) return last;
  return last && last.counter === said.counter && last.sequence >= said.sequence ? last : said;
}

Channels.prototype.forget = function (channel) {
  var oldest = channel.history.shift();
  oldest.forgotten = true;
  this.remembers--;
  this.bytes -= oldest.size + REMEMBERED_BYTES;
};

/** All histories together are bounded; the oldest message of any channel gives way. */
Channels.prototype.bound = function () {
  var list = this.remembered, passed = 0;
  while (this.bytes > HISTORY_BYTES_MAX || (passed < list.length && list[passed].forgotten)) {
    var oldest = list[passed++];
    if (!oldest.forgotten) this.forget(oldest.channel);
  }
  if (passed > 0) list.splice(0, passed);
  // A quiet channel's message may stand in front of many that are forgotten.
  if (list.length > 2 * this.remembers + 1024) {
    this.remembered = list.filter(function (publication) { return !publication.forgotten; });
  }
};
