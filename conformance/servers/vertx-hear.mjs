// Registers at an address with Vert.x's own client of the event bus bridge and prints what it hears, a line of JSON
// each. The bridge does not acknowledge a registration, so it counts as standing a little later.
// usage: node vertx-hear.mjs PORT ADDRESS

import EventBus from '@vertx/eventbus-bridge-client.js'

const [port, address] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))
const options = { transports: ['websocket'], vertxbus_ping_interval: 2000 }
const bus = new EventBus(`http://127.0.0.1:${port}/eventbus`, options)
bus.onerror = (error) => say({ error })
bus.onclose = ({ code }) => say({ close: code })
bus.onopen = () => {
  bus.registerHandler(address, (error, message) =>
    say(error ? { error } : { message: message.body, at_us: Number(process.hrtime.bigint() / 1000n) }))
  setTimeout(() => say({ said: `registered at ${address}` }), 100)
}
