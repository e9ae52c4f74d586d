// Opens a session with SockJS's own client over WebSocket and prints what it hears, a line of JSON each.
// usage: node sockjs-hear.mjs PORT

import SockJS from 'sockjs-client'

const [port] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))
const session = new SockJS(`http://127.0.0.1:${port}/all`, null, { transports: ['websocket'] })
session.onopen = () => say({ said: `open over ${session.transport}` })
session.onmessage = ({ data }) => say({ message: data, at_us: Number(process.hrtime.bigint() / 1000n) })
session.onclose = ({ code }) => say({ close: code })
