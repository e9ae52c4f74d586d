// Prosody on a free port, with XMPP over WebSocket, anonymous logins and a component for rooms. Prints the port as JSON.
// The program is found in PATH.
// usage: node prosody-server.mjs

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { folder, freePort, start, tellPort } from './service.mjs'

const port = await freePort()
const files = folder()
const config = join(files, 'prosody.cfg.lua')
writeFileSync(config, `
run_as_root = true
data_path = "${files}"
log = { warn = "${join(files, 'prosody.log')}" }
modules_enabled = { "disco", "saslauth", "websocket" }
modules_disabled = { "s2s" }
c2s_ports = {}
c2s_direct_tls_ports = {}
http_ports = { ${port} }
http_interfaces = { "127.0.0.1" }
https_ports = {}
http_default_host = "localhost"
-- A crowd that connects at once waits here.
network_settings = { tcp_backlog = 4096 }
consider_websocket_secure = true
VirtualHost "localhost"
  authentication = "anonymous"
Component "rooms.localhost" "muc"
  muc_room_locking = false
`)
start('prosody', ['-F', '--config', config])
await tellPort(port)
