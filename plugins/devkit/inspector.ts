import { randomBytes } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import packageJson from '../../package.json' with { type: 'json' }
import type { DebugRelay } from './debug-relay.ts'
import { listenLocally } from './listen.ts'

/** The endpoint for debuggers: Chrome, editors, and others with the same protocol. */
interface InspectorServer {
  /** URL that opens Chrome's debugger. */
  devtoolsUrl: string
  /** For other debuggers. */
  url: string
  close(): void
}

/** The default port of debuggers. */
export const INSPECT_PORT = 9_229

/** Room for the largest source and its map. */
const MESSAGE_BYTES_MAX = 16 * 1024 * 1024
/** Limit for a debugger that does not read: some of the largest responses. */
const UNREAD_BYTES_MAX = 64 * 1024 * 1024
/** A debugger sends its few header lines at once. */
const HEADERS_MS_MAX = 5_000

/** Accepts Chrome's own debugger, which sends its origin, and programs, which send none. Every web page sends its own origin and is refused. */
const isOurs = ({ headers }: http.IncomingMessage, port: number): boolean =>
  [`127.0.0.1:${port}`, `localhost:${port}`].includes(headers.host ?? '') &&
  (headers.origin === undefined || headers.origin.startsWith('devtools://'))

/**
 * Serves the debugging protocol on 127.0.0.1, one debugger at a time. As with Node's inspector, programs on this machine can find the URL; web pages
 * cannot, by whatever host name, and would be refused.
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
    if (status !== 200) return response.end(JSON.stringify({ message: status === 403 ? 'Only debuggers may connect.' : 'Not found.' }))
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

  await listenLocally(server, port, `Choose another: --inspect ${port + 1}`)
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
    // Joins the fragments of a message.
    if (isBinary) socket.close(1003, 'Messages must be text.')
    else onMessage((data as Buffer).toString('utf8'))
  })
  // After any error, the connection is closed.
  socket.on('error', () => {})
  socket.on('close', onClosed)
}
