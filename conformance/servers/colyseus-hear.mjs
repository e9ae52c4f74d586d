// Joins a room with Colyseus's own client and prints what it hears, a line of JSON each.
// usage: node colyseus-hear.mjs PORT CHANNEL

import { Client } from '@colyseus/sdk'

const [port, channel] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))
const room = await new Client(`http://127.0.0.1:${port}`).joinOrCreate('channel', { channel })
room.onMessage('message', (message) => say({ message, at_us: Number(process.hrtime.bigint() / 1000n) }))
room.onLeave((code) => say({ left: code }))
say({ said: `joined ${room.roomId}` })
