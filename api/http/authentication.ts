import type { IncomingMessage } from 'node:http'
import passport from 'passport'
import custom from 'passport-custom'
import headerApiKey from 'passport-headerapikey'
import http from 'passport-http'
import type { Accounts } from '#core/account/accounts.ts'
import type { Caller } from '#core/account/caller.ts'

export const AUTH_COOKIE = 'auth_token'
/** The session of a reader app, for as long as that runs and for longer, and the header in which some send it. */
export const APP_SESSION_COOKIES = { running: 'KOMGA-SESSION', remembered: 'komga-remember-me' } as const
const APP_SESSION_HEADER = 'x-auth-token'
/** Says that somebody has signed in with this device before; it lets nobody in. */
export const DEVICE_COOKIE = 'carrel_device'
/** As long as browsers keep a cookie at most. */
const DEVICE_SECONDS = 400 * 86_400
/** Keys are told from tokens by this: a JWT never begins so. */
const KEY_START = 'carrel_'

/** What kinds of credential a route takes. Tokens and API keys are taken everywhere. */
export interface Accepts {
  cookie: boolean
  basic: boolean
  /** Of a reader app. */
  session: boolean
  /** An API key as the name of a user, which is all that some e-readers send. */
  userHeader: boolean
}

export interface Authentication {
  /** Null when the request carries no credential that counts here, or a bad one. @throws what checking a password throws */
  findCaller(request: IncomingMessage, accepts: Accepts, address: string): Promise<Caller | null>
}

/** Bearer token or API key, X-API-Key, cookie and Basic, in this order, as passport strategies without sessions. */
export function openAuthentication(callers: Accounts['callers']): Authentication {
  return new HttpAuthentication(callers)
}

class HttpAuthentication implements Authentication {
  readonly #strategies = new passport.Passport()
  readonly #addresses = new WeakMap<IncomingMessage, string>()

  constructor(callers: Accounts['callers']) {
    this.#strategies.use(
      'bearer',
      new custom.Strategy((request, done) => {
        const token = bearerOf(request)
        if (token === null) done(null, false)
        else settle(token.startsWith(KEY_START) ? callers.ofApiKey(token) : callers.ofToken(token, 'token'), done)
      }),
    )
    this.#strategies.use(
      'api-key',
      new headerApiKey.HeaderAPIKeyStrategy({ header: 'X-API-Key', prefix: '' }, false, (key, done) => settle(callers.ofApiKey(key), done)),
    )
    this.#strategies.use(
      'user-header',
      new custom.Strategy((request, done) => {
        const key = userHeaderOf(request)
        if (key === null) done(null, false)
        else settle(callers.ofApiKey(key), done)
      }),
    )
    this.#strategies.use(
      'cookie',
      new custom.Strategy((request, done) => {
        const token = cookieOf(request)
        if (token === null) done(null, false)
        else settle(callers.ofToken(token, 'cookie'), done)
      }),
    )
    this.#strategies.use(
      'session',
      new custom.Strategy((request, done) => {
        settle(firstSession(callers, appSessionsOf(request)), done)
      }),
    )
    this.#strategies.use(
      'basic',
      new http.BasicStrategy({ realm: 'Carrel', passReqToCallback: true }, (request, username, _cut, done) => {
        // The strategy cuts passwords at their first colon; RFC 7617 lets them have some.
        const password = basicPasswordOf(request) ?? ''
        settle(
          callers.ofBasic({ username, password, address: this.#addresses.get(request) ?? '', device: readCookie(request, DEVICE_COOKIE) }),
          done,
        )
      }),
    )
  }

  async findCaller(request: IncomingMessage, accepts: Accepts, address: string): Promise<Caller | null> {
    const names = [
      ...['bearer', 'api-key', ...(accepts.userHeader ? ['user-header'] : [])],
      ...[...(accepts.cookie ? ['cookie'] : []), ...(accepts.session ? ['session'] : []), ...(accepts.basic ? ['basic'] : [])],
    ]
    // A client that sends a header means that one: a cookie that the browser added does not replace a bad one.
    const explicit = hasHeaderCredential(request) ? names.filter((name) => name !== 'cookie' && name !== 'session') : names
    this.#addresses.set(request, address)
    return new Promise((resolve, reject) => {
      const done = (error: unknown, user: unknown) => {
        if (error) reject(error)
        else resolve((user || null) as Caller | null)
      }
      this.#strategies.authenticate(explicit, { session: false }, done)(request, null, reject)
    })
  }
}

function settle(found: Promise<Caller | null>, done: (error: unknown, user?: unknown) => void) {
  found.then((caller) => done(null, caller ?? false), done)
}

async function firstSession(callers: Accounts['callers'], tokens: readonly string[]): Promise<Caller | null> {
  for (const token of tokens) {
    const caller = await callers.ofAppSession(token)
    if (caller !== null) return caller
  }
  return null
}

/** Whether the request shows any credential that this route would look at. */
export function hasCredential(request: IncomingMessage, accepts: Accepts): boolean {
  return (
    hasHeaderCredential(request) ||
    (accepts.cookie && cookieOf(request) !== null) ||
    (accepts.session && appSessionsOf(request).length > 0) ||
    (accepts.userHeader && userHeaderOf(request) !== null)
  )
}

/** The API keys a request carries. There are two places for one, and when the first is no good the second is looked at. */
export function apiKeysOf(request: IncomingMessage): string[] {
  const bearer = bearerOf(request)
  const header = request.headers['x-api-key']
  return [...(bearer?.startsWith(KEY_START) ? [bearer] : []), ...(typeof header === 'string' && header !== '' ? [header] : [])]
}

/** The sessions of reader apps that a request shows, the first good one of which counts: in the header of its own, else in a cookie. */
function appSessionsOf(request: IncomingMessage): string[] {
  const header = request.headers[APP_SESSION_HEADER]
  if (typeof header === 'string' && header !== '') return [header]
  return Object.values(APP_SESSION_COOKIES).flatMap((name) => readCookie(request, name) ?? [])
}

/** What a request says as the name of its user in a header of its own, where an API key belongs; null where it says nothing. */
export function userHeaderOf(request: IncomingMessage): string | null {
  const header = request.headers['x-auth-user']
  return typeof header === 'string' && header !== '' ? header : null
}

/** The password, or API key, of a request by HTTP Basic, or null. The strategy is not strict about the scheme, so neither is this. */
export function basicPasswordOf(request: IncomingMessage): string | null {
  const { authorization } = request.headers
  if (authorization === undefined || bearerOf(request) !== null) return null
  const text = Buffer.from(authorization.split(' ')[1] ?? '', 'base64').toString()
  return text.slice(text.indexOf(':') + 1)
}

function hasHeaderCredential(request: IncomingMessage): boolean {
  const { authorization } = request.headers
  return (authorization !== undefined && authorization !== '') || apiKeysOf(request).length > 0
}

function bearerOf(request: IncomingMessage): string | null {
  return /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1] ?? null
}

const cookieOf = (request: IncomingMessage): string | null => readCookie(request, AUTH_COOKIE)

/** What a request has under a cookie's name; null where it has none. */
export function readCookie(request: Pick<IncomingMessage, 'headers'>, wanted: string): string | null {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [name = '', ...value] = pair.trim().split('=')
    if (name === wanted) return value.join('=').replace(/^"(.*)"$/, '$1') || null
  }
  return null
}

/** The cookie that lets pictures and files be shown by a browser: never readable by scripts, never sent from other sites. */
export function authCookie(token: string, { maxAgeSeconds, secure }: { maxAgeSeconds: number; secure: boolean }): string {
  return `${AUTH_COOKIE}=${token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${secure ? '; Secure' : ''}`
}

/** The cookie by which a device is known when its user signs in again: sent to where passwords are taken, which is everywhere with HTTP Basic. */
export function deviceCookie(token: string, { secure }: { secure: boolean }): string {
  return `${DEVICE_COOKIE}=${token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${DEVICE_SECONDS}${secure ? '; Secure' : ''}`
}
