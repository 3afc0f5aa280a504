import { randomBytes, timingSafeEqual } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { ToolProblem } from './command.ts'
import type { DevSession } from './dev-session.ts'
import { listenLocally } from './listen.ts'
import { CALLS_FOLDER } from './saved-call.ts'

/** The page for trying calls, only for the user of this machine. */
export interface DevServer {
  /** With the token that grants access. */
  url: string
  /** Sends an event to all open pages. */
  send(event: 'built' | 'failed' | 'log', data: unknown): void
  close(): void
}

const BODY_BYTES_MAX = 10 * 1024 * 1024
/** One for each open tab. */
const LISTENERS_MAX = 20
const CALL_NAME = /^[a-z0-9][a-z0-9-]{0,59}$/
const page = new URL('dev-page.html', import.meta.url)

/**
 * Serves the page on 127.0.0.1. Other programs and web pages on this machine can reach that address too: they get nothing without the token, or
 * with another host name for the address.
 */
export async function openDevServer(folder: string, session: DevSession, port: number): Promise<DevServer> {
  const token = randomBytes(16).toString('hex')
  const listeners = new Set<http.ServerResponse>()
  const sendEvent: DevServer['send'] = (event, data) => {
    for (const listener of listeners) listener.write(`event: ${event}\ndata: ${JSON.stringify(data ?? null)}\n\n`)
  }

  const answer = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    const { port: at } = server.address() as AddressInfo
    const [given = '', place = ''] = (request.url ?? '/').split('?')[0]?.slice(1).split('/') ?? []
    const isOurs = request.headers.host === `127.0.0.1:${at}` && isSame(given, token)
    if (!isOurs) return send(response, 404, { message: 'Not found.' })
    const key = `${request.method} ${place}`
    if (key === 'GET ') return await sendPage(response)
    if (key === 'GET state') return send(response, 200, await session.state())
    if (key === 'GET events') return listen(response)
    if (key === 'POST call') return send(response, 200, await session.call(await readBody(request), (line) => sendEvent('log', line)))
    if (key === 'POST save') return send(response, 200, { file: await save(folder, await readBody(request)) })
    send(response, 404, { message: 'Not found.' })
  }

  const listen = (response: http.ServerResponse): void => {
    if (listeners.size >= LISTENERS_MAX) {
      send(response, 429, { message: 'Too many pages are open.' })
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    response.write(':\n\n')
    listeners.add(response)
    response.on('close', () => listeners.delete(response))
  }

  const server = http.createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy()
      else if (error instanceof ToolProblem) send(response, 400, { message: error.message })
      else send(response, 500, { message: (error as Error).message })
    })
  })
  await listenLocally(server, port, 'Choose another with --port.')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${token}/`,
    send: sendEvent,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

const isSame = (given: string, wanted: string): boolean =>
  Buffer.byteLength(given) === Buffer.byteLength(wanted) && timingSafeEqual(Buffer.from(given), Buffer.from(wanted))

function send(response: http.ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  response.end(JSON.stringify(value))
}

async function sendPage(response: http.ServerResponse): Promise<void> {
  const nonce = randomBytes(16).toString('base64')
  const html = (await readFile(page, 'utf8')).replaceAll('{{nonce}}', nonce)
  response.writeHead(200, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    // The page shows plugin answers as text; if any became markup, this policy would still block it. The URL contains the token.
    'content-security-policy': `default-src 'none'; connect-src 'self'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; frame-ancestors 'none'`,
    'referrer-policy': 'no-referrer',
  })
  response.end(html)
}

async function readBody(request: http.IncomingMessage): Promise<unknown> {
  // Other web pages can submit forms, but not with this content type.
  if (request.headers['content-type'] !== 'application/json') throw new ToolProblem('The body must be application/json.')
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) throw new ToolProblem(`A call may have at most ${BODY_BYTES_MAX} bytes.`)
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    throw new ToolProblem('The body is not valid JSON.')
  }
}

/** Saves a call for replay, bench and the conformance tests. */
async function save(folder: string, value: unknown): Promise<string> {
  const { name, call } = (value ?? {}) as { name?: unknown; call?: unknown }
  if (typeof name !== 'string' || !CALL_NAME.test(name))
    throw new ToolProblem('The name of a call may contain lower-case letters, digits and hyphens.')
  const file = path.join(CALLS_FOLDER, `${name}.json`)
  await mkdir(path.join(folder, CALLS_FOLDER), { recursive: true })
  await writeFile(path.join(folder, file), `${JSON.stringify(call, null, 2)}\n`)
  return file
}
