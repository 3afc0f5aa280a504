import type { ServerResponse } from 'node:http'
import { encodeJson, JSON_TYPE, sendEncoded, sendJson, sendKnown } from '#api/http/answer.ts'
import { AnswerMemory, etagOfAnswer, type KnownAnswer, requestKey } from '#api/http/answer-memory.ts'
import { readCookie } from '#api/http/authentication.ts'
import { discardBody } from '#api/http/body.ts'
import { changesOf } from '#api/http/changes.ts'
import { expectsTag, isAnyTag } from '#api/http/conditional.ts'
import type { Allow, AnyEndpoint, AnyStream, Call, Route } from '#api/http/endpoint.ts'
import { sendEvents } from '#api/http/event-stream.ts'
import type { Exchange } from '#api/http/exchange.ts'
import { compileInput, type InputOptions, type ReadInput } from '#api/http/input.ts'
import type { EventsReply } from '#api/http/reply.ts'
import { appendVary, sendNothing } from '#api/http/response.ts'
import { parameterReader } from '#api/http/route-path.ts'
import { sendStream } from '#api/http/send.ts'
import type { Caller } from '#core/account/caller.ts'
import { readsAverages } from '#core/catalog/list-state-query.ts'
import { becomeList, runInScope } from '#core/database/statement-scope.ts'
import { bufferOf } from '#core/foundation/byte-view.ts'
import { duringWork, noteWork } from '#core/foundation/current-work.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import { Semaphore } from '#core/foundation/semaphore.ts'
import { runExpecting } from '#core/metadata/expected-version-query.ts'
import type { ListState } from '#core/paging/list-state.ts'

/** All headers that may identify the caller. */
const CREDENTIAL_HEADERS = ['Authorization', 'Cookie', 'X-API-Key']
const SESSION_HEADER = 'X-Auth-Token'

interface HandlerOptions<Services> extends InputOptions {
  /** Aborts when the server begins to close. */
  draining: AbortSignal
  /** Aborts when it stops waiting for requests. */
  closing: AbortSignal
  /** The caller of the same credential now; null if it is not valid any more. */
  again: (caller: Caller) => Promise<Caller | null>
  /** The state of the catalog, for routes that depend on it. */
  readState: (caller: Caller) => Promise<ListState>
  /** The route that returns what this one edits, or of which it edits a part; null if there is none. */
  findReader: (route: Route<Services>) => AnyEndpoint<Services> | null
}

/** Turns routes, which are values, into functions that handle an exchange. */
export class Handlers<Services> {
  readonly #shared: Shared<Services>

  constructor(services: Services, options: HandlerOptions<Services>) {
    this.#shared = { services, options, memory: new AnswerMemory(), edits: new Semaphore(Number.POSITIVE_INFINITY, 1) }
  }

  /** @throws Error at once if the route is inconsistent */
  compile(route: Route<Services>): (exchange: Exchange<Services>) => Promise<void> {
    // Other sites can make a browser send the cookie, so it is accepted only for reading.
    if (route.allow.cookie && route.method !== 'GET') throw new Error(`${route.method} ${route.path}: the cookie is only for GET`)
    changesOf(route)
    const handler = new RouteHandler(route, this.#shared)
    return (exchange) => handler.handle(exchange)
  }
}

/** What the handlers of all routes share. */
interface Shared<Services> {
  services: Services
  options: HandlerOptions<Services>
  memory: AnswerMemory
  /** One at a time of each record: conditional edits, which compare and then change it. */
  edits: Semaphore
}

type SignedInCall<Services> = OpenCall<Services> & Call<Services>
type Input = Awaited<ReturnType<ReadInput>>

class RouteHandler<Services> {
  readonly #route: Route<Services>
  readonly #shared: Shared<Services>
  readonly #readPath
  readonly #vary: string
  readonly #isList: boolean
  // Compiled at the first request: compiling all routes would add a quarter of a second to the start, and most are never called.
  #readInput: ReadInput | null = null

  constructor(route: Route<Services>, shared: Shared<Services>) {
    this.#route = route
    this.#shared = shared
    this.#readPath = parameterReader(route.path)
    this.#isList = isList(route)
    this.#vary = ['Accept-Encoding', ...CREDENTIAL_HEADERS, ...(route.allow.session ? [SESSION_HEADER] : [])].join(', ')
  }

  async handle(exchange: Exchange<Services>): Promise<void> {
    const { services, options } = this.#shared
    const call = new OpenCall(services, exchange, options.closing)
    const scope = { owner: exchange.caller?.userId ?? exchange.address, signal: () => call.signal }
    const name = `${this.#route.method} ${this.#route.path} ${exchange.id}`
    // Returns an endless stream to its sender: it counts neither as work in progress nor as the scope of statements.
    const events = await duringWork('request', name, () => runInScope(scope, () => this.#answer(exchange, call)))
    if (events === null) return
    exchange.followsRights = events.followsRights ?? false
    const lifeMs = (exchange.caller?.endsAt ?? Number.POSITIVE_INFINITY) - Date.now()
    await sendEvents(exchange.response, events, options.draining, { lifeMs })
  }

  async #answer(exchange: Exchange<Services>, opened: OpenCall<Services>): Promise<EventsReply | null> {
    const route = this.#route
    checkAllowed(route.allow, exchange)
    // From here on only public routes have no caller, and their `run` accepts null.
    const call = opened as SignedInCall<Services>
    const { request } = exchange
    this.#readInput ??= compileInput(route, this.#shared.options)
    const input = await this.#readLate(this.#readInput, exchange, call)
    discardBody(request)
    noteWork()
    if (route.resolve) await route.resolve(call.services, input)
    if (route.before) {
      await route.before(call)
      // They belong to this response alone.
      call.setHeaders.length = 0
    }
    const asked = { exchange, call, input }
    if (route.dependsOn !== undefined) await this.#answerRemembered(asked)
    else if (route.kind === 'stream') return await this.#answerStream(route, asked)
    else if (route.method === 'GET') await this.#answerRead(route, asked)
    else await this.#answerChange(route, asked)
    return null
  }

  /** Reads the input. If its body came later than the headers, the caller may not be the one any more who sent those: this is refused before a wrong body. */
  async #readLate(readInput: ReadInput, exchange: Exchange<Services>, call: OpenCall<Services>): Promise<Input> {
    const { request } = exchange
    const isLate = !request.complete
    try {
      return await readInput(request, this.#readPath(request.params), exchange.rawQuery)
    } finally {
      if (isLate) await this.#authorizeAgain(exchange, call)
    }
  }

  /**
   * After a wait, such as for a body that came later than the headers: the credential may have ended, and the user may have fewer permissions.
   * @throws unauthorized, forbidden
   */
  async #authorizeAgain(exchange: Exchange<Services>, call: OpenCall<Services>): Promise<void> {
    if (exchange.caller === null) return
    exchange.caller = await this.#shared.options.again(exchange.caller)
    exchange.badCredential = exchange.caller === null
    call.caller = exchange.caller
    checkAllowed(this.#route.allow, exchange)
  }

  async #answerStream(route: AnyStream<Services>, { exchange, call, input }: Asked<Services>): Promise<EventsReply | null> {
    const { response } = exchange
    if (this.#isList) becomeList()
    const reply = await route.run(call, input)
    if (response.destroyed) return null
    // A browser may cache it: the next user of that browser may see less.
    if (route.allow.who !== 'public') appendVary(response, ...CREDENTIAL_HEADERS)
    if (route.allow.session) appendVary(response, SESSION_HEADER)
    if ('isAllowed' in reply) exchange.isAllowed = reply.isAllowed ?? null
    if (reply.kind === 'events') return reply
    await sendStream(response, reply)
    return null
  }

  /** Sends the answer that the caller got to the same request, if the catalog has not changed since. */
  async #answerRemembered({ exchange, call, input }: Asked<Services>): Promise<void> {
    const { memory, options } = this.#shared
    const { response } = exchange
    const state = await options.readState(call.caller)
    const key = requestKey(call.caller, { path: exchange.path, rawQuery: exchange.rawQuery, body: input.body })
    const known = memory.find(key, state)
    if (known !== null) {
      for (const [name, value] of known.headers) response.appendHeader(name, value)
      return await sendKnown(response, known, this.#vary)
    }
    call.listState = state
    const answer = await this.#answerAnew({ exchange, call, input })
    if (answer !== null && !call.isOfThisTime) memory.keep(key, state, answer, readsAverages())
  }

  async #answerAnew(asked: Asked<Services>): Promise<KnownAnswer | null> {
    const route = this.#route
    if (route.kind === 'endpoint') return await this.#answerRead(route, asked)
    if (this.#isList) becomeList()
    const reply = await route.run(asked.call, asked.input)
    if (reply.kind !== 'bytes' || reply.etag === undefined) throw new Error(`${route.path} returns nothing that can be remembered`)
    const { etag, bytes, mediaType } = reply
    const answer = { etag, bytes: bufferOf(bytes), gzipped: null, mediaType, headers: [] }
    await sendKnown(asked.exchange.response, answer, this.#vary)
    return answer
  }

  /** @returns the answer, if it is short enough to be kept */
  async #answerRead(route: AnyEndpoint<Services>, { exchange: { response }, call, input }: Asked<Services>): Promise<KnownAnswer | null> {
    if (this.#isList) becomeList()
    const value = await route.run(call, input)
    if (response.destroyed) return null
    noteWork()
    if (value === undefined) {
      sendNothing(response, 204)
      return null
    }
    const mediaType = call.mediaType ?? route.mediaTypes?.[0] ?? JSON_TYPE
    const encoded = await encodeJson(value)
    if (encoded.whole === null || route.statesTime || route.allow.who === 'public') {
      await sendEncoded(response, route.status ?? 200, encoded, mediaType)
      return null
    }
    const etag = etagOfAnswer(encoded.whole, route.versionOf?.(value) ?? null)
    const answer = { etag, bytes: encoded.whole, gzipped: null, mediaType, headers: call.setHeaders }
    await sendKnown(response, answer, this.#vary)
    return answer
  }

  async #answerChange(route: AnyEndpoint<Services>, { exchange, call, input }: Asked<Services>): Promise<void> {
    const { response } = exchange
    const value = await this.#change(route, { exchange, call, input })
    if (response.destroyed) return
    noteWork()
    if (value === undefined) sendNothing(response, 204)
    else await sendJson(response, call.hasCreated ? 201 : (route.status ?? 200), value, call.mediaType ?? route.mediaTypes?.[0])
  }

  /** Runs a change; with If-Match, only if the record is still the one that the client has read. */
  async #change(route: AnyEndpoint<Services>, asked: Asked<Services>): Promise<unknown> {
    const { call, input } = asked
    const reader = this.#shared.options.findReader(route)
    const expected = asked.exchange.request.headers['if-match']
    const isCompared = expected !== undefined && (route.method === 'PATCH' || route.method === 'PUT')
    if (isCompared && reader?.path !== route.path) {
      throw new AppError('precondition_failed', 'Nothing can be read at this address, so there is no version to compare. Omit If-Match.')
    }
    if (reader === null || reader.versionOf)
      return await (isCompared && reader ? this.#changeVersion(reader, asked, expected) : route.run(call, input))
    // A record without a version is compared with its content, so that nothing else may change it in between.
    const leave = await this.#shared.edits.enter(call.signal, { key: recordKey(reader.path, input.params) })
    try {
      await this.#authorizeAgain(asked.exchange, call)
      if (isCompared) await this.#compareContent(reader, asked, expected)
      return await route.run(call, input)
    } finally {
      leave()
    }
  }

  async #changeVersion(reader: AnyEndpoint<Services>, { call, input }: Asked<Services>, expected: string): Promise<unknown> {
    const version = reader.versionOf?.(await reader.run(call, { ...input, query: {} })) as string
    if (!expectsTag(expected, (tag) => tag.startsWith(`${version}.`))) throw new AppError('precondition_failed')
    const run = () => (this.#route as AnyEndpoint<Services>).run(call, input)
    return await (isAnyTag(expected) ? run() : runExpecting(version, run))
  }

  async #compareContent(reader: AnyEndpoint<Services>, { call, input }: Asked<Services>, expected: string): Promise<void> {
    const { whole } = await encodeJson(await reader.run(call, { ...input, query: {} }))
    const etag = whole && etagOfAnswer(whole, null)
    if (!expectsTag(expected, (tag) => tag === etag || tag === `${etag}-gzip`)) throw new AppError('precondition_failed')
  }
}

/** A request for an endpoint, with its input. */
interface Asked<Services> {
  exchange: Exchange<Services>
  call: SignedInCall<Services>
  input: Input
}

/** Lists and searches: routes whose answers depend on the catalog as a whole, or come in pages. */
const isList = ({ dependsOn, query }: Route<never>): boolean =>
  dependsOn !== undefined || 'page' in ((query as { properties?: object } | undefined)?.properties ?? {})

/** The same for all spellings of an address: ids are accepted in upper case too, and any letter may be percent-encoded. */
const recordKey = (path: string, params: unknown): string =>
  path.replaceAll(/:(\w+)/g, (_, name: string) => String((params as Record<string, unknown>)[name])).toLowerCase()

const NO_GOOD_CREDENTIAL = 'This token, key or password is invalid or has expired.'
const NO_KEY_AS_NAME = 'This is not a valid API key. Enter a complete Carrel API key as the user name; the password is ignored.'

function badCredentialMessage({ userHeader = false }: Allow): string {
  return userHeader ? NO_KEY_AS_NAME : NO_GOOD_CREDENTIAL
}

function checkAllowed(allow: Allow, { caller, badCredential, request }: Exchange<never>): void {
  if (allow.who === 'public') return
  if (caller === null && !allow.basic && /^basic\b/i.test(request.headers.authorization ?? ''))
    refuse(
      'unauthorized',
      'A user name with a password (HTTP Basic) is not accepted here. Send Authorization: Bearer with an access token or an API key, or X-API-Key.',
    )
  if (caller === null) refuse('unauthorized', badCredential ? badCredentialMessage(allow) : undefined)
  const needed = allow.who === 'user' ? [] : [allow.who, ...(allow.also ?? [])]
  const missing = needed.find((permission) => !caller.permissions.has(permission))
  if (missing !== undefined) refuse('forbidden', `This requires the permission ${missing}.`, { details: { permission: missing } })
}

/**
 * A class, because its `signal` is a getter: an object literal with a getter costs as much as the rest of the handler, and its hidden class, which
 * is as old as the first request, would keep the request in memory until a full collection.
 */
class OpenCall<Services> implements Call<Services, Caller | null> {
  caller: Caller | null
  readonly services: Services
  readonly requestId: string
  readonly address: string
  readonly origin: string | null
  readonly path: string
  readonly rawQuery: string
  hasCreated = false
  mediaType: string | undefined = undefined
  listState: ListState | undefined = undefined
  isOfThisTime = false
  /** Those that `setHeader` has set. */
  readonly setHeaders: [name: string, value: string][] = []
  readonly #response: ServerResponse
  readonly #closing: AbortSignal
  #signal: AbortSignal | undefined = undefined

  constructor(services: Services, exchange: Exchange<Services>, closing: AbortSignal) {
    this.caller = exchange.caller
    this.services = services
    this.requestId = exchange.id
    this.address = exchange.address
    this.origin = exchange.origin
    this.path = exchange.path
    this.rawQuery = exchange.rawQuery
    this.#response = exchange.response
    this.#closing = closing
  }

  /** Created on first use: most calls finish before their client could disconnect. */
  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      const gone = new AbortController()
      if (this.#response.destroyed) gone.abort()
      this.#response.once('close', () => gone.abort())
      this.#signal = AbortSignal.any([gone.signal, this.#closing])
    }
    return this.#signal
  }

  // The functions work without their object, too.
  cookie = (name: string) => readCookie(this.#response.req, name)
  header = (name: string) => this.#response.req.headers[name.toLowerCase()]?.toString() ?? null

  changesWithTime = () => {
    this.isOfThisTime = true
  }

  sendAs = (mediaType: string) => {
    this.mediaType = mediaType
  }

  created = (location?: string) => {
    this.hasCreated = true
    if (location !== undefined && !this.#response.headersSent) this.#response.setHeader('Location', location)
  }

  setHeader = (name: string, value: string) => {
    this.setHeaders.push([name, value])
    if (!this.#response.headersSent) this.#response.appendHeader(name, value)
  }
}
