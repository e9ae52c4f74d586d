// Subscribes at Redis itself, beside Webdis, with Redis' own client and prints what it hears, a line of JSON each.
// usage: node webdis-hear.mjs PORT CHANNEL

import { createClient } from 'redis'

const [port, channel] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))
// Webdis tells where its Redis is.
const told = await (await fetch(`http://127.0.0.1:${port}/CONFIG/GET/port`)).json()
const client = createClient({ url: `redis://127.0.0.1:${told.CONFIG.port ?? told.CONFIG[1]}` })
client.on('error', ({ message }) => say({ error: message }))
await client.connect()
await client.subscribe(channel, (message) => say({ message, at_us: Number(process.hrtime.bigint() / 1000n) }))
say({ said: `subscribed to ${channel}` })
