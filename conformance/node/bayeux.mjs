// Bayeux clients of npm, all behind the same few calls: CometD's of now (`cometd`) and of 2017
// (`cometd-3`), and Faye's (`faye`).

import { CometD } from 'cometd'
import cometd3 from 'cometd-3'
import faye from 'faye'
import { adapt } from 'cometd-nodejs-client'

/** What each client can be kept to. */
const TRANSPORTS = ['long-polling', 'websocket']

/**
 * Shakes hands at a URL over one transport. Gives `subscribe(channel, heard)`, `publish(channel, data)`
 * and `disconnect()`, which all end when the server has answered, and what it refuses is thrown; and
 * `transport()`, the one in use.
 */
export async function connect(client, transport, url) {
  if (!TRANSPORTS.includes(transport)) throw new Error(`${transport} is none of ${TRANSPORTS.join(', ')}`)
  if (client === 'faye') return viaFaye(transport, url)
  adapt()
  const clients = { cometd: CometD, 'cometd-3': cometd3.CometD }
  if (!clients[client]) throw new Error(`${client} is none of cometd, cometd-3, faye`)
  return viaCometD(new clients[client](), transport, url)
}

async function viaCometD(cometd, transport, url) {
  // Its own bound on what it sends, 8 KiB, would hide what the server makes of more.
  cometd.configure({ url, logLevel: 'warn', maxSendBayeuxMessageSize: 1 << 20 })
  for (const other of ['long-polling', 'callback-polling', 'websocket']) {
    if (other !== transport) cometd.unregisterTransport(other)
  }
  const answered = (ask) =>
    new Promise((resolve, reject) => {
      ask((reply) => (reply.successful ? resolve(reply) : reject(new Error(JSON.stringify(reply)))))
    })
  await answered((done) => cometd.handshake(done))
  return {
    subscribe: (channel, heard) =>
      answered((done) => cometd.subscribe(channel, ({ channel, data }) => heard(channel, data), done)),
    publish: (channel, data) => answered((done) => cometd.publish(channel, data, done)),
    disconnect: () => answered((done) => cometd.disconnect(done)),
    transport: () => cometd.getTransport().type ?? cometd.getTransport().getType()
  }
}

async function viaFaye(transport, url) {
  const client = new faye.Client(url)
  // It always shakes hands over long polling, and only then goes over to a WebSocket.
  const kept = ['long-polling', transport]
  const others = ['in-process', 'websocket', 'eventsource', 'long-polling', 'cross-origin-long-polling', 'callback-polling']
  others.filter((other) => !kept.includes(other)).forEach((other) => client.disable(other))
  return {
    subscribe: async (channel, heard) => {
      await client.subscribe(channel).withChannel((channel, data) => heard(channel, data))
    },
    publish: async (channel, data) => {
      await client.publish(channel, data)
    },
    disconnect: async () => {
      await client.disconnect()
    },
    // It has no public name for it.
    transport: () => client._dispatcher.connectionType
  }
}
