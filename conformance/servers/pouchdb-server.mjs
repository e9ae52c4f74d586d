// CouchDB's interface of express-pouchdb over PouchDB in memory, with a database `c0`, on a port of the system's
// choice, which it prints as JSON.
// usage: node pouchdb-server.mjs

import { EventEmitter } from 'node:events'
import { createServer } from 'node:http'
import service from 'express-pouchdb'
import PouchDB from 'pouchdb-core'
import memory from 'pouchdb-adapter-memory'
import mapreduce from 'pouchdb-mapreduce'
import replication from 'pouchdb-replication'

// Each follower is a listener.
EventEmitter.defaultMaxListeners = 0
const Database = PouchDB.plugin(memory).plugin(mapreduce).plugin(replication).defaults({ adapter: 'memory' })
const server = createServer(service(Database, { mode: 'minimumForPouchDB', inMemoryConfig: true }))
server.listen(0, '127.0.0.1', async () => {
  const { port } = server.address()
  await fetch(`http://127.0.0.1:${port}/c0`, { method: 'PUT' })
  console.log(JSON.stringify({ port }))
})
