// Joins a room with xmpp.js, without an account, and prints what it hears, a line of JSON each.
// usage: node prosody-hear.mjs PORT ROOM

import { client, xml } from '@xmpp/client'
import { WebSocket } from 'ws'

globalThis.WebSocket ??= WebSocket
const [port, room] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))
const me = `${room}@rooms.localhost/hear`
const xmpp = client({ service: `ws://127.0.0.1:${port}/xmpp-websocket`, domain: 'localhost' })
xmpp.on('error', ({ message }) => say({ error: message }))
xmpp.on('online', () => xmpp.send(
  xml('presence', { to: me }, xml('x', 'http://jabber.org/protocol/muc', xml('history', { maxstanzas: '0' }))),
))
xmpp.on('stanza', (stanza) => {
  if (stanza.is('presence') && stanza.attrs.from === me) say({ said: `joined ${room}` })
  const text = stanza.is('message') && stanza.getChildText('body')
  if (text) say({ message: text, at_us: Number(process.hrtime.bigint() / 1000n) })
})
await xmpp.start()
