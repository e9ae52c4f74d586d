'use strict';
// Answers, and refusals with their reason (CONTRACT 2.0).

var compat = require('./compat');

/** A request that is not granted. Thrown by whoever finds out; answered in front.js. */
function Refusal(status, why) {
  this.status = status;
  this.why = why;
}
exports.Refusal = Refusal;

/** An answer with its whole body: head and body in one write. */
exports.send = function (response, status, type, body, headers) {
  headers = headers || {};
  headers['Content-Type'] = type;
  headers['Cache-Control'] = 'no-store';
  headers['Content-Length'] = body.length;
  response.writeHead(status, headers);
  response.end(body);
};

/** A document. */
exports.json = function (response, status, document, headers) {
  exports.send(response, status, 'application/json', compat.bytes(JSON.stringify(document), 'utf8'), headers);
};

exports.refuse = function (response, refusal) {
  exports.json(response, refusal.status, { error: refusal.why });
};

/** The head of a body without end; it is sent at once. */
exports.endless = function (response, type, headers) {
  headers['Content-Type'] = type;
  headers['Cache-Control'] = 'no-store';
  response.writeHead(200, headers);
  compat.write(response, '');
};
