'use strict';
// One message on its way to its subscribers, and the groups that one client gets in one write.

var clock = require('./clock'), framing = require('./framing'), stamp = require('./stamp');

/**
 * A publication; `source` is the message as it came, or an emitter's tick. In a cluster, `asked` says
 * how many instrumented requests it goes to in all processes.
 */
function Publication(channel, cursor, source, asked) {
  this.channel = channel;
  this.cursor = cursor;
  this.size = source.size === undefined ? source.length : source.size;
  this.said = source.size === undefined ? stamp.read(source) : source.said();
  this.source = source;
  this.asked = asked;
  this.placed = 0;
  this.alone = new Group([this]);
}
exports.Publication = Publication;

/** The message. An emitter's is stamped when it is first asked for: just before its first write (CONTRACT 5.3). */
Publication.prototype.message = function () {
  if (this.source.size !== undefined) this.source = this.source.message(clock.now());
  return this.source;
};

/** Publications that one client gets in one write (CONTRACT 3.6), and their bytes, made once for all such clients. */
function Group(publications) {
  this.publications = publications;
  this.followed = null;
  this.bytes = {};
}
exports.Group = Group;

/** This group and one more publication. */
Group.prototype.and = function (publication) {
  if (!this.followed || this.followed.publications[this.publications.length] !== publication) {
    this.followed = new Group(this.publications.concat(publication));
  }
  return this.followed;
};

/** Its bytes in a framing, by the framing's name. */
Group.prototype.as = function (name) {
  return this.bytes[name] || (this.bytes[name] = framing[name](this.publications));
};
