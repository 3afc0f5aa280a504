import { sendJson } from '#api/http/answer.ts'
import { readCookie } from '#api/http/authentication.ts'
import { discardBody } from '#api/http/body.ts'
import type { Allow, Call, Route } from '#api/http/endpoint.ts'
import { type EventsReply, sendEvents } from '#api/http/event-stream.ts'
import type { Exchange } from '#api/http/exchange.ts'
import { compileInput, type InputOptions, type ReadInput } from '#api/http/input.ts'
import { appendVary, sendNothing } from '#api/http/response.ts'
import { parameterReader } from '#api/http/route-path.ts'
import { sendStream } from '#api/http/send.ts'
import type { Caller } from '#core/account/caller.ts'
import { runInScope } from '#core/database/statement-scope.ts'
import { duringWork, noteWork } from '#core/foundation/current-work.ts'
import { refuse } from '#core/foundation/errors.ts'

/** All headers that may identify the caller. */
const CREDENTIAL_HEADERS = ['Authorization', 'Cookie', 'X-API-Key']

/** Turns routes, which are values, into functions that handle an exchange. */
interface Handlers<Services> {
  /**
   * @param ends.draining aborts when the server begins to close; ends.closing aborts when it stops waiting for requests
   * @throws Error at once if the route is inconsistent
   */
  compile(route: Route<Services>, ends: { draining: AbortSignal; closing: AbortSignal }): (exchange: Exchange<Services>) => Promise<void>
}

export function openHandlers<Services>(services: Services, options: InputOptions): Handlers<Services> {
  return {
    compile(route, { draining, closing }) {
      // Other sites can make a browser send the cookie, so it is accepted only for reading.
      if (route.allow.cookie && route.method !== 'GET') throw new Error(`${route.method} ${route.path}: the cookie is only for GET`)
      // At the first request: compiling all routes would add a quarter of a second to the start, and most are never called.
      let readInput: ReadInput | null = null
      const readPath = parameterReader(route.path)
      // Returns an endless stream to its sender: it counts neither as work in progress nor as the scope of statements.
      const answer = async (exchange: Exchange<Services>, opened: OpenCall<Services>): Promise<EventsReply | null> => {
        checkAllowed(route.allow, exchange)
        // From here on only public routes have no caller, and their `run` accepts null.
        const call = opened as SignedInCall<Services>
        const { request, response } = exchange
        readInput ??= compileInput(route, options)
        const input = await readInput(request, readPath(request.params), exchange.rawQuery)
        discardBody(request)
        noteWork()
        if (route.kind === 'stream') {
          const reply = await route.run(call, input)
          if (response.destroyed) return null
          // A browser may cache it: the next user of that browser may see less.
          if (route.allow.who !== 'public') appendVary(response, ...CREDENTIAL_HEADERS)
          if (route.allow.session) appendVary(response, 'X-Auth-Token')
          if (reply.kind === 'events') return reply
          await sendStream(response, reply)
          return null
        }
        const value = await route.run(call, input)
        if (response.destroyed) return null
        noteWork()
        if (value === undefined) sendNothing(response, 204)
        else await sendJson(response, call.hasCreated ? 201 : (route.status ?? 200), value, call.mediaType ?? route.mediaTypes?.[0])
        return null
      }
      return async (exchange) => {
        const events = await begin(exchange)
        if (events) await sendEvents(exchange.response, events, draining)
      }

      function begin(exchange: Exchange<Services>): Promise<EventsReply | null> {
        const call = openCall(services, exchange, closing)
        const scope = { owner: exchange.caller?.userId ?? exchange.address, signal: () => call.signal }
        const name = `${route.method} ${route.path} ${exchange.id}`
        return duringWork('request', name, () => runInScope(scope, () => answer(exchange, call)))
      }
    },
  }
}

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

interface OpenCall<Services> extends Call<Services, Caller | null> {
  hasCreated: boolean
  mediaType: string | undefined
}

type SignedInCall<Services> = OpenCall<Services> & Call<Services>

function openCall<Services>(services: Services, exchange: Exchange<Services>, closing: AbortSignal): OpenCall<Services> {
  const { response, caller, id, address, origin, path, rawQuery } = exchange
  let signal: AbortSignal | undefined
  return {
    caller,
    services,
    requestId: id,
    address,
    origin,
    path,
    rawQuery,
    cookie: (name) => readCookie(response.req, name),
    header: (name) => response.req.headers[name.toLowerCase()]?.toString() ?? null,
    // Created on first use: most calls finish before their client could disconnect.
    get signal() {
      if (signal === undefined) {
        const gone = new AbortController()
        if (response.destroyed) gone.abort()
        response.once('close', () => gone.abort())
        signal = AbortSignal.any([gone.signal, closing])
      }
      return signal
    },
    hasCreated: false,
    mediaType: undefined,
    sendAs(mediaType) {
      this.mediaType = mediaType
    },
    created(location) {
      this.hasCreated = true
      if (location !== undefined && !response.headersSent) response.setHeader('Location', location)
    },
    setHeader: (name, value) => {
      if (!response.headersSent) response.appendHeader(name, value)
    },
  }
}
