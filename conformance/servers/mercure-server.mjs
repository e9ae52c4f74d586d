// The Mercure hub on a free port: anybody may subscribe, a publisher needs the token of mercure-token.mjs. Prints its
// port as JSON. The program is found in PATH: `go install -C conformance/servers/go/mercure`.
// usage: node mercure-server.mjs

import { freePort, start, tellPort } from './service.mjs'
import { KEY } from './mercure-token.mjs'

const port = await freePort()
start('mercure', [
  '--addr', `127.0.0.1:${port}`, '--allow-anonymous', '--publisher-jwt-key', KEY, '--subscriber-jwt-key', KEY,
  // Without it each subscription would end after a minute.
  '--write-timeout', '0s',
  // It keeps no messages: who comes back gets the next ones.
  '--transport-url', 'local://local',
])
await tellPort(port)
