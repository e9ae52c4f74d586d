// Socket.IO 4 by HTTP long polling alone, on a port of the system's choice, with its own times of pings (25 s and
// 20 s): a client that joins a room hears what is posted to it. Prints its port as JSON.
// usage: node socket-io-polling-server.mjs

import { createServer } from 'node:http'
import { Server } from 'socket.io'

const server = createServer((request, answer) => {
  const url = new URL(request.url, 'http://here')
  if (url.pathname !== '/publish') return answer.writeHead(404).end()
  let body = ''
  request.on('data', (part) => (body += part))
  request.on('end', () => {
    io.to(url.searchParams.get('room')).emit('message', body)
    answer.end('published')
  })
})
const io = new Server(server, { transports: ['polling'] })
io.on('connection', (socket) => socket.on('join', (room, joined) => {
  socket.join(room)
  joined(`joined ${room}`)
}))
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })))
