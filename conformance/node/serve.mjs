// A WebSocket server of npm `ws`. Prints its port, then what its clients do, a line of JSON each.
// It sends the messages of a file (a list in JSON), every third in fragments with a ping between
// them; a client's "bye" is answered by a Close.
// usage: node serve.mjs FILE

import { readFileSync } from 'node:fs'
import { WebSocketServer } from 'ws'

const messages = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const say = (what) => console.log(JSON.stringify(what))

const server = new WebSocketServer({ host: '127.0.0.1', port: 0, handleProtocols: (offered) => [...offered][0] })
server.on('listening', () => say({ port: server.address().port }))
server.on('connection', (socket, request) => {
  say({ open: request.url, protocol: socket.protocol })
  socket.on('pong', (payload) => say({ pong: payload.toString() }))
  socket.on('error', ({ message }) => say({ error: message }))
  socket.on('close', (code) => say({ close: code }))
  socket.on('message', (data, binary) => {
    say({ message: data.toString(), binary })
    if (data.toString() === 'bye') socket.close(1001, 'good bye')
  })
  messages.forEach((message, number) => {
    if (number % 3 !== 2) return socket.send(message)
    const bytes = Buffer.from(message)
    // Cut in the middle of whatever stands there, a character too.
    const cut = Math.floor(bytes.length / 2)
    socket.send(bytes.subarray(0, cut), { fin: false, binary: false })
    socket.ping(`ping ${number}`)
    socket.send(bytes.subarray(cut), { fin: true, binary: false })
  })
  socket.send(Buffer.from([0, 255, 254]))
})
