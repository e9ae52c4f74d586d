// A WebSocket server that compresses its messages (permessage-deflate).
//
//   node deflate-server.mjs [WINDOW_BITS] [alone]
//
// GET /ws?channel=C upgrades; POST /publish?channel=C sends the body to all of C, as a text in an envelope that
// repeats. GET /counts tells how many sockets agreed to compression. "alone": no context takeover; WINDOW_BITS bounds
// its window.
import http from 'node:http';
import { WebSocketServer } from 'ws';

const [bits, alone] = [Number(process.argv[2] ?? 15), process.argv[3] === 'alone'];
const counts = { sockets: 0, compressed: 0, published: 0 };
const perMessageDeflate = { threshold: 0, serverNoContextTakeover: alone, serverMaxWindowBits: bits };
const sockets = new WebSocketServer({ noServer: true, perMessageDeflate });
const rooms = new Map();

const server = http.createServer((request, response) => {
  const url = new URL(request.url, 'http://localhost');
  if (request.method === 'GET') {
    const text = JSON.stringify(counts);
    return response.writeHead(200, { 'content-length': text.length }).end(text);
  }
  const parts = [];
  request.on('data', (part) => parts.push(part)).on('end', () => {
    counts.published += 1;
    const data = JSON.stringify({ kind: 'publication', room: url.searchParams.get('channel'), text: Buffer.concat(parts).toString() });
    for (const socket of rooms.get(url.searchParams.get('channel')) ?? []) socket.send(data);
    response.writeHead(204).end();
  });
});
server.on('upgrade', (request, socket, head) => {
  sockets.handleUpgrade(request, socket, head, (joined) => {
    counts.sockets += 1;
    counts.compressed += joined.extensions.includes('permessage-deflate') ? 1 : 0;
    const channel = new URL(request.url, 'http://localhost').searchParams.get('channel');
    const room = rooms.get(channel) ?? new Set();
    rooms.set(channel, room.add(joined));
    joined.on('message', (data) => joined.send(data)).on('close', () => room.delete(joined)).on('error', () => {});
  });
});
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })));
