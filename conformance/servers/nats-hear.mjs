// Subscribes to a subject with NATS's own client over WebSocket and prints what it hears, a line of JSON each.
// usage: node nats-hear.mjs PORT SUBJECT

import { wsconnect } from '@nats-io/nats-core'
import { WebSocket } from 'ws'

globalThis.WebSocket ??= WebSocket
const [port, subject] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))
const client = await wsconnect({ servers: `ws://127.0.0.1:${port}` })
const heard = client.subscribe(subject)
await client.flush()
say({ said: `subscribed to ${subject}` })
for await (const message of heard) say({ message: message.string(), at_us: Number(process.hrtime.bigint() / 1000n) })
