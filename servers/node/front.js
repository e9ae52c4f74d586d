'use strict';
// The HTTP server of one process: its sockets, its requests, and how it stops.

var compat = require('./compat'), http = require('http'), reply = require('./reply'), routes = require('./routes');

/** How long a stopping server goes on writing what is unwritten. */
var LAST_WORDS_MS = 1000;

/** Longest head (CONTRACT 3.4), with some room. */
var HEAD_MAX = 32768;

/** Serves a house; `listening(url)` is called once it does. */
exports.serve = function (house, listening) {
  var options = house.options, sockets = {}, accepted = 0;
  var answer = request.bind(null, house);
  var server = compat.modern ? http.createServer({ maxHeaderSize: HEAD_MAX }, answer) : http.createServer(answer);
  compat.patient(server);
  require('./websocket').attach(house, server);

  server.on('connection', function (socket) {
    var id = accepted++;
    sockets[id] = socket;
    socket.subscribers = [];
    socket.setNoDelay(true);
    socket.setTimeout(0); // 0.8 sets two minutes by itself
    house.counters.connections++;
    house.counters.accepted++;
    socket.on('close', function () {
      delete sockets[id];
      house.counters.connections--;
      house.subscribers.gone(socket);
    });
  });
  server.on('clientError', broken.bind(null, house));
  server.listen(options.port, options.host, options.backlog, function () {
    listening('http://' + options.host + ':' + server.address().port);
  });

  /** CONTRACT 2.5: what is on its way is written, then every conversation ends as its protocol wants it. */
  house.stop = function (stopped) {
    if (house.stopping) return;
    house.stopping = true;
    server.close();
    house.delivery.finish();
    var left = Object.keys(sockets).map(function (id) { return sockets[id]; });
    left.forEach(function (socket) {
      // A poll's answer says Connection: close, and a WebSocket's Close does: these end by themselves.
      var byItself = socket.subscribers.some(function (subscriber) {
        return subscriber.once || subscriber.transport === 'websocket';
      });
      socket.subscribers.slice().forEach(function (subscriber) { subscriber.leave(); });
      if (!byItself) socket.end();
    });
    var since = Date.now();
    var look = setInterval(function () {
      if (house.counters.connections > 0 && Date.now() - since < LAST_WORDS_MS) return;
      clearInterval(look);
      stopped();
    }, 10);
  };
};

function request(house, request, response) {
  house.counters.requests++;
  if (request.httpVersionMajor !== 1) return broken(house, new Error('HTTP/1.1 is needed'), request.connection);
  if (house.logging) console.error(request.method + ' ' + request.url);
  routes.handle(house, request, response, function (refusal) {
    if (!(refusal instanceof reply.Refusal)) throw refusal;
    house.counters.bad_requests++;
    reply.refuse(response, refusal);
  });
}

/** What is no request is answered where the version still lets us, and the connection ends. */
function broken(house, error, socket) {
  house.counters.bad_requests++;
  if (!socket || !socket.writable || socket.destroyed || socket.subscribers.length > 0) return socket && socket.destroy();
  var status = error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
  var body = JSON.stringify({ error: error.message });
  socket.end('HTTP/1.1 ' + status + '\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ' +
    Buffer.byteLength(body) + '\r\n\r\n' + body);
}
