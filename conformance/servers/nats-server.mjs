// A NATS server with WebSocket on a free port, which it prints as JSON. The program is found in PATH.
// usage: node nats-server.mjs

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { folder, freePort, start, tellPort } from './service.mjs'

const port = await freePort()
const config = join(folder(), 'nats.conf')
// A client that does not answer its pings is thrown out.
writeFileSync(config, `websocket { listen: "127.0.0.1:${port}", no_tls: true }\nping_interval: "2s"\nping_max: 2\n`)
start('nats-server', ['-c', config, '-a', '127.0.0.1', '-p', '-1', '-l', '/dev/null'])
await tellPort(port)
