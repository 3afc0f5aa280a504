import { STATUS_CODES } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import restify, { type Handler, type Request } from 'restify'
import { SECURITY_HEADERS } from '#api/http/answer.ts'
import { openAuthentication } from '#api/http/authentication.ts'
import { openClientAddress } from '#api/http/client-address.ts'
import { watchConnections } from '#api/http/connections.ts'
import { answerPreflight, openCors } from '#api/http/cors.ts'
import { isCrossSite } from '#api/http/cross-site.ts'
import type { Route } from '#api/http/endpoint.ts'
import { type Exchange, requestId } from '#api/http/exchange.ts'
import { answerFailure } from '#api/http/failure.ts'
import { openGate } from '#api/http/gate.ts'
import { openHandlers } from '#api/http/handler.ts'
import { findMount, mountsOf } from '#api/http/mount.ts'
import { HOST, originOf } from '#api/http/origin.ts'
import { openRateLimiter } from '#api/http/rate-limit.ts'
import { routerPath } from '#api/http/route-path.ts'
import { routes as ownRoutes } from '#api/routes.ts'
import type { Services } from '#api/http/services.ts'
import { runInScope } from '#core/database/statement-scope.ts'
import { CarrelError } from '#core/foundation/errors.ts'

/** Time for all headers of a request to arrive: they fit one packet. Checked by Node every 30 s. */
const HEADERS_TIMEOUT_MS = 15_000
/** Time for a whole request to arrive, for the largest uploads over the slowest lines. */
const REQUEST_TIMEOUT_MS = 300_000
/** Names of query parameters that one line of the log tells. */
const UNKNOWN_NAMES_MAX = 20
/** Time for a JSON body to arrive: a megabyte at 35 kB/s. */
const BODY_DEADLINE_MS = 30_000
/** A reader turns pages; a proxy in front keeps its connections about a minute (nginx: 60 s), and ours must not close first. */
const KEEP_ALIVE_MS = 65_000
/** A connection on which nothing moves in either direction is dead; event streams send something every 15 s. */
const IDLE_MS = 120_000
/** A page that must be unpacked is silent for as long as the work may take; this long it may wait for its turn and be sent. */
const WORK_SLACK_MS = 30_000
/** How often a closing server looks for connections that have nothing more to do. */
const SWEEP_MS = 20
/** Browsers send 20 to 30. */
const HEADERS_MAX = 100

/** Requests of one connection that wait for their answers: browsers send one, the most patient of programs ten. Node reads all that have come at once. */
const PIPELINED_MAX = 20

/** Of a part of the path that names something, percent-encoded: identifiers of services have 200 letters of whatever alphabet. */
const PARAMETER_LENGTH_MAX = 2_000

export interface ServerOptions {
  /** Instead of all routes of this server. */
  routes?: readonly Route<Services>[]
  bodyDeadlineMs?: number
  headersTimeoutMs?: number
  /** Instead of what the machine allows. */
  connections?: { connectionsMax?: number; firstByteMs?: number; stalledMs?: number }
}

export interface Server {
  /** Starts to listen. @param at.port 0 = any free port. @throws when the port is taken or not allowed */
  listen(at: { host: string; port: number }): Promise<{ url: string }>
  /** Takes no new connection, lets every request under way finish, then hangs up; after the deadline it hangs up anyhow. */
  close(options: { deadlineMs: number }): Promise<void>
}

/** Builds the HTTP server; it listens only when told so. */
export function openServer(services: Services, options: ServerOptions = {}): Server {
  const { settings, log } = services
  const routes = options.routes ?? ownRoutes
  const mounts = mountsOf(routes)
  const addresses = openClientAddress(settings.trustedProxies)
  const cors = openCors(settings.corsOrigins)
  const limiter = settings.rateLimit.enabled ? openRateLimiter(settings.rateLimit) : null
  const gate = openGate({ limiter, authentication: openAuthentication(services.accounts.callers), callers: services.accounts.callers })
  const handlers = openHandlers(services, {
    bodyDeadlineMs: options.bodyDeadlineMs ?? BODY_DEADLINE_MS,
    // Older clients send what other servers know.
    onUnknownQuery: settings.compatibility.legacyNames
      ? (names) => log.debug({ names: names.slice(0, UNKNOWN_NAMES_MAX) }, 'Query parameters that are not known were left alone')
      : null,
    takesPageZero: settings.compatibility.legacyNames,
  })
  const exchanges = new WeakMap<Request, Exchange<Services>>()
  const routeOfName = new Map<string, Route<Services>>()
  // Handlers that wait for something tell the client of their failure; this tells them that nobody will read it.
  const closing = new AbortController()
  // Streams of events would never be over by themselves.
  const draining = new AbortController()

  // Restify calls its log only for things that cannot happen here; what it says is worth a line nevertheless.
  const say = (level: 'debug' | 'warn') => (fields: object | string, message?: string) =>
    log[level](typeof fields === 'object' ? fields : {}, `restify: ${message ?? String(fields)}`)
  const restifyLog = { trace() {}, debug() {}, info: say('debug'), warn: say('warn'), error: say('warn'), fatal: say('warn') }
  const app = restify.createServer({ name: '', log: restifyLog, maxParamLength: PARAMETER_LENGTH_MAX })
  const http = app.server
  const connections = watchConnections(http, {
    perAddress: settings.connectionsPerAddress,
    isProxy: addresses.isProxy,
    log,
    ...options.connections,
  })

  // Sees every request before restify does anything with it: here a hostile Host header is caught, which would throw outside of
  // any handler when the router parses it.
  app.first((request, response) => {
    // Thousands fit into one packet, and nobody else would have a turn before the last of them.
    if (request.socket.destroyed || connections.answersOf(request.socket).size >= PIPELINED_MAX) {
      request.socket.destroy()
      return false
    }
    const socketAddress = request.socket.remoteAddress ?? ''
    const exchange: Exchange<Services> = {
      request,
      response,
      id: requestId(request.headers['x-request-id'], addresses.isProxy(socketAddress)),
      address: addresses.find(socketAddress, header(request, 'x-forwarded-for')),
      origin: originOf(request, { isProxy: addresses.isProxy(socketAddress), isSecure: settings.cookieSecure }),
      path: '',
      rawQuery: '',
      mount: null,
      route: null,
      caller: null,
      badCredential: false,
    }
    exchanges.set(request, exchange)
    connections.note(request.socket, response)
    response.setHeader('X-Request-Id', exchange.id)
    for (const name in SECURITY_HEADERS) response.setHeader(name, SECURITY_HEADERS[name] as string)
    cors.allow(request, response)
    if (draining.signal.aborted) response.setHeader('Connection', 'close')
    response.on('error', (error) => log.debug({ requestId: exchange.id, error }, 'The answer could not be sent'))
    try {
      const { host } = request.headers
      // Only HTTP/1.0 may leave it out (RFC 9112, 3.2).
      if (host === undefined ? request.httpVersion !== '1.0' : !HOST.test(host)) throw new TypeError('Host')
      const url = request.getUrl()
      exchange.path = url.pathname
      exchange.rawQuery = url.search.slice(1)
    } catch {
      gate.count(exchange)
      fail(exchange, new CarrelError('invalid_request', 'The address or the Host header of the request is not valid.'))
      return false
    }
    if (cors.isPreflight(request)) {
      gate.count(exchange)
      answerPreflight(response)
      return false
    }
    if (request.url === '*') {
      // The router would answer this one (OPTIONS *) itself, with nothing.
      gate.count(exchange)
      fail(exchange, nothingHere())
      return false
    }
    return true
  })

  app.pre(
    step(async (exchange) => {
      const { request, response } = exchange
      exchange.mount = await findMount(mounts, exchange.path, services)
      app.router.lookup(request, response)
      const route = request.route ? (routeOfName.get(request.route.name) ?? null) : null
      exchange.route = isOpen(exchange, route) ? route : null
      // Before anybody is looked for: a wrong password tried from another site must not be told from a right one.
      if (isCrossSite({ method: request.method, headers: request.headers, own: exchange.origin }, settings.corsOrigins)) {
        gate.count(exchange)
        throw new CarrelError('forbidden', CROSS_SITE)
      }
      // Who asks is found out for as long as it takes, whether or not they wait: others may ask by the same key.
      await runInScope({ owner: exchange.address, signal: () => closing.signal }, () => gate.enter(exchange))
      if (route !== exchange.route) throw nothingHere()
    }),
  )

  for (const [index, route] of routes.entries()) {
    const handle = handlers.compile(route, { draining: draining.signal, closing: closing.signal })
    const mount = route.method.toLowerCase().replace('delete', 'del') as 'get' | 'post' | 'put' | 'patch' | 'del'
    const paths = [route.path, ...(route.alsoAt ?? [])].map(routerPath)
    // A path that takes all that is left takes the slash too.
    if (route.mount?.slashAtEnd) paths.push(...paths.filter((path) => !path.endsWith('*')).map((path) => `${path}/`))
    for (const [place, path] of paths.entries()) {
      const name = `route${index}at${place}`
      routeOfName.set(name, route)
      app[mount]({ path, name }, step(handle))
      if (route.method !== 'GET') continue
      routeOfName.set(`${name}head`, route)
      app.head({ path, name: `${name}head` }, step(handle))
    }
  }

  // What the router itself refuses: no such address, no such method.
  app.on('restifyError', (request, response, error, done) => {
    // Restify would send the error once more and die of it when the headers are out already.
    response._sent = true
    const exchange = get(request)
    const isClosed = mounts.some((mount) => mount !== exchange.mount && mount.covers(exchange.path))
    fail(exchange, isClosed ? nothingHere() : refusalOfRouter(error))
    done()
  })

  /**
   * One step of an exchange. Restify sees nothing that is thrown: it emits errors under their own names, and one that happens to be
   * called like an event that somebody listens for (errors of PostgreSQL are named "error") would never be answered.
   */
  function step(work: (exchange: Exchange<Services>) => Promise<void>): Handler {
    return (request, _response, next) => {
      const exchange = get(request)
      work(exchange).then(
        () => next(),
        (error: unknown) => answerFailure(exchange, error, log).then(() => next(false)),
      )
    }
  }

  function get(request: Request): Exchange<Services> {
    const exchange = exchanges.get(request)
    if (!exchange) throw new Error('A request reached its handler without passing the first one')
    return exchange
  }

  function fail(exchange: Exchange<Services>, error: unknown): void {
    void answerFailure(exchange, error, log)
  }

  function refuseSocket(error: Error & { code?: string }, socket: Socket): void {
    // What we write after the head of an answer the client reads as a part of that answer; hanging up says "incomplete".
    const begun = [...connections.answersOf(socket)].some((answer) => answer.headersSent)
    if (error.code === 'ECONNRESET' || !socket.writable || begun) {
      socket.destroy()
      return
    }
    const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400
    const id = requestId(undefined, false)
    const body = JSON.stringify({ error: 'invalid_request', message: SOCKET_REFUSALS[status], requestId: id })
    const lines = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      `X-Request-Id: ${id}`,
      ...gate.headersOfAddress(addresses.find(socket.remoteAddress ?? '', undefined)).map(([name, value]) => `${name}: ${value}`),
      ...Object.entries(SECURITY_HEADERS).map(([name, value]) => `${name}: ${value}`),
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Cache-Control: no-store',
      'Connection: close',
    ]
    socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`)
  }

  // Restify passes the errors of listening on to listeners it expects to be there.
  app.on('error', () => {})
  http.headersTimeout = options.headersTimeoutMs ?? HEADERS_TIMEOUT_MS
  http.requestTimeout = REQUEST_TIMEOUT_MS
  http.keepAliveTimeout = KEEP_ALIVE_MS
  http.timeout = Math.max(IDLE_MS, settings.analysisDeadlineMs + WORK_SLACK_MS)
  http.maxHeadersCount = HEADERS_MAX
  // Restify listens for upgrades and does nothing with them, which leaves the socket open and silent for ever. Without a listener
  // Node answers such a request as if it had not asked (`curl --http2` asks).
  http.removeAllListeners('upgrade')
  // RFC 9110, 10.1.1: an expectation we do not know may be ignored.
  http.on('checkExpectation', (request, response) => http.emit('request', request, response))
  http.on('clientError', refuseSocket)
  // Node's own refusal of a request without Host has no body; ours stands above.
  Object.assign(http, { requireHostHeader: false })

  return {
    listen: ({ host, port }) =>
      new Promise((resolve, reject) => {
        http.once('error', reject)
        http.listen({ host, port }, () => {
          http.off('error', reject)
          http.on('error', (error) => log.error({ error }, 'The HTTP server has a problem'))
          const { address, family, port: bound } = http.address() as AddressInfo
          resolve({ url: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}` })
        })
      }),

    async close({ deadlineMs }) {
      if (!http.listening) return
      draining.abort()
      const closed = new Promise<void>((resolve) => {
        http.close(() => resolve())
      })
      const done = new AbortController()
      const timer = sleep(deadlineMs, undefined, { signal: done.signal }).catch(() => {})
      // Connections that promised to stay open before the draining began become idle one by one; those that never asked for
      // anything (browsers open some in advance) Node does not count as idle.
      const sweep = setInterval(() => {
        http.closeIdleConnections()
        connections.endSilent()
      }, SWEEP_MS)
      await Promise.race([closed, timer])
      clearInterval(sweep)
      done.abort()
      closing.abort()
      http.closeAllConnections()
      await closed
    },
  }
}

const SOCKET_REFUSALS: Record<number, string> = {
  400: 'This is not a valid HTTP request.',
  408: 'The request did not arrive in time.',
  431: 'The headers of the request are too large.',
}

const CROSS_SITE =
  'A page of another site may not change anything here. An administrator can let its address do so with the setting cors.origins.'

const nothingHere = () => new CarrelError('not_found', 'There is nothing at this address.')

/** A route of a foreign protocol is there only while that answers at its address. */
function isOpen({ mount }: Exchange<Services>, route: Route<Services> | null): boolean {
  return route?.mount === undefined || route.mount === mount
}

/** No such address, no such method. */
function refusalOfRouter(error: unknown): unknown {
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined
  if (status === 404) return nothingHere()
  return status === 405 ? new CarrelError('method_not_allowed') : error
}

function header(request: Request, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}
