// Redis and its HTTP interface Webdis on free ports. Prints Webdis' port and Redis' as JSON. The programs are found in PATH.
// usage: node webdis-server.mjs

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { folder, freePort, start, tellPort } from './service.mjs'

const [port, redis] = [await freePort(), await freePort()]
const files = folder()
start('redis-server', ['--port', String(redis), '--bind', '127.0.0.1', '--save', '', '--dir', files])
const config = join(files, 'webdis.json')
writeFileSync(config, JSON.stringify({
  redis_host: '127.0.0.1',
  redis_port: redis,
  http_host: '127.0.0.1',
  http_port: port,
  threads: 2,
  pool_size: 10,
  daemonize: false,
  verbosity: 1,
  logfile: join(files, 'webdis.log'),
  acl: [{ disabled: [] }],
}))
start('webdis', [config])
await tellPort(port)
