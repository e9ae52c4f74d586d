// SockJS on a port of the system's choice: every session hears what is posted to /publish. Its streams end after
// 4 KiB, and the client asks again. Prints its port as JSON.
// usage: node sockjs-server.mjs

import { createServer } from 'node:http'
import sockjs from 'sockjs'

const sessions = new Set()
const all = sockjs.createServer({ response_limit: 4096, log: () => {} })
all.on('connection', (session) => {
  sessions.add(session)
  session.on('close', () => sessions.delete(session))
})
const server = createServer((request, answer) => {
  if (request.url !== '/publish') return answer.writeHead(404).end()
  let body = ''
  request.on('data', (part) => (body += part))
  request.on('end', () => {
    sessions.forEach((session) => session.write(body))
    answer.end('published')
  })
})
all.installHandlers(server, { prefix: '/all' })
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })))
