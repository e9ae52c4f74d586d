// Subscribes to a topic with npm's mqtt and prints what it hears, a line of JSON each.
// usage: node mqtt-hear.mjs PORT TOPIC

import mqtt from 'mqtt'

const [port, topic] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))
const client = mqtt.connect(`ws://127.0.0.1:${port}`, { protocolVersion: 4 })
client.on('connect', () => client.subscribe(topic, () => say({ said: `subscribed to ${topic}` })))
client.on('message', (_, message) => say({ message: message.toString('latin1'), at_us: Number(process.hrtime.bigint() / 1000n) }))
client.on('close', () => say({ close: true }))
