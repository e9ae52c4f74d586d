// Subscribes with tRPC's own client, over npm's eventsource, and prints what it hears, a line of JSON each.
// usage: node trpc-hear.mjs PORT CHANNEL

import { createTRPCClient, httpSubscriptionLink } from '@trpc/client'
import { EventSource } from 'eventsource'

const [port, channel] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))
const client = createTRPCClient({ links: [httpSubscriptionLink({ url: `http://127.0.0.1:${port}`, EventSource })] })
client.messages.subscribe(channel, {
  onStarted: () => say({ said: `subscribed to ${channel}` }),
  onData: (message) => say({ message, at_us: Number(process.hrtime.bigint() / 1000n) }),
  onError: ({ message }) => say({ error: message }),
})
