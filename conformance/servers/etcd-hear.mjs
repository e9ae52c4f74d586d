// Watches a key over gRPC with the client etcd3 and prints what it hears, a line of JSON each.
// usage: node etcd-hear.mjs PORT KEY

import { Etcd3 } from 'etcd3'

const [port, key] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))
const watcher = await new Etcd3({ hosts: `http://127.0.0.1:${port}` }).watch().key(key).create()
watcher.on('put', ({ value }) => say({ message: value.toString(), at_us: Number(process.hrtime.bigint() / 1000n) }))
watcher.on('error', ({ message }) => say({ error: message }))
say({ said: `watches ${key}` })
