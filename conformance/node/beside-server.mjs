// A server whose streams are subscribed by a request beside them.
//
//   node beside-server.mjs [STREAM_MS]
//
// GET /events (Server-Sent Events) and GET /stream (lines) name their connection: {"id":"…"}. POST /join with
// {"id":"…","channels":["…"]} subscribes that connection: it is answered 200 with a ticket, and the stream says
// {"joined":"…"}, in an order that is drawn each time. GET /confirm?id=I with the ticket as header line X-Ticket
// is answered 204, and only then the connection is sent anything. After STREAM_MS a stream ends.
// POST /join?refuse=N refuses each Nth.
// POST /publish?channel=C publishes. GET /counts tells streams, joined and refused. POST /silent is never answered.
import http from 'node:http';
import { randomUUID } from 'node:crypto';

const ends = Number(process.argv[2] ?? 0);
const open = new Map();
let asked = 0;
const counts = { streams: 0, joined: 0, confirmed: 0, refused: 0 };

function body(request, then) {
  const parts = [];
  request.on('data', (part) => parts.push(part)).on('end', () => then(Buffer.concat(parts).toString()));
}

function opened(response, type, framed) {
  const connection = { id: randomUUID(), ticket: randomUUID(), channels: [], confirmed: false };
  connection.say = (text) => response.write(framed(text));
  open.set(connection.id, connection);
  counts.streams += 1;
  response.on('close', () => open.delete(connection.id));
  response.writeHead(200, { 'content-type': type });
  connection.say(JSON.stringify({ id: connection.id }));
  if (ends) setTimeout(() => response.end(), ends);
}

function refuse(response, why) {
  counts.refused += 1;
  response.writeHead(403, { 'content-type': 'text/plain' }).end(why);
}

const routes = {
  'GET /events'(request, response) {
    opened(response, 'text/event-stream', (text) => `data: ${text}\n\n`);
  },
  'GET /stream'(request, response) {
    opened(response, 'text/plain', (text) => `${text}\n`);
  },
  'POST /join'(request, response, url) {
    asked += 1;
    if (asked % Number(url.searchParams.get('refuse') ?? Infinity) === 0) return refuse(response, 'not everybody');
    body(request, (text) => {
      const asked = JSON.parse(text);
      const connection = open.get(asked.id);
      if (!connection) return refuse(response, 'no such connection');
      counts.joined += 1;
      connection.channels = asked.channels;
      const answer = () => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ticket: connection.ticket }));
      };
      const both = [answer, () => connection.say(JSON.stringify({ joined: asked.channels.join() }))];
      if (Math.random() < 0.5) both.reverse();
      both[0]();
      setTimeout(both[1], Math.random() * 40);
    });
  },
  'GET /confirm'(request, response, url) {
    const connection = open.get(url.searchParams.get('id'));
    if (!connection || request.headers['x-ticket'] !== connection.ticket) return refuse(response, 'a wrong ticket');
    counts.confirmed += 1;
    connection.confirmed = true;
    response.writeHead(204).end();
  },
  'POST /publish'(request, response, url) {
    body(request, (text) => {
      const channel = url.searchParams.get('channel');
      for (const connection of open.values()) {
        if (connection.confirmed && connection.channels.includes(channel)) connection.say(text);
      }
      response.writeHead(204).end();
    });
  },
  'GET /counts'(request, response) {
    const text = JSON.stringify(counts);
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length }).end(text);
  },
  'POST /silent'() {},
};

const server = http.createServer((request, response) => {
  const url = new URL(request.url, 'http://localhost');
  const route = routes[`${request.method} ${url.pathname}`];
  if (route) return route(request, response, url);
  response.writeHead(404).end();
});
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })));
