// Reads the streams of eventsource.json with npm `eventsource-parser`, each whole and byte by
// byte, and prints what it heard, a line of JSON each.

import { readFileSync } from 'node:fs'
import { createParser } from 'eventsource-parser'

const { streams } = JSON.parse(readFileSync(process.argv[2], 'utf8'))

function hear(bytes, size) {
  const events = []
  let id = ''
  let retry_ms = null
  const parser = createParser({
    onEvent(event) {
      // The parser gives an event its own id; that it lasts is left to the source above it.
      id = event.id ?? id
      events.push({ type: event.event || 'message', data: event.data, id })
    },
    onRetry: (ms) => (retry_ms = ms),
  })
  // Drops the BOM, as the parser asks of its callers.
  const decoder = new TextDecoder()
  for (let at = 0; at < bytes.length; at += size) {
    parser.feed(decoder.decode(bytes.subarray(at, at + size), { stream: true }))
  }
  return { events, retry_ms }
}

for (const { name, stream, hex } of streams) {
  const bytes = hex ? Buffer.from(hex, 'hex') : Buffer.from(stream, 'utf8')
  console.log(JSON.stringify({ name, whole: hear(bytes, bytes.length), bytewise: hear(bytes, 1) }))
}
