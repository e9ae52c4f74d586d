// Subscribes to a topic with stompjs and prints what it hears, a line of JSON each.
// usage: node stomp-hear.mjs PORT TOPIC

import { Client } from '@stomp/stompjs'
import { WebSocket } from 'ws'

globalThis.WebSocket ??= WebSocket
const [port, topic] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))
const client = new Client({
  brokerURL: `ws://127.0.0.1:${port}/ws`,
  connectHeaders: { login: 'guest', passcode: 'guest' },
  heartbeatIncoming: 0,
  heartbeatOutgoing: 0,
})
client.onConnect = () => {
  client.subscribe(`/topic/${topic}`, (frame) => say({ message: frame.body, at_us: Number(process.hrtime.bigint() / 1000n) }), { receipt: 'here' })
  client.watchForReceipt('here', () => say({ said: `subscribed to ${topic}` }))
}
client.onStompError = (frame) => say({ error: frame.headers.message })
client.activate()
