// Subscribes to `messages(channel)` with graphql-ws's own client and prints what it hears, a line of JSON each.
// usage: node graphql-hear.mjs PORT CHANNEL

import { createClient } from 'graphql-ws'
import WebSocket from 'ws'

const [port, channel] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))
const now = () => Number(process.hrtime.bigint() / 1000n)
const client = createClient({ url: `ws://127.0.0.1:${port}/graphql`, webSocketImpl: WebSocket, lazy: false })
const query = `subscription { messages(channel: ${JSON.stringify(channel)}) }`
client.subscribe({ query }, {
  next: ({ data }) => say({ message: data.messages, at_us: now() }),
  error: (error) => say({ error: String(error) }),
  complete: () => say({ complete: true }),
})
// The protocol acknowledges the connection, and what follows on it is in order.
client.on('connected', () => setTimeout(() => say({ said: `subscribed to ${channel}` }), 200))
