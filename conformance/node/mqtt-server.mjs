// An MQTT broker over WebSocket on a port of the system's choice. Prints its port, and each client that goes, a line
// of JSON each.
// usage: node mqtt-server.mjs

import { createServer } from 'node:http'
import { Aedes } from 'aedes'
import { WebSocketServer, createWebSocketStream } from 'ws'

const say = (what) => console.log(JSON.stringify(what))
const broker = await Aedes.createBroker()
const server = createServer()
new WebSocketServer({ server, handleProtocols: () => 'mqtt' }).on('connection', (socket) => {
  const stream = createWebSocketStream(socket)
  // A client that goes breaks its stream.
  stream.on('error', () => {})
  broker.handle(stream)
})
broker.on('clientError', (client, error) => say({ error: error.message }))
server.listen(0, '127.0.0.1', () => say({ port: server.address().port }))
