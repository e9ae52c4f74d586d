// Subscribes with the client of subscriptions-transport-ws and prints what it hears, a line of JSON each. The protocol
// does not acknowledge a subscription, so it counts as standing once the connection is acknowledged.
// usage: node graphql-old-hear.mjs PORT CHANNEL

import transport from 'subscriptions-transport-ws'
import { WebSocket } from 'ws'

const [port, channel] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))
const client = new transport.SubscriptionClient(`ws://127.0.0.1:${port}/graphql`, {}, WebSocket)
client.onConnected(() => setTimeout(() => say({ said: `asked for ${channel}` }), 100))
const query = `subscription { messages(channel: "${channel}") }`
client.request({ query }).subscribe({
  next: ({ data }) => say({ message: data.messages, at_us: Number(process.hrtime.bigint() / 1000n) }),
  error: (error) => say({ error: String(error) }),
})
