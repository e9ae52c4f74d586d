// Publishes lines of JSON from a file over a WebSocket of npm `ws`, then closes it.
// usage: node publish.mjs URL CHANNEL FILE

import { readFileSync } from 'node:fs'
import { WebSocket } from 'ws'

const [url, channel, file] = process.argv.slice(2)
const socket = new WebSocket(url)
socket.on('open', () => {
  for (const message of JSON.parse(readFileSync(file, 'utf8'))) {
    socket.send(`publish ${channel}\n${message}`)
  }
  // The answer shows that everything before it was read.
  socket.ping('all', true)
})
socket.on('pong', (payload) => {
  console.log(JSON.stringify({ pong: payload.toString() }))
  socket.close(1000, 'done')
})
socket.on('close', (code) => console.log(JSON.stringify({ close: code })))
