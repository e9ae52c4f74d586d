// A server that speaks HTTP/2 only, in clear text. Prints its port as JSON.
// usage: node http2-server.mjs
import http2 from 'node:http2';

const server = http2.createServer((request, response) => response.end('hello'));
server.on('sessionError', () => {});
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })));
