// A tRPC server on a port of the system's choice: the subscription `messages` is Server-Sent Events, and the mutation
// `publish` goes to all who subscribe to that channel. Prints its port as JSON.
// usage: node trpc-server.mjs

import { EventEmitter, on } from 'node:events'
import { initTRPC } from '@trpc/server'
import { createHTTPServer } from '@trpc/server/adapters/standalone'

const published = new EventEmitter().setMaxListeners(0)
// A comment every second keeps a silent stream open.
const t = initTRPC.create({ sse: { ping: { enabled: true, intervalMs: 1000 } } })
const text = (value) => {
  if (typeof value !== 'string') throw new Error('a channel is a text')
  return value
}
const publication = ({ channel, message }) => ({ channel: text(channel), message: text(message) })
const router = t.router({
  messages: t.procedure.input(text).subscription(async function* ({ input, signal }) {
    for await (const [message] of on(published, input, { signal })) yield message
  }),
  publish: t.procedure.input(publication).mutation(({ input }) => published.emit(input.channel, input.message)),
})
const server = createHTTPServer({ router })
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })))
