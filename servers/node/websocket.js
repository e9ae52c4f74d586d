'use strict';
// GET /ws (CONTRACT 6.6). The library shakes hands, reads, and answers pings and closes; messages
// are written as ready frames, made once for all subscribers, as on the other transports.

var compat = require('./compat'), names = require('./names');
var Query = require('./query').Query, reply = require('./reply');

var library = require(compat.modules + 'ws'), WebSocketServer = library.WebSocketServer || library.Server;

// The last version that runs on old Node.js takes frames that a client did not mask (RFC 6455 5.1).
var parse = library.Receiver && library.Receiver.prototype.processPacket;
if (parse) {
  library.Receiver.prototype.processPacket = function (head) {
    if ((head[1] & 0x80) !== 0) parse.call(this, head);
    else this.error('a client masks its frames', 1002);
  };
}

/** Longest text that is taken: the longest message, and the line before it. */
var TEXT_MAX = 1048576 + 256;

exports.attach = function (house, server) {
  var acknowledgement = {};
  var sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, clientTracking: false, maxPayload: TEXT_MAX });
  sockets.on('headers', function (lines) {
    Object.keys(acknowledgement).forEach(function (name) { lines.push(name + ': ' + acknowledgement[name]); });
  });
  server.on('upgrade', function (request, socket, head) {
    house.counters.requests++;
    try {
      var channels = asked(house, request);
      acknowledgement = house.channels.acknowledge(channels, {});
      // It answers within this call, so that the acknowledgement is this request's.
      sockets.handleUpgrade(request, socket, head, function (webSocket) {
        begin(house, webSocket, channels, socket);
      });
    } catch (refusal) {
      if (!(refusal instanceof reply.Refusal)) throw refusal;
      house.counters.bad_requests++;
      var body = JSON.stringify({ error: refusal.why });
      socket.end('HTTP/1.1 ' + refusal.status + ' Refused\r\nConnection: close\r\nContent-Type: application/json\r\n' +
        'Content-Length: ' + Buffer.byteLength(body) + '\r\n\r\n' + body);
    }
  });
};

/** The channels of a handshake that can be granted; a client that only publishes has none. */
function asked(house, request) {
  var query = new Query(request.url), headers = request.headers;
  if (query.path !== '/ws') throw new reply.Refusal(404, 'the path of WebSockets is /ws');
  var good = request.method === 'GET' && /^websocket$/i.test(headers.upgrade) &&
    headers['sec-websocket-version'] === '13' && /^[A-Za-z0-9+\/]{22}==$/.test(headers['sec-websocket-key']);
  if (!good) throw new reply.Refusal(400, 'this is no handshake of RFC 6455');
  return query.find('channel') === undefined ? [] : house.mention(query.channels());
}

function begin(house, webSocket, channels, socket) {
  var subscriber = new Subscriber(house, webSocket);
  house.subscribers.enter(subscriber, channels, socket);
  webSocket.on('error', function () {}); // it closes
  // After the closing handshake the library waits for the client's end; nothing is delivered any more.
  compat.whenEnded(socket, function () { house.subscribers.exit(subscriber); });
  // The old library decodes a text, and gives its bytes beside it.
  webSocket.on('message', function (text, flags) { heard(house, flags && flags.buffer || text); });
}

/** A text that begins `publish CHANNEL` and a line end publishes the rest; other texts are passed over. */
function heard(house, bytes) {
  var end = 0;
  while (end < bytes.length && bytes[end] !== 10) end++;
  if (end === bytes.length) return;
  var line = /^publish (.*)$/.exec(bytes.toString('binary', 0, end)), message = bytes.slice(end + 1);
  if (!line || !names.isChannel(line[1]) || message.length < 1 || message.length > house.messageMax) return;
  house.publish(line[1], message, function () {}); // a refusal is counted; there is nowhere to say it
}

function Subscriber(house, webSocket) {
  this.house = house;
  this.webSocket = webSocket;
}

Subscriber.prototype.transport = 'websocket';

Subscriber.prototype.deliver = function (group) {
  // Nothing follows a Close (RFC 6455 5.5.1).
  if (this.webSocket.readyState !== library.OPEN) return;
  this.house.outbox.write(this, this.socket, group.as('websocket'), group.publications.length, write);
};

/** RFC 6455 7.4.1: 1001, going away. */
Subscriber.prototype.leave = function () {
  this.webSocket.close(1001);
};

function write(socket, bytes) {
  socket.write(bytes);
}
