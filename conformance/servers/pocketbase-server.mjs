// PocketBase on a free port, with a collection `messages` that anybody may list, hear and add to. Prints its port as
// JSON. The program is found in PATH.
// usage: node pocketbase-server.mjs

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { folder, freePort, start, tellPort } from './service.mjs'

const port = await freePort()
const home = folder()
const migrations = join(home, 'pb_migrations')
mkdirSync(migrations)
// An empty rule lets everybody in.
writeFileSync(join(migrations, '1_messages.js'), `migrate((app) => app.save(new Collection({
  type: 'base',
  name: 'messages',
  listRule: '',
  viewRule: '',
  createRule: '',
  fields: [{ name: 'text', type: 'text', max: 100000 }],
})))
`)
start('pocketbase', [
  'serve', '--http', `127.0.0.1:${port}`, '--dir', join(home, 'pb_data'), '--migrationsDir', migrations,
  '--automigrate=0', '--hooksDir', join(home, 'pb_hooks'), '--publicDir', join(home, 'pb_public'),
])
await tellPort(port)
