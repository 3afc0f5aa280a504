import type { IncomingMessage } from 'node:http'
import passport, { type Strategy } from 'passport'
import custom from 'passport-custom'
import headerApiKey from 'passport-headerapikey'
import http from 'passport-http'
import { framework, reporting } from '#api/http/passport-framework.ts'
import type { Accounts } from '#core/account/accounts.ts'
import type { Caller } from '#core/account/caller.ts'

export const AUTH_COOKIE = 'auth_token'
/**
 * The cookie of the session of a browser. Behind TLS its name makes browsers refuse it from other hosts of the same domain, which could otherwise
 * sign a browser in to another person's account.
 */
export const sessionCookieName = (secure: boolean): string => (secure ? '__Host-carrel_session' : 'carrel_session')
/** Cookies of the session of a client app: while the app runs, and longer ("remember me"). Some apps send the session in the header instead. */
export const APP_SESSION_COOKIES = { running: 'KOMGA-SESSION', remembered: 'komga-remember-me' } as const
const APP_SESSION_HEADER = 'x-auth-token'
/** Marks a device that a user has signed in with before. It does not authenticate. */
export const DEVICE_COOKIE = 'carrel_device'
/** The longest lifetime that browsers accept for a cookie. */
const COOKIE_SECONDS_MAX = 400 * 86_400
/** Distinguishes API keys from tokens: a JWT never starts like this. */
const KEY_START = 'carrel_'

/** The kinds of credential that a route accepts. Every route accepts tokens and API keys. */
export interface Accepts {
  cookie: boolean
  /** Of a browser. */
  browser: boolean
  basic: boolean
  /** Of a client app. */
  session: boolean
  /** An API key sent as the user name, the only credential of some e-readers. */
  userHeader: boolean
}

/** Checks the credentials of requests by passport strategies without sessions. */
export class Authentication {
  readonly #strategies = new passport.Passport().framework(framework)
  readonly #kinds: readonly CredentialKind[]
  readonly #sessionCookie: string

  /** @param options.cookieSecure whether browsers reach the server through HTTPS alone */
  constructor(callers: Accounts['callers'], { cookieSecure }: { cookieSecure: boolean }) {
    this.#sessionCookie = sessionCookieName(cookieSecure)
    this.#kinds = kindsOf(callers, this.#sessionCookie)
    for (const { name, strategy } of this.#kinds) this.#strategies.use(name, reporting(strategy))
  }

  /** Null if the request has no credential that this route accepts, or an invalid one. @throws the errors of checking a password */
  async findCaller(request: IncomingMessage, accepts: Accepts, address: string): Promise<Caller | null> {
    const accepted = this.#kinds.filter(({ only }) => only === null || accepts[only])
    // A header is deliberate: the cookie that a browser adds does not replace an invalid header.
    const isExplicit = hasHeaderCredential(request)
    const checked = accepted.filter(({ only }) => !isExplicit || (only !== 'cookie' && only !== 'browser' && only !== 'session'))
    ;(request as Addressed)[ADDRESS] = address
    return new Promise((resolve, reject) => {
      const done = (error: unknown, user: unknown) => {
        if (error) reject(error)
        else resolve((user || null) as Caller | null)
      }
      const names = checked.map(({ name }) => name)
      this.#strategies.authenticate(names, { session: false }, done)(request)
    })
  }

  /** Whether the request has any credential that this route would check. */
  hasCredential(request: IncomingMessage, accepts: Accepts): boolean {
    return (
      hasHeaderCredential(request) ||
      (accepts.browser && this.browserTokenOf(request) !== null) ||
      (accepts.cookie && cookieOf(request) !== null) ||
      (accepts.session && appSessionsOf(request).length > 0) ||
      (accepts.userHeader && userHeaderOf(request) !== null)
    )
  }

  /** The token of a browser's session; null if the request has none, or a header that counts instead. */
  browserTokenOf(request: IncomingMessage): string | null {
    return hasHeaderCredential(request) ? null : readCookie(request, this.#sessionCookie)
  }
}

interface CredentialKind {
  name: string
  /** The kind is checked only for routes that accept it; null: for every route. */
  only: keyof Accepts | null
  strategy: Strategy
}

/** The kinds of credential in the order in which they are checked. */
const kindsOf = (callers: Accounts['callers'], sessionCookie: string): CredentialKind[] => [
  {
    name: 'bearer',
    only: null,
    strategy: found(bearerOf, (token) => (token.startsWith(KEY_START) ? callers.ofApiKey(token) : callers.ofToken(token, 'token'))),
  },
  {
    name: 'api-key',
    only: null,
    strategy: new headerApiKey.HeaderAPIKeyStrategy({ header: 'X-API-Key', prefix: '' }, false, (key, done) =>
      settle(callers.ofApiKey(key), done),
    ),
  },
  { name: 'user-header', only: 'userHeader', strategy: found(userHeaderOf, (key) => callers.ofApiKey(key)) },
  {
    name: 'browser',
    only: 'browser',
    strategy: found(
      (request) => readCookie(request, sessionCookie),
      (token) => callers.ofBrowserSession(token),
    ),
  },
  { name: 'cookie', only: 'cookie', strategy: found(cookieOf, (token) => callers.ofToken(token, 'cookie')) },
  { name: 'session', only: 'session', strategy: found(appSessionsOf, (tokens) => firstSession(callers, tokens)) },
  {
    name: 'basic',
    only: 'basic',
    strategy: new http.BasicStrategy({ realm: 'Carrel', passReqToCallback: true }, (request, username, _cut, done) => {
      // The strategy cuts a password at its first colon, which RFC 7617 allows in passwords.
      const password = basicPasswordOf(request) ?? ''
      const address = (request as Addressed)[ADDRESS] ?? ''
      settle(callers.ofBasic({ username, password, address, device: readCookie(request, DEVICE_COOKIE) }), done)
    }),
  },
]

/** A strategy for a credential that is found by `read`; null means that the request has none. */
const found = <Credential>(read: (request: IncomingMessage) => Credential | null, check: (given: Credential) => Promise<Caller | null>) =>
  new custom.Strategy((request, done) => {
    const given = read(request)
    if (given === null) done(null, false)
    else settle(check(given), done)
  })

/** The property of a request that holds the address of its client. Not a WeakMap, see `EXCHANGE` in api/server.ts. */
const ADDRESS = Symbol('address')
type Addressed = IncomingMessage & { [ADDRESS]?: string }

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

/** The API keys of a request. Two headers may have one; the second is checked when the first is invalid. */
export function apiKeysOf(request: IncomingMessage): string[] {
  const bearer = bearerOf(request)
  const header = request.headers['x-api-key']
  return [...(bearer?.startsWith(KEY_START) ? [bearer] : []), ...(typeof header === 'string' && header !== '' ? [header] : [])]
}

/** The app sessions of a request, from its header and then its cookies. The first valid one counts. */
function appSessionsOf(request: IncomingMessage): string[] {
  const header = request.headers[APP_SESSION_HEADER]
  if (typeof header === 'string' && header !== '') return [header]
  return Object.values(APP_SESSION_COOKIES).flatMap((name) => readCookie(request, name) ?? [])
}

/** The user name in the x-auth-user header, where e-readers send an API key; null if there is none. */
export function userHeaderOf(request: IncomingMessage): string | null {
  const header = request.headers['x-auth-user']
  return typeof header === 'string' && header !== '' ? header : null
}

/** The password or API key of HTTP Basic, or null. Tolerates any spelling of the scheme, as the strategy does. */
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

/** The value of a cookie; null if the request does not have it. */
export function readCookie(request: Pick<IncomingMessage, 'headers'>, cookieName: string): string | null {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [name = '', ...value] = pair.trim().split('=')
    if (name === cookieName) return value.join('=').replace(/^"(.*)"$/, '$1') || null
  }
  return null
}

/** The cookie with which a browser loads pictures and files: not readable by scripts, never sent from other sites. */
export function authCookie(token: string, { maxAgeSeconds, secure }: { maxAgeSeconds: number; secure: boolean }): string {
  return `${AUTH_COOKIE}=${token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${secure ? '; Secure' : ''}`
}

/**
 * The cookie of the session of a browser, for all of our own API; an empty token clears it. The server decides when the session ends, so the cookie lasts as
 * long as browsers allow.
 */
export function sessionCookie(token: string, { secure }: { secure: boolean }): string {
  const age = token === '' ? 0 : COOKIE_SECONDS_MAX
  return `${sessionCookieName(secure)}=${token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${age}${secure ? '; Secure' : ''}`
}

/** The cookie that identifies a known device at the next sign-in. Its path is `/`, because every address accepts passwords by HTTP Basic. */
export function deviceCookie(token: string, { secure }: { secure: boolean }): string {
  return `${DEVICE_COOKIE}=${token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${COOKIE_SECONDS_MAX}${secure ? '; Secure' : ''}`
}
