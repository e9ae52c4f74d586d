// An MCP server by Streamable HTTP at /mcp, on a port of the system's choice: what is posted to /publish?channel=NAME
// goes to every session as a log message of that logger. Prints its port as JSON.
// usage: node mcp-server.mjs

import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'

const sessions = new Map()

async function open() {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, { transport, server }),
  })
  const server = new McpServer({ name: 'messages', version: '1' }, { capabilities: { logging: {} } })
  await server.connect(transport)
  return { transport }
}

const listener = createServer(async (request, answer) => {
  const url = new URL(request.url, 'http://here')
  if (url.pathname === '/publish') {
    let data = ''
    for await (const part of request) data += part
    const logger = url.searchParams.get('channel')
    for (const { server } of sessions.values()) server.sendLoggingMessage({ level: 'info', logger, data })
    return answer.end('published')
  }
  const session = sessions.get(request.headers['mcp-session-id']) ?? await open()
  await session.transport.handleRequest(request, answer)
})
listener.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: listener.address().port })))
