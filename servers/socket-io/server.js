// Socket.IO 4 as its documentation shows it: a client joins a room by the event `join`, and what is posted to
// /publish?room=ROOM is emitted to that room.
// usage: node server.js --port PORT | --version

import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { Server } from 'socket.io'

const { version } = createRequire(import.meta.url)('socket.io/package.json')
if (process.argv.includes('--version')) {
  console.log(`Socket.IO ${version}, Node.js ${process.version}`)
  process.exit()
}

const port = Number(process.argv[process.argv.indexOf('--port') + 1])
const server = createServer((request, answer) => {
  const url = new URL(request.url, 'http://localhost')
  if (url.pathname === '/health') return answer.end('ok\n')
  if (url.pathname !== '/publish' || request.method !== 'POST') return answer.writeHead(404).end()
  let body = ''
  request.setEncoding('utf8')
  request.on('data', (part) => (body += part))
  request.on('end', () => {
    io.to(url.searchParams.get('room')).emit('message', body)
    answer.end()
  })
})
// Publishers keep their connections for a whole run.
server.keepAliveTimeout = 120_000
const io = new Server(server)
io.on('connection', (socket) => {
  socket.on('join', (room, joined) => {
    socket.join(room)
    joined?.()
  })
})
server.listen(port, process.env.PUSHMARK_LISTEN ?? '127.0.0.1', 4096)
