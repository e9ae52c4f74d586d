// Follows the changes of a database with PouchDB's own client over HTTP and prints the `text` of each document, a line
// of JSON each. The client does not say when it is asking, so it counts as following a little later.
// usage: node pouchdb-hear.mjs PORT DATABASE

import PouchDB from 'pouchdb-core'
import http from 'pouchdb-adapter-http'

const [port, name] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))
const database = new (PouchDB.plugin(http))(`http://127.0.0.1:${port}/${name}`)
const { update_seq } = await database.info()
database.changes({ live: true, since: update_seq, include_docs: true })
  .on('change', ({ doc }) => say({ message: doc.text, at_us: Number(process.hrtime.bigint() / 1000n) }))
  .on('error', (error) => say({ error: String(error) }))
say({ said: `follows ${name} from ${update_seq}` })
