// Subscribes with a client of npm and prints what it hears, a line of JSON each.
// usage: node hear.mjs eventsource|ws URL

import { EventSource } from 'eventsource'
import { WebSocket } from 'ws'

const [client, url] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))

if (client === 'eventsource') {
  const source = new EventSource(url)
  source.onopen = () => say({ open: true })
  source.onmessage = ({ data, lastEventId }) => say({ message: data, id: lastEventId })
  source.onerror = ({ message, code }) => say({ error: message ?? 'the connection is gone', code })
} else {
  const socket = new WebSocket(url)
  socket.on('open', () => say({ open: true, extensions: socket.extensions }))
  socket.on('message', (data, binary) => say({ message: data.toString(), binary }))
  socket.on('error', ({ message }) => say({ error: message }))
  socket.on('close', (code) => say({ close: code }))
}
