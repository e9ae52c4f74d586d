// Socket.IO 4 on a port of the system's choice: a client that joins a room hears what is posted to it. Prints its
// URL, and each client that leaves, a line of JSON each.
// usage: node socket-io-server.mjs

import { createServer } from 'node:http'
import { Server } from 'socket.io'

const say = (what) => console.log(JSON.stringify(what))
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
// A client that does not answer is thrown out within two seconds.
const io = new Server(server, { pingInterval: 1000, pingTimeout: 1000 })
io.on('connection', (socket) => {
  socket.on('join', (room, joined) => {
    socket.join(room)
    joined(`joined ${room}`)
  })
  socket.on('disconnect', (why) => say({ disconnect: why }))
})
server.listen(0, '127.0.0.1', () => say({ port: server.address().port }))
