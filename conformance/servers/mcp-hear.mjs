// Opens a session with MCP's own client and prints the log messages of one logger, a line of JSON each. The client does
// not say when its stream is open, so it counts as listening a little later.
// usage: node mcp-hear.mjs PORT LOGGER

import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js'

const [port, channel] = process.argv.slice(2)
const say = (what) => console.log(JSON.stringify(what))
const client = new Client({ name: 'hear', version: '1' })
client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params: { logger, data } }) => {
  if (logger === channel) say({ message: data, at_us: Number(process.hrtime.bigint() / 1000n) })
})
client.onerror = (error) => say({ error: String(error) })
await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)))
setTimeout(() => say({ said: `listens to ${channel}` }), 200)
