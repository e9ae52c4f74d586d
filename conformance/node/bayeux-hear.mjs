// Subscribes with a Bayeux client of npm and prints what it hears, a line of JSON each. After COUNT
// messages, or a TERM, it disconnects.
// usage: node bayeux-hear.mjs cometd|cometd-3|faye long-polling|websocket URL CHANNEL[,CHANNEL...] [COUNT]

import { connect } from './bayeux.mjs'

const [client, transport, url, channels, count] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))
process.on('unhandledRejection', ({ message }) => say({ error: message }))

const bayeux = await connect(client, transport, url)
let heard = 0

async function leave() {
  await bayeux.disconnect()
  say({ disconnected: true })
  // A pipe may still hold back a long line.
  process.stdout.write('', () => process.exit(0))
}

process.on('SIGTERM', leave)
for (const channel of channels.split(',')) {
  await bayeux.subscribe(channel, (channel, data) => {
    say({ channel, message: data, at_us: Number(process.hrtime.bigint() / 1000n) })
    if (++heard === Number(count)) leave()
  })
  say({ subscribed: channel, transport: bayeux.transport() })
}
