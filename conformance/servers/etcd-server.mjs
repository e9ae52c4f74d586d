// etcd on a free port, with its gateway of JSON. Prints the port as JSON. The program is found in PATH.
// usage: node etcd-server.mjs

import { folder, freePort, start, tellPort } from './service.mjs'

const [port, peers] = [await freePort(), await freePort()]
const [url, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peers}`]
start('etcd', [
  '--data-dir', folder(),
  '--listen-client-urls', url, '--advertise-client-urls', url,
  '--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`,
  '--logger', 'zap', '--log-level', 'error',
])
await tellPort(port)
