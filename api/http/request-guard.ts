import { type Accepts, type Authentication, apiKeysOf, basicPasswordOf, userHeaderOf } from '#api/http/authentication.ts'
import { isSafeOrOwn, NOT_OWN_PAGE } from '#api/http/cross-site.ts'
import type { Exchange } from '#api/http/exchange.ts'
import { type Allowance, type Client, isExempt, type RateLimiter } from '#api/http/rate-limit.ts'
import type { Accounts } from '#core/account/accounts.ts'
import { addressGroup } from '#core/account/address.ts'
import { AppError } from '#core/foundation/errors.ts'

interface RequestGuardOptions {
  /** Null: no limits and no headers. */
  limiter: RateLimiter | null
  authentication: Authentication
  callers: Accounts['callers']
}

/** Authenticates every request and limits the request rate, before the route runs. */
export class RequestGuard {
  readonly #options: RequestGuardOptions

  constructor(options: RequestGuardOptions) {
    this.#options = options
  }

  /**
   * Whether checking this credential would query the database for an unknown key or password. Checking a token costs no query unless
   * this server has signed it.
   */
  #isGuess({ request }: Exchange<never>, accepts: Accepts): boolean {
    const password = accepts.basic ? basicPasswordOf(request) : null
    const name = accepts.userHeader ? userHeaderOf(request) : null
    const browser = accepts.browser ? this.#options.authentication.browserTokenOf(request) : null
    if (browser !== null && !this.#options.callers.knowsBrowserSession(browser)) return true
    return [...apiKeysOf(request), ...[password, name].filter((key) => key !== null)].some((key) => !this.#options.callers.knowsApiKey(key))
  }

  /** Finds the caller and counts the request. @throws rate_limit_exceeded, the errors of checking a password */
  async enter(exchange: Exchange<never>): Promise<void> {
    const { request, route } = exchange
    const exempt = isExempt(exchange.path)
    // The caller does not matter here, and finding it would let anybody query the database without a limit.
    if (exempt && (route === null || route.allow.who === 'public')) {
      if (this.#options.limiter) setHeaders(exchange, this.#options.limiter.peek(anonymous(exchange.address)))
      return
    }
    const { cookie = false, basic = false, session = false, userHeader = false } = route?.allow ?? {}
    const accepts: Accepts = { cookie, browser: isOwnApi(exchange), basic, session, userHeader }
    let unauthenticated = anonymous(exchange.address)
    if (this.#options.authentication.hasCredential(request, accepts)) {
      if (this.#isGuess(exchange, accepts)) {
        unauthenticated = { ...unauthenticated, kind: 'guessing' }
        const allowance = this.#options.limiter?.peek(unauthenticated)
        if (allowance?.allowed === false) refuseExcess(exchange, allowance)
      }
      try {
        exchange.caller = await this.#options.authentication.findCaller(request, accepts, exchange.address)
      } catch (error) {
        // A failed or throttled check counts as a request of this address.
        if (this.#options.limiter) setHeaders(exchange, this.#options.limiter.take(unauthenticated))
        throw error
      }
      exchange.badCredential = exchange.caller === null
    }
    this.#count(exchange, exempt, unauthenticated)
    const isBrowser = exchange.caller?.via === 'browser_session'
    if (isBrowser && !isSafeOrOwn({ method: request.method, headers: request.headers, own: exchange.origin }))
      throw new AppError('forbidden', NOT_OWN_PAGE)
  }

  /** Counts a request whose credential was checked. @throws rate_limit_exceeded */
  #count(exchange: Exchange<never>, exempt: boolean, unauthenticated: Client): void {
    if (!this.#options.limiter) return
    const client: Client = exchange.caller ? { kind: kindOf(exchange), id: exchange.caller.userId } : unauthenticated
    // Wrong guesses count everywhere; otherwise the exempt paths would allow unlimited guessing.
    const counts = !exempt || client.kind === 'guessing'
    const allowance = counts ? this.#options.limiter.take(client) : this.#options.limiter.peek(client)
    if (counts && !allowance.allowed) refuseExcess(exchange, allowance)
    setHeaders(exchange, allowance)
  }

  /** Counts a request that is refused before authentication. Never throws. */
  count(exchange: Exchange<never>): void {
    if (this.#options.limiter) setHeaders(exchange, this.#options.limiter.take(anonymous(exchange.address)))
  }

  /** The three rate limit headers, for responses that have no exchange. */
  headersOfAddress(address: string): [name: string, value: string][] {
    return this.#options.limiter ? headersOf(this.#options.limiter.peek(anonymous(address))) : []
  }
}

/** Whether the address belongs to our own API, all of which accepts the session of a browser. */
const isOwnApi = ({ mount, path }: Exchange<never>): boolean => mount === null && path.startsWith('/api/v1/')

/** Which requests of the caller a request counts among. Programs have the same limits whatever they ask for. */
const kindOf = ({ route, caller }: Exchange<never>): Client['kind'] =>
  route?.kind === 'stream' && route.rate === 'pictures' && caller?.via === 'browser_session' ? 'pictures' : 'authenticated'

function headersOf({ limit, remaining, resetSeconds }: Allowance): [name: string, value: string][] {
  return [
    ['X-RateLimit-Limit', String(limit)],
    ['X-RateLimit-Remaining', String(remaining)],
    ['X-RateLimit-Reset', String(resetSeconds)],
  ]
}

function setHeaders({ response }: Exchange<never>, allowance: Allowance): void {
  for (const [name, value] of headersOf(allowance)) response.setHeader(name, value)
}

function anonymous(address: string): Client {
  return { kind: 'anonymous', id: addressGroup(address) }
}

function refuseExcess(exchange: Exchange<never>, allowance: Allowance): never {
  setHeaders(exchange, allowance)
  throw new AppError('rate_limit_exceeded', undefined, { retryAfterSeconds: allowance.resetSeconds })
}
