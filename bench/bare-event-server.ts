import http from 'node:http'
import { BEAT_MS } from '#api/http/event-stream.ts'

/**
 * The minimum that a server of events does: keeps every response open, writes to all of them when `/send` is requested, and a comment at intervals.
 * A separate program, so that its memory can be measured.
 */
const open = new Set<http.ServerResponse>()
const server = http.createServer((request, response) => {
  if (request.url === '/send') {
    for (const one of open) one.write(`id: 1\nevent: library_updated\ndata: ${JSON.stringify({ at: Date.now() })}\n\n`)
    response.end()
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  response.write('id: 0\n\n')
  open.add(response)
  response.once('close', () => open.delete(response))
})
setInterval(() => {
  for (const one of open) one.write(':\n\n')
}, BEAT_MS)
server.timeout = 0
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => process.send?.({ port: (server.address() as { port: number }).port }))
