// Faye's Bayeux server, over long polling and WebSocket, on a port of the system's choice. Prints its
// URL, then what its clients do, a line of JSON each.
// usage: node faye-server.mjs [SECONDS THAT A CONNECT IS HELD]

import { createServer } from 'node:http'
import faye from 'faye'

const say = (what) => console.log(JSON.stringify(what))
const bayeux = new faye.NodeAdapter({ mount: '/cometd', timeout: Number(process.argv[2] ?? 25) })
const server = createServer((_, answer) => answer.writeHead(404).end())

bayeux.attach(server)
bayeux.on('handshake', (client) => say({ handshake: client }))
bayeux.on('subscribe', (client, channel) => say({ subscribe: channel, client }))
bayeux.on('unsubscribe', (client, channel) => say({ unsubscribe: channel, client }))
bayeux.on('publish', (client, channel, data) => say({ publish: channel, client: client ?? null, message: data }))
bayeux.on('disconnect', (client) => say({ disconnect: client }))
server.listen(0, '127.0.0.1', () => say({ url: `http://127.0.0.1:${server.address().port}/cometd` }))
