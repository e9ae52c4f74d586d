'use strict';
// Which request is whose: paths and methods of CONTRACT.md. A handler takes the house, the request,
// its answer, and then what it needs: the query, the body, or the document in the body.

var control = require('./control'), instrumented = require('./instrumented'), polls = require('./polls');
var query = require('./query'), Refusal = require('./reply').Refusal, streams = require('./streams');

/** Longest document that is taken: an emitter with 65,536 channels fits. */
var DOCUMENT_MAX = 4194304;

var ROUTES = {
  '/health': { GET: asked(control.health) },
  '/time': { GET: asked(control.time) },
  '/stats': { GET: asked(control.stats) },
  '/log': { POST: withDocument(control.log) },
  '/shutdown': { POST: asked(control.shutdown) },
  '/publish': { POST: withBody(1048576, control.publish) },
  '/emitters': { DELETE: asked(control.clearEmitters) },
  '/poll': { GET: asked(polls.poll) },
  '/long-poll': { GET: asked(polls.longPoll) },
  '/stream': { GET: asked(streams.stream) },
  '/sse': { GET: asked(streams.sse) },
  '/ws': { GET: asked(function () { throw new Refusal(426, 'this is a WebSocket: ask for an upgrade'); }) },
  '/request': { POST: withDocument(instrumented.request) }
};

var EMITTER = { PUT: withDocument(control.setEmitter), DELETE: asked(control.clearEmitter) };

/** Has a request handled; `refused` takes what is thrown. */
exports.handle = function (house, request, response, refused) {
  try {
    var asks = new query.Query(request.url), about = asks, methods = ROUTES.hasOwnProperty(asks.path) && ROUTES[asks.path];
    if (/^\/emitters\/./.test(asks.path)) {
      methods = EMITTER;
      about = query.decode(asks.path.slice('/emitters/'.length));
    }
    if (!methods) throw new Refusal(404, 'no such path; there are ' + Object.keys(ROUTES).join(' '));
    if (!methods.hasOwnProperty(request.method)) throw new Refusal(405, 'this path has ' + Object.keys(methods).join(' and '));
    methods[request.method](house, request, response, about, refused);
  } catch (refusal) {
    refused(refusal);
  }
};

function asked(handler) {
  return handler;
}

/** Collects the body first: at most so many bytes of it, null where there are more. */
function withBody(most, handler) {
  return function (house, request, response, about, refused) {
    var pieces = [], size = 0;
    request.on('data', function (piece) {
      size += piece.length;
      pieces = size > most ? [] : pieces.concat(piece);
    });
    request.on('end', function () {
      try {
        handler(house, request, response, about, size > most ? null : Buffer.concat(pieces));
      } catch (refusal) {
        refused(refusal);
      }
    });
  };
}

/** Reads the document in the body first. What the path names comes before it, where it names something. */
function withDocument(handler) {
  return withBody(DOCUMENT_MAX, function (house, request, response, about, body) {
    if (!body) throw new Refusal(413, 'a document has at most 4 MiB');
    var document;
    try {
      document = JSON.parse(body.toString('utf8'));
    } catch (bad) {
      throw new Refusal(400, 'a JSON document is needed: ' + bad.message);
    }
    if (typeof about === 'string') handler(house, request, response, about, document);
    else handler(house, request, response, document);
  });
}
