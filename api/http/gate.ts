import { type Accepts, type Authentication, apiKeyOf, hasCredential } from '#api/http/authentication.ts'
import type { Exchange } from '#api/http/exchange.ts'
import { type Allowance, type Client, isExempt, type RateLimiter } from '#api/http/rate-limit.ts'
import type { Accounts } from '#core/account/accounts.ts'
import { addressGroup } from '#core/account/address.ts'
import { CarrelError } from '#core/errors.ts'

/** What every request passes before its route: who is it, and has it asked too often? */
export interface Gate {
  /** Finds the caller and counts the request. @throws rate_limit_exceeded, what checking a password throws */
  enter(exchange: Exchange<never>): Promise<void>
  /** Counts a request that is refused before anything is known of it. Never refuses. */
  count(exchange: Exchange<never>): void
  /** The three headers for answers that have no request (spec 8: on all responses). */
  headersOfAddress(address: string): [name: string, value: string][]
}

/** @param parts.limiter null = no limits and no headers */
export function openGate(parts: { limiter: RateLimiter | null; authentication: Authentication; callers: Accounts['callers'] }): Gate {
  const { limiter, authentication, callers } = parts

  function anonymous(address: string): Client {
    return { kind: 'anonymous', id: addressGroup(address) }
  }

  /** An address that has used up its requests may not make us ask the database about keys and passwords we have never seen. */
  function refuseGuessing(exchange: Exchange<never>): void {
    const key = apiKeyOf(exchange.request)
    const costly = (key !== null && !callers.knowsApiKey(key)) || exchange.route?.allow.basic
    if (!limiter || !costly) return
    const allowance = limiter.peek(anonymous(exchange.address))
    if (allowance.allowed) return
    setHeaders(exchange, allowance)
    refuseRate(allowance)
  }

  return {
    async enter(exchange) {
      const { request, route } = exchange
      const exempt = isExempt(exchange.path)
      const accepts: Accepts = { cookie: route?.allow.cookie ?? false, basic: route?.allow.basic ?? false }
      if (hasCredential(request, accepts)) {
        if (!exempt) refuseGuessing(exchange)
        try {
          exchange.caller = await authentication.findCaller(request, accepts, exchange.address)
        } catch (error) {
          // A throttled or failed check is a request all the same, of this address.
          if (limiter) setHeaders(exchange, limiter.take(anonymous(exchange.address)))
          throw error
        }
        exchange.badCredential = exchange.caller === null
      }
      if (!limiter) return
      const client: Client = exchange.caller ? { kind: 'authenticated', id: exchange.caller.userId } : anonymous(exchange.address)
      const allowance = exempt ? limiter.peek(client) : limiter.take(client)
      setHeaders(exchange, allowance)
      if (!allowance.allowed && !exempt) refuseRate(allowance)
    },

    count(exchange) {
      if (limiter) setHeaders(exchange, limiter.take(anonymous(exchange.address)))
    },

    headersOfAddress: (address) => (limiter ? headersOf(limiter.peek(anonymous(address))) : []),
  }
}

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

function refuseRate({ resetSeconds }: Allowance): never {
  throw new CarrelError('rate_limit_exceeded', undefined, { retryAfterSeconds: resetSeconds })
}
