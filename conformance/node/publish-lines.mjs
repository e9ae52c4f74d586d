// A command that publishes: a line of standard input is a channel, a space and a message. It posts them in order on
// one connection.
//
//   node publish-lines.mjs PORT [MOST]
//
// It says "ready to publish" first. After MOST lines it complains, and ends with 7.
import http from 'node:http';
import readline from 'node:readline';

const [port, most] = process.argv.slice(2).map(Number);
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
let lines = 0;

function post(channel, message) {
  const path = `/publish?channel=${encodeURIComponent(channel)}`;
  const request = http.request({ agent, port, host: '127.0.0.1', method: 'POST', path });
  request.on('response', (response) => response.resume());
  request.on('error', (error) => console.error(String(error)));
  request.end(message);
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  lines += 1;
  if (lines > most) {
    console.error('the publisher has had enough');
    process.exit(7);
  }
  const at = line.indexOf(' ');
  post(line.slice(0, at), line.slice(at + 1));
});
console.log('ready to publish');
