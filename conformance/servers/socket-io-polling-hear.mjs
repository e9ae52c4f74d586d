// Joins a room with Socket.IO's own client by long polling and prints what it hears, a line of JSON each.
// usage: node socket-io-polling-hear.mjs PORT ROOM

import { io } from 'socket.io-client'

const [port, room] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))
const socket = io(`http://127.0.0.1:${port}`, { transports: ['polling'] })
socket.on('connect', () => socket.emit('join', room, (said) => say({ said })))
socket.on('message', (message) => say({ message, at_us: Number(process.hrtime.bigint() / 1000n) }))
socket.on('disconnect', (why) => say({ disconnect: why }))
