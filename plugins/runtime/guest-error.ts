import type { CodePlace } from '#plugins/packages/source-map.ts'

/**
 * Why a call into an isolate gave no result.
 * - `cpu`, `timeout`, `memory`: it broke that limit; the isolate is gone and a new one serves the next call
 * - `crash`: the runner died, or was killed because it did not answer
 * - `thrown`: the code threw; `own` is the code that it gave its error
 * - `not_implemented`: the program has no such function
 * - `invalid_result`: the result cannot be sent or is too large
 * - `invalid_argument`: what was to be sent is too large
 * - `load`: the program could not be started
 * - `busy`: too many calls wait already
 * - `closed`: the server is stopping, or the program was taken away
 */
export type GuestErrorCode =
  | 'cpu'
  | 'timeout'
  | 'memory'
  | 'crash'
  | 'thrown'
  | 'not_implemented'
  | 'invalid_result'
  | 'invalid_argument'
  | 'load'
  | 'busy'
  | 'closed'

const CODES = new Set<string>([
  'cpu',
  'timeout',
  'memory',
  'crash',
  'thrown',
  'not_implemented',
  'invalid_result',
  'invalid_argument',
  'load',
  'busy',
  'closed',
] satisfies GuestErrorCode[])

/** `message` comes from the other side of the sandbox where the code is `thrown`: text of a stranger, of 4,096 characters at most. */
export class GuestError extends Error {
  readonly code: GuestErrorCode
  readonly own: string | null
  /** How long a service asked to wait; null where nobody said. */
  readonly retryAfterSeconds: number | null
  /** Where in the code it was thrown, the innermost first; empty where nobody knows. The word of a stranger too. */
  readonly places: readonly CodePlace[]

  constructor(
    code: GuestErrorCode,
    message: string,
    own: string | null = null,
    retryAfterSeconds: number | null = null,
    places: readonly CodePlace[] = [],
  ) {
    super(message)
    this.name = 'GuestError'
    this.code = code
    this.own = own
    this.retryAfterSeconds = retryAfterSeconds
    this.places = places
  }
}

/** Of a promise that was rejected during a call, which may go well all the same. */
export const uncaughtMessage = (message: string): string => `A promise was rejected, and nothing waited for it: ${message}`

/** A code as it came from a runner, which is not to be trusted. */
export const guestErrorCode = (code: unknown): GuestErrorCode =>
  typeof code === 'string' && CODES.has(code) ? (code as GuestErrorCode) : 'crash'
