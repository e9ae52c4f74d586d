'use strict';
// Publications as each transport writes them (CONTRACT 6.1, 6.4 to 6.6).

var compat = require('./compat'), cursor = require('./cursor');

/** The body of a poll's answer: messages with a line end between two. */
exports.body = function (publications) {
  return join(publications, function (publication, i) {
    return i === 0 ? [publication.message()] : [ascii('\n'), publication.message()];
  });
};

/** Each message and one LF are one chunk. */
exports.stream = function (publications) {
  return join(publications, function (publication) {
    return chunk([publication.message(), ascii('\n')]);
  });
};

/** Each message is the data of an event: a field for every line of it. */
exports.sse = function (publications) {
  return join(publications, function (publication) {
    var data = publication.message().toString('binary').replace(/\r\n|[\r\n]/g, '\ndata: ');
    return chunk([ascii('id: ' + cursor.text(publication.cursor) + '\ndata: ' + data + '\n\n')]);
  });
};

/** Each message is one frame, which a server does not mask (RFC 6455 5.2). */
exports.websocket = function (publications) {
  return join(publications, function (publication) {
    var message = publication.message(), length = message.length;
    var head = compat.buffer(length < 126 ? 2 : length < 65536 ? 4 : 10);
    head[0] = compat.isUtf8(message) ? 0x81 : 0x82;
    head[1] = length < 126 ? length : length < 65536 ? 126 : 127;
    if (head.length === 4) head.writeUInt16BE(length, 2);
    if (head.length === 10) { head.writeUInt32BE(0, 2); head.writeUInt32BE(length, 6); }
    return [head, message];
  });
};

/** A text as one chunk (RFC 9112 7.1). */
exports.chunk = function (text) {
  return Buffer.concat(chunk([compat.bytes(text, 'utf8')]));
};

function chunk(pieces) {
  var length = pieces.reduce(function (sum, piece) { return sum + piece.length; }, 0);
  return [ascii(length.toString(16) + '\r\n')].concat(pieces, ascii('\r\n'));
}

function join(publications, pieces) {
  return Buffer.concat([].concat.apply([], publications.map(pieces)));
}

function ascii(text) {
  return compat.bytes(text, 'binary');
}
