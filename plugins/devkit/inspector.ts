import { randomBytes } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import packageJson from '../../package.json' with { type: 'json' }
import { ToolProblem } from './command.ts'
import type { DebugRelay } from './debug-relay.ts'

/** Where debuggers find the sandbox: Chrome's, editors, or whatever speaks the same protocol. */
export interface InspectorServer {
  /** What Chrome opens its debugger with. */
  devtoolsUrl: string
  /** For other debuggers. */
  url: string
  close(): void
}

/** Where debuggers look unless told otherwise. */
export const INSPECT_PORT = 9_229

/** Room for the largest source and its map. */
const MESSAGE_BYTES_MAX = 16 * 1024 * 1024
/** Of a debugger that does not read: some of the largest answers. */
const UNREAD_BYTES_MAX = 64 * 1024 * 1024
/** Whoever opens one sends its few lines at once. */
const HEADERS_MS_MAX = 5_000

/** Chrome's own debugger says where it comes from; programs say nothing. Every page says its own origin, and none is let in. */
const isOurs = ({ headers }: http.IncomingMessage, port: number): boolean =>
  [`127.0.0.1:${port}`, `localhost:${port}`].includes(headers.host ?? '') &&
  (headers.origin === undefined || headers.origin.startsWith('devtools://'))

/**
 * Serves the debugging protocol on 127.0.0.1, one debugger at a time. As with Node's own, programs of this machine can find out the address; pages
 * cannot, whatever name they give to it, and would not be let in.
 * @throws ToolProblem when the port is taken
 */
export async function openInspectorServer(relay: DebugRelay, title: string, port: number): Promise<InspectorServer> {
  const token = randomBytes(16).toString('hex')
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MESSAGE_BYTES_MAX, perMessageDeflate: false })
  const server = http.createServer({ headersTimeout: HEADERS_MS_MAX, requestTimeout: HEADERS_MS_MAX })
  const place = () => `127.0.0.1:${(server.address() as AddressInfo).port}/${token}`
  const addresses = () => ({
    url: `ws://${place()}`,
    devtoolsUrl: `devtools://devtools/bundled/js_app.html?experiments=true&v8only=true&ws=${place()}`,
  })

  server.on('request', (request, response) => {
    const at = request.url?.replace(/\/$/, '')
    const isKnown = request.method === 'GET' && (at === '/json' || at === '/json/list' || at === '/json/version')
    const status = !isOurs(request, (server.address() as AddressInfo).port) ? 403 : isKnown ? 200 : 404
    response.writeHead(status, {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
    if (status !== 200)
      return response.end(JSON.stringify({ message: status === 403 ? 'This is for debuggers.' : 'There is nothing here.' }))
    if (at === '/json/version') return response.end(JSON.stringify({ Browser: `Carrel/${packageJson.version}`, 'Protocol-Version': '1.3' }))
    const { url, devtoolsUrl } = addresses()
    const target = { id: token, type: 'node', title, description: 'A plugin for Carrel', url: 'file://' }
    response.end(JSON.stringify([{ ...target, devtoolsFrontendUrl: devtoolsUrl, webSocketDebuggerUrl: url }]))
  })

  server.on('upgrade', (request: http.IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => {})
    const deny = (answer: string) => socket.end(`HTTP/1.1 ${answer}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
    if (!isOurs(request, (server.address() as AddressInfo).port)) return deny('403 Forbidden')
    if (request.url !== `/${token}`) return deny('404 Not Found')
    if (relay.isTaken) return deny('409 Conflict')
    sockets.handleUpgrade(request, socket, head, (opened) => join(relay, opened))
  })

  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new ToolProblem(error.code === 'EADDRINUSE' ? `Port ${port} is in use; name another: --inspect ${port + 1}` : error.message, {
          cause: error,
        }),
      ),
    )
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    ...addresses(),
    close() {
      for (const socket of sockets.clients) socket.terminate()
      sockets.close()
      server.closeAllConnections()
      server.close()
    },
  }
}

function join(relay: DebugRelay, socket: WebSocket): void {
  const { onMessage, onClosed } = relay.connect((text) => {
    socket.send(text)
    if (socket.bufferedAmount > UNREAD_BYTES_MAX) socket.terminate()
  })
  socket.on('message', (data, isBinary) => {
    // One buffer, however many pieces it came in.
    if (isBinary) socket.close(1003, 'Messages are text.')
    else onMessage((data as Buffer).toString('utf8'))
  })
  // Whatever is wrong with a connection, it is closed after that.
  socket.on('error', () => {})
  socket.on('close', onClosed)
}
