// Subscribes to a topic of a Mercure hub with npm's eventsource and prints what it hears, a line of JSON each.
// usage: node mercure-hear.mjs PORT TOPIC

import { EventSource } from 'eventsource'

const [port, topic] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))
const source = new EventSource(`http://127.0.0.1:${port}/.well-known/mercure?topic=${topic}`)
source.onopen = () => say({ said: `subscribed to ${topic}` })
source.onmessage = ({ data }) => say({ message: data, at_us: Number(process.hrtime.bigint() / 1000n) })
source.onerror = ({ message, code }) => say({ error: message ?? 'the connection is gone', code })
