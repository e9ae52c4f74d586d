// Subscribes to a collection with PocketBase's own client and prints what it hears, a line of JSON each.
// usage: node pocketbase-hear.mjs PORT COLLECTION

import { EventSource } from 'eventsource'
import PocketBase from 'pocketbase'

globalThis.EventSource ??= EventSource
const [port, collection] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))
const client = new PocketBase(`http://127.0.0.1:${port}`)
await client.collection(collection).subscribe('*', ({ record }) =>
  say({ message: record.text, at_us: Number(process.hrtime.bigint() / 1000n) }))
say({ said: `subscribed to ${collection}` })
