// Subscribes with Centrifugo's own client and prints what it hears, a line of JSON each.
// usage: node centrifugo-hear.mjs PORT CHANNEL

import { Centrifuge } from 'centrifuge'
import { WebSocket } from 'ws'

const [port, channel] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))
const client = new Centrifuge(`ws://127.0.0.1:${port}/connection/websocket`, { websocket: WebSocket })
const subscription = client.newSubscription(channel)
subscription.on('subscribed', () => say({ said: `subscribed to ${channel}` }))
subscription.on('publication', ({ data }) => say({ message: data, at_us: Number(process.hrtime.bigint() / 1000n) }))
client.on('disconnected', ({ code, reason }) => say({ disconnected: code, reason }))
subscription.subscribe()
client.connect()
