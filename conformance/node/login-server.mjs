// A server that wants a login. It pushes over Server-Sent Events, to who has logged in and negotiated.
//
//   node login-server.mjs [STREAM_MS]
//
// POST /login (user, password) answers a token in JSON and sets a cookie; POST /negotiate with both answers a
// connection number. GET /events?channel=C&token=T&id=N with the cookie is the stream: each token opens one. After
// STREAM_MS a stream ends. POST /publish?channel=C publishes. GET /counts tells logins, negotiations and streams.
// POST /silent is never answered.
import http from 'node:http';
import { randomUUID } from 'node:crypto';

const ends = Number(process.argv[2] ?? 0);
const sessions = new Map();
const streams = new Set();
const counts = { logins: 0, negotiations: 0, streams: 0, refused: 0 };

function body(request, then) {
  const parts = [];
  request.on('data', (part) => parts.push(part)).on('end', () => then(Buffer.concat(parts).toString()));
}

function refuse(response, why) {
  counts.refused += 1;
  response.writeHead(401, { 'content-type': 'text/plain' }).end(why);
}

const routes = {
  'POST /login'(request, response) {
    body(request, (text) => {
      const asked = new URLSearchParams(text);
      if (asked.get('password') !== 'open sesame') return refuse(response, 'wrong password');
      counts.logins += 1;
      const [token, sid] = [randomUUID(), randomUUID()];
      sessions.set(token, { sid, id: null, user: asked.get('user') });
      response.setHeader('set-cookie', ['theme=dark; Path=/', `sid=${sid}; Path=/; HttpOnly`]);
      response.writeHead(200, { 'content-type': 'application/json', 'x-user': asked.get('user') });
      response.end(JSON.stringify({ session: { token } }));
    });
  },
  'POST /negotiate'(request, response) {
    const token = (request.headers.authorization ?? '').replace(/^Bearer /, '');
    const session = sessions.get(token);
    if (!session || request.headers.cookie !== `sid=${session.sid}`) return refuse(response, 'who are you?');
    counts.negotiations += 1;
    session.id = counts.negotiations;
    request.resume();
    response.writeHead(201, { 'content-type': 'text/plain' }).end(`connection=${session.id};user=${session.user}`);
  },
  'GET /events'(request, response, url) {
    const session = sessions.get(url.searchParams.get('token'));
    const known = session && request.headers.cookie === `sid=${session.sid}`;
    if (!known || String(session.id) !== url.searchParams.get('id')) return refuse(response, 'not negotiated');
    sessions.delete(url.searchParams.get('token'));
    counts.streams += 1;
    const stream = { channels: url.searchParams.get('channel').split(','), response };
    streams.add(stream);
    response.on('close', () => streams.delete(stream));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    if (ends) setTimeout(() => response.end(), ends);
  },
  'POST /publish'(request, response, url) {
    body(request, (text) => {
      const channel = url.searchParams.get('channel');
      for (const stream of streams) if (stream.channels.includes(channel)) stream.response.write(`data: ${text}\n\n`);
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
