// RabbitMQ with STOMP over WebSocket (Web-STOMP) on free ports, with files of its own. Prints the port as JSON.
// usage: node stomp-server.mjs

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { folder, freePort, start, tellPort } from './service.mjs'

const [amqp, stomp, web, nodes, names] = [await freePort(), await freePort(), await freePort(), await freePort(), await freePort()]
const files = folder()
writeFileSync(join(files, 'rabbit.conf'), `listeners.tcp.1 = 127.0.0.1:${amqp}
stomp.listeners.tcp.1 = 127.0.0.1:${stomp}
web_stomp.tcp.listener = 127.0.0.1:${web}
`)
writeFileSync(join(files, 'plugins'), '[rabbitmq_web_stomp].')
// Erlang's name server, which RabbitMQ would start and leave behind.
const epmd = { ERL_EPMD_PORT: String(names), ERL_EPMD_ADDRESS: '127.0.0.1' }
start('epmd', [], { env: epmd })
start('/usr/lib/rabbitmq/bin/rabbitmq-server', [], {
  env: {
    ...epmd,
    HOME: files,
    RABBITMQ_NODENAME: `pushmark${amqp}@localhost`,
    RABBITMQ_DIST_PORT: String(nodes),
    RABBITMQ_CONFIG_FILE: join(files, 'rabbit.conf'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(files, 'plugins'),
    RABBITMQ_MNESIA_BASE: join(files, 'data'),
    RABBITMQ_LOG_BASE: join(files, 'log'),
  },
})
await tellPort(web)
