// A server that is strict with its feed: one that sends no PING for 700 ms is closed, a publication to the channel
// `denied` is answered by ERROR, and its payload is base64. Subscribers also hear presences, which are no publications.
import { WebSocketServer } from 'ws'

const SILENT_MS = 700
const subscribers = new Map()
const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })

server.on('connection', (socket, request) => {
  const url = new URL(request.url, 'http://localhost')
  if (url.pathname === '/subscribe') subscribe(socket, url.searchParams.get('channel'))
  else feed(socket)
})

function subscribe(socket, channel) {
  const room = subscribers.get(channel) ?? new Set()
  subscribers.set(channel, room.add(socket))
  const presence = setInterval(() => socket.send(`<presence from="${'x'.repeat(80)}"/>`), 100)
  socket.on('close', () => {
    room.delete(socket)
    clearInterval(presence)
  })
}

function feed(socket) {
  let patience
  const patient = () => {
    clearTimeout(patience)
    patience = setTimeout(() => socket.close(4000, 'no PING'), SILENT_MS)
  }
  patient()
  socket.on('close', () => clearTimeout(patience))
  socket.on('message', (data) => {
    const [word, channel, payload] = String(data).split(' ')
    if (word === 'PING') return patient()
    if (channel === 'denied') return socket.send('ERROR no right to publish to denied')
    const message = Buffer.from(payload, 'base64').toString()
    for (const subscriber of subscribers.get(channel) ?? []) subscriber.send(`<message>${message}</message>`)
  })
}

server.on('listening', () => console.log(JSON.stringify({ port: server.address().port })))
