// A Colyseus server on a free port, which it prints as JSON: the room `channel` of each name, and what is posted to
// /publish?channel=NAME is broadcast in it.
// usage: node colyseus-server.mjs

import { matchMaker, Room, Server } from '@colyseus/core'
import { WebSocketTransport } from '@colyseus/ws-transport'
import express from 'express'
import { freePort } from './service.mjs'

const rooms = new Map()
class Channel extends Room {
  onCreate({ channel }) {
    rooms.set(channel, this)
    this.autoDispose = false
  }
}
const port = await freePort()
const server = new Server({
  greet: false,
  transport: new WebSocketTransport(),
  express: (app) => app.post('/publish', express.text({ type: () => true }), (request, answer) => {
    rooms.get(request.query.channel)?.broadcast('message', request.body)
    answer.end('published')
  }),
})
server.define('channel', Channel).filterBy(['channel'])
await server.listen(port, '127.0.0.1')
// Clients that come at once would make a room each.
await matchMaker.createRoom('channel', { channel: 'c0' })
console.log(JSON.stringify({ port }))
