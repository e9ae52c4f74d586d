// Centrifugo on a free port: anybody may connect and subscribe, and POST /api/publish with the key `here` publishes.
// Prints its port as JSON. The program is found in PATH.
// usage: node centrifugo-server.mjs

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { folder, freePort, start, tellPort } from './service.mjs'

const port = await freePort()
const config = join(folder(), 'config.json')
writeFileSync(config, JSON.stringify({
  http_server: { address: '127.0.0.1', port: String(port) },
  // A client that does not answer its pings is thrown out.
  client: { insecure: true, ping_interval: '3s', pong_timeout: '1s', allowed_origins: ['*'] },
  channel: { without_namespace: { allow_subscribe_for_client: true, allow_subscribe_for_anonymous: true } },
  http_api: { key: 'here' },
}))
start('centrifugo', ['-c', config])
await tellPort(port)
