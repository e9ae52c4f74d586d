// Action Cable, served by Puma on a free port. Prints the port as JSON. Ruby and its gems are found as usual.
// usage: node action-cable-server.mjs

import { fileURLToPath } from 'node:url'
import { freePort, start, tellPort } from './service.mjs'

const port = await freePort()
const app = fileURLToPath(new URL('ruby/config.ru', import.meta.url))
start('puma', ['--bind', `tcp://127.0.0.1:${port}?backlog=4096`, '--environment', 'production', '--quiet', app])
await tellPort(port)
