// Publishes the messages of a file (a list in JSON) with a Bayeux client of npm, each after the
// server's reply to the one before it, then disconnects. Prints what it did, a line of JSON each.
// usage: node bayeux-publish.mjs cometd|cometd-3|faye long-polling|websocket URL CHANNEL FILE

import { readFileSync } from 'node:fs'
import { connect } from './bayeux.mjs'

const [client, transport, url, channel, file] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))

const bayeux = await connect(client, transport, url)
const messages = JSON.parse(readFileSync(file, 'utf8'))
for (const message of messages) await bayeux.publish(channel, message)
say({ published: messages.length })
await bayeux.disconnect()
say({ disconnected: true })
// A pipe may still hold back a long line.
process.stdout.write('', () => process.exit(0))
