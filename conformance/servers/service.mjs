// A server that is a program of its own: where it listens, how it is started, and that it ends with us.

import { spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A port that is free now. */
export function freePort() {
  return new Promise((found) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address()
      probe.close(() => found(port))
    })
  })
}

/** A new folder for its files. */
export const folder = () => mkdtempSync(join(tmpdir(), 'pushmark-server-'))

/** Starts the program; its standard input is this text. It ends with us, and we with it. */
export function start(program, words, { input, env } = {}) {
  const server = spawn(program, words, {
    stdio: ['pipe', 'ignore', 'inherit'],
    env: { ...process.env, ...env },
    detached: true,
  })
  server.on('error', ({ message }) => { console.error(message); process.exit(1) })
  server.on('exit', () => process.exit(1))
  server.stdin.end(input ?? '')
  process.on('exit', () => { try { process.kill(-server.pid) } catch { /* it has ended */ } })
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit())
}

/** Prints the port as JSON once something listens there. */
export async function tellPort(port) {
  const listens = () => new Promise((told) => {
    const tried = connect(port, '127.0.0.1')
    tried.on('connect', () => { tried.destroy(); told(true) })
    tried.on('error', () => told(false))
  })
  while (!(await listens())) await new Promise((later) => setTimeout(later, 50))
  console.log(JSON.stringify({ port }))
}
