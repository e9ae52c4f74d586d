// GraphQL subscriptions by the older protocol (subprotocol graphql-ws) of subscriptions-transport-ws, on a port of the
// system's choice: what is posted to /publish?channel=NAME goes to all who subscribe to that channel. Prints its
// port as JSON.
// usage: node graphql-old-server.mjs

import { createServer } from 'node:http'
import { EventEmitter, on } from 'node:events'
import { execute, GraphQLNonNull, GraphQLObjectType, GraphQLSchema, GraphQLString, subscribe } from 'graphql'
import transport from 'subscriptions-transport-ws'

const published = new EventEmitter().setMaxListeners(0)
const text = { type: new GraphQLNonNull(GraphQLString) }
const messages = {
  ...text,
  args: { channel: text },
  async *subscribe(_, { channel }) {
    for await (const [message] of on(published, channel)) yield { messages: message }
  },
}
const schema = new GraphQLSchema({
  query: new GraphQLObjectType({ name: 'Query', fields: { none: { type: GraphQLString } } }),
  subscription: new GraphQLObjectType({ name: 'Subscription', fields: { messages } }),
})
const server = createServer((request, answer) => {
  const url = new URL(request.url, 'http://here')
  let body = ''
  request.on('data', (part) => (body += part))
  request.on('end', () => {
    published.emit(url.searchParams.get('channel'), body)
    answer.end('published')
  })
})
transport.SubscriptionServer.create({ schema, execute, subscribe, keepAlive: 1000 }, { server, path: '/graphql' })
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })))
