// Subscribes to RoomChannel with Action Cable's own client and prints what it hears, a line of JSON each.
// usage: node action-cable-hear.mjs PORT ROOM

import { WebSocket } from 'ws'

// It expects a browser.
globalThis.addEventListener ??= () => {}
globalThis.removeEventListener ??= () => {}
globalThis.document ??= { visibilityState: 'visible' }
const { adapters, createConsumer } = await import('@rails/actioncable')
adapters.WebSocket = WebSocket

const [port, room] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))
createConsumer(`ws://127.0.0.1:${port}/cable`).subscriptions.create({ channel: 'RoomChannel', room }, {
  connected: () => say({ said: `subscribed to ${room}` }),
  received: (message) => say({ message, at_us: Number(process.hrtime.bigint() / 1000n) }),
  rejected: () => say({ error: 'rejected' }),
})
