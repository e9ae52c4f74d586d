// A WebSocket server that throws out who does not answer its heartbeats, on a port of the system's choice. What is
// posted to /publish goes to all. Prints its port, and each client that it throws out, a line of JSON each.
// usage: node heartbeats-server.mjs shared|binary
//   shared: publications and pings share a text message, a line each; `{}` answers `{}`
//   binary: a ping is the binary message `PING\r\n`, a publication another one; `PONG\r\n` answers, in binary

import { createServer } from 'node:http'
import { WebSocketServer } from 'ws'

const shared = process.argv[2] === 'shared'
const say = (what) => console.log(JSON.stringify(what))
const server = createServer((request, answer) => {
  let body = ''
  request.on('data', (part) => (body += part))
  request.on('end', () => {
    clients.forEach((client) => client.publish(body))
    answer.end('published')
  })
})
const clients = new Set()
new WebSocketServer({ server }).on('connection', (socket) => {
  let [asked, answered] = [0, 0]
  const ping = () => {
    if (answered < asked) {
      say({ out: `${answered} of ${asked} answered` })
      return socket.close(3012, 'no pong')
    }
    asked += 1
  }
  // Every eighth publication carries a ping; a client has until the next ping to answer.
  let count = 0
  const client = {
    publish(body) {
      const pings = ++count % 8 === 0
      if (pings) ping()
      if (shared) return socket.send(JSON.stringify({ push: body }) + (pings ? '\n{}' : ''))
      if (pings) socket.send(Buffer.from('PING\r\n'))
      socket.send(Buffer.from(`MSG\r\n${body}\r\n`))
    },
  }
  socket.on('message', (data, binary) => {
    const is = shared ? !binary && data.toString() === '{}' : binary && data.toString() === 'PONG\r\n'
    if (is) answered += 1
  })
  socket.on('close', () => clients.delete(client))
  clients.add(client)
})
server.listen(0, '127.0.0.1', () => say({ port: server.address().port }))
