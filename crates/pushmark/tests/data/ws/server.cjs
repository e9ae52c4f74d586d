// A chat server on npm `ws` with manners of its own: a subprotocol it insists on, subscriptions
// by message, heartbeats both ways that it ends a client for, and publishing by HTTP or by a
// client. What it saw goes to the file STATS when it is told to end.
// usage: NODE_PATH=node_modules STATS=FILE node server.cjs PORT

'use strict'
const fs = require('fs')
const http = require('http')
const { WebSocketServer } = require('ws')

const seen = { clients: 0, protocols: {}, pings: 0, answers: 0, silent: 0, published: 0, texts: [] }
const rooms = new Map()

const relay = (channel, text) => {
  seen.published++
  const message = JSON.stringify({ channel, text })
  for (const socket of rooms.get(channel) ?? []) socket.send(message)
}

const server = http.createServer((request, response) => {
  const url = new URL(request.url, 'http://x')
  if (url.pathname === '/health') return response.end('ok\n')
  const body = []
  request.on('data', (part) => body.push(part))
  request.on('end', () => {
    relay(url.searchParams.get('channel'), Buffer.concat(body).toString())
    response.statusCode = 202
    response.end()
  })
})

const sockets = new WebSocketServer({
  server,
  perMessageDeflate: true,
  handleProtocols: (offered) => (offered.has('chat.v2') ? 'chat.v2' : false),
})
sockets.on('connection', (socket, request) => {
  seen.clients++
  seen.protocols[socket.protocol] = (seen.protocols[socket.protocol] ?? 0) + 1
  if (request.url.startsWith('/echo')) return socket.on('message', (data, binary) => socket.send(data, { binary }))

  let heard = Date.now()
  let answered = Date.now()
  const beat = setInterval(() => {
    if (Date.now() - heard > 2000 || Date.now() - answered > 2000) {
      seen.silent++
      return socket.terminate()
    }
    socket.send('2')
  }, 100)
  socket.on('close', () => {
    clearInterval(beat)
    for (const room of rooms.values()) room.delete(socket)
  })
  socket.on('message', (data) => {
    const text = data.toString()
    if (text === 'ping') return (seen.pings++, (heard = Date.now()))
    if (text === '3') return (seen.answers++, (answered = Date.now()))
    const message = JSON.parse(text)
    if (message.publish) return relay(message.publish, message.text)
    if (seen.texts.length < 4) seen.texts.push(text)
    // A moment later, so that a client that does not wait for it would be too early.
    setTimeout(() => {
      for (const channel of message.subscribe.split(',')) {
        if (!rooms.has(channel)) rooms.set(channel, new Set())
        rooms.get(channel).add(socket)
      }
      socket.send(JSON.stringify({ type: 'welcome' }))
      socket.send(JSON.stringify({ type: 'subscribed', to: message.subscribe }))
    }, 50)
  })
})

process.on('SIGTERM', () => {
  fs.writeFileSync(process.env.STATS, JSON.stringify(seen))
  process.exit(0)
})
server.listen(Number(process.argv[2]), '127.0.0.1')
