import type { Server as HttpServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Handler, Request, Response, Server as RestifyApp } from 'restify'
import RestifyRouter from 'restify/lib/router.js'
import RestifyServer from 'restify/lib/server.js'
import { Authentication } from '#api/http/authentication.ts'
import { BODY_RATE_MIN } from '#api/http/body.ts'
import { ClientAddress } from '#api/http/client-address.ts'
import { Connections } from '#api/http/connections.ts'
import { answerPreflight, Cors } from '#api/http/cors.ts'
import { isCrossSite } from '#api/http/cross-site.ts'
import type { Route } from '#api/http/endpoint.ts'
import { type Exchange, newExchange, requestId } from '#api/http/exchange.ts'
import { answerFailure } from '#api/http/failure.ts'
import { Handlers } from '#api/http/handler.ts'
import { findMount, type Mount, mountsOf } from '#api/http/mount.ts'
import { watchOpenAnswers } from '#api/http/open-answers.ts'
import { HOST_HEADER, originOf } from '#api/http/origin.ts'
import { RateLimiter } from '#api/http/rate-limit.ts'
import { RequestGuard } from '#api/http/request-guard.ts'
import { SECURITY_HEADERS } from '#api/http/response.ts'
import { routerPath } from '#api/http/route-path.ts'
import { sendStream } from '#api/http/send.ts'
import type { Services } from '#api/http/services.ts'
import { CONNECT, socketRefusal } from '#api/http/socket-refusal.ts'
import { routes as ownRoutes } from '#api/routes.ts'
import type { PageReply, WebInterface } from '#api/web/web-interface.ts'
import { readListState } from '#core/catalog/list-state-query.ts'
import { runInScope } from '#core/database/statement-scope.ts'
import { COVER_BYTES_MAX } from '#core/fields/limits.ts'
import { AppError } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { Register } from '#core/foundation/register.ts'
import { readFreshSetting } from '#core/settings/chosen-setting-store.ts'

/** Time for all headers of a request to arrive: they fit into one packet. Node checks it every 30 s. */
const HEADERS_TIMEOUT_MS = 15_000
/** Time for a whole request to arrive: the largest upload, a cover, at the lowest rate of a body. */
const REQUEST_TIMEOUT_MS = 60_000 + (COVER_BYTES_MAX / BODY_RATE_MIN) * 1000
/** Limits the names of query parameters in one log line. */
const UNKNOWN_NAMES_MAX = 20
/** Time for a body to begin, for a pause in it, and beyond its time at the lowest rate. */
const BODY_DEADLINE_MS = 30_000
/** Users turn pages slowly. Proxies in front keep connections about a minute (nginx: 60 s), and the server must not close first. */
const KEEP_ALIVE_MS = 65_000
/** A connection that transfers nothing in either direction is dead; event streams send something every 15 s. */
const IDLE_MS = 120_000
/** While a page is unpacked, its connection is silent; this is the time that it may additionally wait and be sent in. */
const WORK_SLACK_MS = 30_000
/** How often a closing server looks for connections without further work. */
const SWEEP_MS = 20
/** Browsers send 20 to 30 headers. */
const HEADERS_MAX = 100

/** Pipelined requests of one connection: browsers send one, other programs at most ten. Node reads all that have arrived at once. */
const PIPELINED_MAX = 20

/** Length of a path parameter, percent-encoded: identifiers at services have up to 200 letters of any alphabet. */
const PARAMETER_LENGTH_MAX = 2_000

export interface ServerOptions {
  /** Replaces the routes of this server. */
  routes?: readonly Route<Services>[]
  /** The pages for browsers; without them `/` lists the other interfaces. */
  web?: WebInterface
  bodyDeadlineMs?: number
  headersTimeoutMs?: number
  /** Replaces the limit of the machine. */
  connections?: { connectionsMax?: number; firstByteMs?: number; stalledMs?: number }
}

/** The HTTP server; `listen` starts it. */
export class Server {
  readonly #services: Services
  readonly #failing: Parameters<typeof answerFailure>[2]
  readonly #mounts: Mount<Services>[]
  readonly #addresses: ClientAddress
  readonly #cors: Cors
  readonly #guard: RequestGuard
  readonly #routeOfName = new Register<Route<Services>>()
  // Cancels handlers that still wait, when their response can no longer be sent.
  readonly #closing = new AbortController()
  // Event streams do not end by themselves.
  readonly #draining = new AbortController()
  readonly #app: RestifyApp
  readonly #http: HttpServer
  readonly #connections: Connections
  readonly #web: WebInterface | null

  constructor(services: Services, options: ServerOptions = {}) {
    this.#services = services
    this.#web = options.web ?? null
    this.#failing = { log: services.log, readName: () => readFreshSetting(services.database, 'application.name') }
    const { settings, log, accounts } = services
    const routes = options.routes ?? ownRoutes
    this.#mounts = mountsOf(routes)
    this.#addresses = new ClientAddress(settings.trustedProxies)
    this.#cors = new Cors(settings.corsOrigins)
    this.#guard = new RequestGuard({
      limiter: settings.rateLimit.enabled ? new RateLimiter(settings.rateLimit) : null,
      authentication: new Authentication(accounts.callers, settings),
      callers: accounts.callers,
    })
    this.#app = createApp(log)
    this.#http = this.#app.server
    const isProxy = (address: string) => this.#addresses.isProxy(address)
    this.#connections = new Connections(this.#http, { perAddress: settings.connectionsPerAddress, isProxy, log, ...options.connections })
    const list = () => [...this.#connections.answers()].map(({ req }) => this.#get(req as Request) as Exchange<never>)
    this.#http.once('close', watchOpenAnswers({ list, callers: accounts.callers, log }))
    // Sees every request before restify handles it. A hostile Host header is refused here, because it would throw outside of any handler
    // when the router parses it.
    this.#app.first((request, response) => this.#begin(request, response))
    this.#app.pre(this.#step((exchange) => this.#enter(exchange)))
    this.#addRoutes(routes, options.bodyDeadlineMs ?? BODY_DEADLINE_MS)
    // Errors of the router: unknown address, unknown method.
    this.#app.on('restifyError', (request, response, error, done) => {
      // Otherwise restify sends the error again, and throws if the headers were sent already.
      response._sent = true
      const exchange = this.#get(request)
      const isClosed = this.#mounts.some((mount) => mount !== exchange.mount && mount.covers(exchange.path))
      const page = exchange.mount === null ? this.#web?.findUnknown(exchange) : null
      if (page) this.#sendPage(exchange, page)
      else this.#fail(exchange, isClosed ? unknownAddress() : refusalOfRouter(error))
      done()
    })
    // Restify passes listening errors to listeners that it expects to exist.
    this.#app.on('error', () => {})
    this.#setUpHttp(options.headersTimeoutMs ?? HEADERS_TIMEOUT_MS)
  }

  /** Whether restify should continue with a request. */
  #begin(request: Request, response: Response): boolean {
    // Thousands of requests fit into one packet and would delay all other clients.
    if (request.socket.destroyed || this.#connections.answersOf(request.socket).size >= PIPELINED_MAX) {
      request.socket.destroy()
      return false
    }
    const exchange = this.#exchangeOf(request, response)
    Object.assign(request, { [EXCHANGE]: exchange })
    this.#connections.note(request.socket, response)
    response.setHeader('X-Request-Id', exchange.id)
    for (const name in SECURITY_HEADERS) response.setHeader(name, SECURITY_HEADERS[name] as string)
    this.#cors.allow(request, response)
    if (this.#draining.signal.aborted) response.setHeader('Connection', 'close')
    response.on('error', (error) => this.#services.log.debug({ requestId: exchange.id, error }, 'Could not send a response'))
    if (readAddress(exchange) && !this.#cors.isPreflight(request) && request.url !== '*') {
      // Not counted by the rate limits: they protect the database.
      const page = this.#web?.find(exchange)
      if (page) this.#sendPage(exchange, page)
      return !page
    }
    this.#guard.count(exchange)
    if (exchange.path === '') this.#fail(exchange, new AppError('invalid_request', BAD_ADDRESS))
    else if (this.#cors.isPreflight(request)) answerPreflight(response)
    // The router itself would answer this one (OPTIONS *), without content.
    else this.#fail(exchange, unknownAddress())
    return false
  }

  #exchangeOf(request: Request, response: Response): Exchange<Services> {
    const socketAddress = request.socket.remoteAddress ?? ''
    const isProxy = this.#addresses.isProxy(socketAddress)
    const id = requestId(request.headers['x-request-id'], isProxy)
    const address = this.#addresses.find(socketAddress, header(request, 'x-forwarded-for'))
    return newExchange({
      request,
      response,
      id,
      address,
      origin: originOf(request, { isProxy, isSecure: this.#services.settings.cookieSecure }),
    })
  }

  /** Finds the route and authenticates the caller. */
  async #enter(exchange: Exchange<Services>): Promise<void> {
    const { request, response } = exchange
    exchange.mount = await findMount(this.#mounts, exchange.path, this.#services)
    this.#app.router.lookup(request, response)
    const route = request.route ? (this.#routeOfName.get(request.route.name) ?? null) : null
    exchange.route = isOpen(exchange, route) ? route : null
    // Before authentication: another site must not learn whether a password was right.
    if (isCrossSite({ method: request.method, headers: request.headers, own: exchange.origin }, this.#services.settings.corsOrigins)) {
      this.#guard.count(exchange)
      throw new AppError('forbidden', CROSS_SITE)
    }
    // Authentication continues if the client disconnects: other requests may use the same key.
    await runInScope({ owner: exchange.address, signal: () => this.#closing.signal }, () => this.#guard.enter(exchange))
    if (route !== exchange.route) throw unknownAddress()
  }

  #addRoutes(routes: readonly Route<Services>[], bodyDeadlineMs: number): void {
    const { accounts, log, settings } = this.#services
    const { legacyNames } = settings.compatibility
    const readers = new Map(
      routes.flatMap((route) =>
        route.kind === 'endpoint' && route.method === 'GET' && route.params !== undefined ? [[route.path, route]] : [],
      ),
    )
    const handlers = new Handlers(this.#services, {
      draining: this.#draining.signal,
      closing: this.#closing.signal,
      bodyDeadlineMs,
      // Older clients send parameters that only other servers have.
      onUnknownQuery: legacyNames
        ? (names) => log.debug({ names: names.slice(0, UNKNOWN_NAMES_MAX) }, 'Ignored unknown query parameters')
        : null,
      takesPageZero: legacyNames,
      again: (caller) => accounts.callers.again(caller),
      readState: (caller) => readListState(this.#services.database, caller),
      // Of a member of a list, such as one genre of a series, the route that returns the list.
      findReader: ({ path }) => readers.get(path) ?? readers.get(path.replace(/\/:\w+$/, '')) ?? null,
    })
    for (const [index, route] of routes.entries()) {
      const handle = this.#step(handlers.compile(route))
      const mount = route.method.toLowerCase().replace('delete', 'del') as 'get' | 'post' | 'put' | 'patch' | 'del'
      for (const [place, path] of [route.path, ...(route.alsoAt ?? [])].map(routerPath).entries()) {
        const name = `route${index}at${place}`
        this.#routeOfName.set(name, route)
        this.#app[mount]({ path, name }, handle)
        if (route.method !== 'GET') continue
        this.#routeOfName.set(`${name}head`, route)
        this.#app.head({ path, name: `${name}head` }, handle)
      }
    }
  }

  #setUpHttp(headersTimeoutMs: number): void {
    const http = this.#http
    http.headersTimeout = headersTimeoutMs
    http.requestTimeout = REQUEST_TIMEOUT_MS
    http.keepAliveTimeout = KEEP_ALIVE_MS
    http.timeout = Math.max(IDLE_MS, this.#services.settings.analysisDeadlineMs + WORK_SLACK_MS)
    http.maxHeadersCount = HEADERS_MAX
    // Restify listens for upgrades and does nothing with them, which leaves the socket open forever. Without a listener
    // Node handles such a request as if it had no Upgrade header (`curl --http2` sends one).
    http.removeAllListeners('upgrade')
    // RFC 9110, 10.1.1: a server may ignore an unknown expectation.
    http.on('checkExpectation', (request, response) => http.emit('request', request, response))
    // Without a listener Node closes the connection of a CONNECT without an answer. This server is no proxy.
    http.on('connect', (_request, socket) => this.#refuseSocket(Object.assign(new Error('CONNECT'), { code: CONNECT }), socket as Socket))
    http.on('clientError', (error, socket) => this.#refuseSocket(error, socket as Socket))
    // Node's own error for a request without Host has no body; ours explains the problem.
    Object.assign(http, { requireHostHeader: false })
  }

  /**
   * One step of an exchange. Restify must not see exceptions: it emits errors as events under their own names, and one with the name of an
   * event that somebody listens for (errors of PostgreSQL are named "error") would never be answered.
   */
  #step(work: (exchange: Exchange<Services>) => Promise<void>): Handler {
    return (request, _response, next) => {
      const exchange = this.#get(request)
      work(exchange).then(
        () => next(),
        (error: unknown) => answerFailure(exchange, error, this.#failing).then(() => next(false)),
      )
    }
  }

  #get(request: Request): Exchange<Services> {
    const { [EXCHANGE]: exchange } = request as { [EXCHANGE]?: Exchange<Services> }
    if (!exchange) throw new Error('A request has reached its handler without an exchange')
    return exchange
  }

  #sendPage(exchange: Exchange<Services>, page: () => Promise<PageReply>): void {
    page()
      .then((reply) => sendStream(exchange.response, reply))
      .catch((error: unknown) => this.#fail(exchange, error))
  }

  #fail(exchange: Exchange<Services>, error: unknown): void {
    void answerFailure(exchange, error, this.#failing)
  }

  #refuseSocket(error: Error & { code?: string }, socket: Socket): void {
    // After the head of a response, the client would read this as part of the body; closing the connection says "incomplete".
    const begun = [...this.#connections.answersOf(socket)].some((answer) => answer.headersSent)
    if (error.code === 'ECONNRESET' || !socket.writable || begun) {
      socket.destroy()
      return
    }
    const address = this.#addresses.find(socket.remoteAddress ?? '', undefined)
    socket.end(socketRefusal(error.code, this.#guard.headersOfAddress(address)))
  }

  /** Starts to listen; port 0 means any free one. @throws if the port is in use or not allowed */
  listen({ host, port }: { host: string; port: number }): Promise<{ url: string }> {
    return new Promise((resolve, reject) => {
      this.#http.once('error', reject)
      this.#http.listen({ host, port }, () => {
        this.#http.off('error', reject)
        this.#http.on('error', (error) => this.#services.log.error({ error }, 'The HTTP server failed'))
        const { address, family, port: bound } = this.#http.address() as AddressInfo
        resolve({ url: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}` })
      })
    })
  }

  /** Accepts no more connections, waits for requests in progress up to the deadline, then closes all connections. */
  async close({ deadlineMs }: { deadlineMs: number }): Promise<void> {
    if (!this.#http.listening) return
    this.#draining.abort()
    const closed = new Promise<void>((resolve) => {
      this.#http.close(() => resolve())
    })
    const done = new AbortController()
    const timer = sleep(deadlineMs, undefined, { signal: done.signal }).catch(() => {})
    // Connections that were kept alive before the draining began become idle one by one. Node does not count connections that never sent
    // a request (browsers open some in advance) as idle.
    const sweep = setInterval(() => {
      this.#http.closeIdleConnections()
      this.#connections.endSilent()
    }, SWEEP_MS)
    await Promise.race([closed, timer])
    clearInterval(sweep)
    done.abort()
    this.#closing.abort()
    this.#http.closeAllConnections()
    await closed
  }
}

/**
 * The property of a request that holds its exchange. Not a WeakMap: the fast collections of young objects keep its entries, so that every request
 * with all its objects would grow old, and only full collections would remove them.
 */
const EXCHANGE = Symbol('exchange')

const BAD_ADDRESS = 'The address or the Host header of the request is not valid.'

const CROSS_SITE = 'A page of another site may not make changes here. An administrator can allow its address with the setting cors.origins.'

const unknownAddress = () => new AppError('not_found', 'This address does not exist.')

/** Reads path and query into the exchange; false if the address or the Host header is invalid. */
function readAddress(exchange: Exchange<Services>): boolean {
  const { request } = exchange
  const { host } = request.headers
  // Only HTTP/1.0 may omit it (RFC 9112, 3.2).
  if (host === undefined ? request.httpVersion !== '1.0' : !HOST_HEADER.test(host)) return false
  try {
    const url = request.getUrl()
    // A slash at the end changes nothing, as in the router; clients append it to addresses that users type in.
    exchange.path = url.pathname.replace(/(?<=.)\/$/, '')
    exchange.rawQuery = url.search.slice(1)
    return true
  } catch {
    return false
  }
}

/** Without the package's own function, whose module loads all its plugins: that takes a fifth of a second. */
function createApp(log: Log): RestifyApp {
  const options = { name: '', log: restifyLog(log), maxParamLength: PARAMETER_LENGTH_MAX, ignoreTrailingSlash: true }
  return new RestifyServer({ ...options, router: new RestifyRouter(options) })
}

/** A log for restify. Restify logs only what cannot happen here, but it would be worth a line. */
function restifyLog(log: Log) {
  const write = (level: 'debug' | 'warn') => (fields: object | string, message?: string) =>
    log[level](typeof fields === 'object' ? fields : {}, `restify: ${message ?? String(fields)}`)
  return { trace() {}, debug() {}, info: write('debug'), warn: write('warn'), error: write('warn'), fatal: write('warn') }
}

/** Whether the route exists: those of a foreign protocol exist only while that is enabled at the address. */
function isOpen({ mount }: Exchange<Services>, route: Route<Services> | null): boolean {
  return route?.mount === undefined || route.mount === mount
}

/** Converts an error of the router: unknown address or method. */
function refusalOfRouter(error: unknown): unknown {
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined
  if (status === 404) return unknownAddress()
  return status === 405 ? new AppError('method_not_allowed') : error
}

function header(request: Request, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}
