import { escapedLines } from '#core/foundation/stranger-text.ts'
import type { CodePosition, CodeShare } from '#plugins/packages/source-map.ts'

/**
 * Why a call into an isolate failed.
 * - `cpu`, `timeout`, `memory`: it exceeded that limit; the isolate is gone and a new one handles the next call
 * - `crash`: the runner died, or was killed because it did not respond
 * - `thrown`: the code threw; `own` is the code of its error
 * - `not_implemented`: the program has no such function
 * - `invalid_result`: the result cannot be serialized or is too large
 * - `invalid_argument`: the input is too large
 * - `load`: the program could not start
 * - `busy`: too many calls are queued
 * - `closed`: the server is stopping, or the program was removed
 */
type GuestErrorCode = (typeof CODES)[number]

const CODES = [
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
] as const

/** For the code `thrown`, `message` comes from inside the sandbox: untrusted text of at most 4,096 characters. */
export class GuestError extends Error {
  readonly code: GuestErrorCode
  readonly own: string | null
  /** The wait that a service requested; null without one. */
  readonly retryAfterSeconds: number | null
  /** Where in the code it was thrown, the innermost first; empty when unknown. Untrusted too. */
  readonly places: readonly CodePosition[]
  /** Of code that exceeded a limit: where it spent its CPU time, or allocated its memory; empty when unknown. Untrusted too. */
  readonly shares: readonly CodeShare[]
  /** CPU time that the failed call used, in milliseconds; 0 if unknown. */
  cpuMs = 0

  constructor(
    code: GuestErrorCode,
    message: string,
    own: string | null = null,
    retryAfterSeconds: number | null = null,
    places: readonly CodePosition[] = [],
    shares: readonly CodeShare[] = [],
  ) {
    // Escape codes in it must reach no terminal, whoever prints it; line ends are escaped where it becomes a part of a sentence.
    super(escapedLines(message))
    this.name = 'GuestError'
    this.code = code
    this.own = own
    this.retryAfterSeconds = retryAfterSeconds
    this.places = places
    this.shares = shares
  }
}

/** @param code of the error that the guest sees. @throws GuestError always */
export function refuseGuest(code: string, message: string): never {
  throw new GuestError('thrown', message, code)
}

/** Adds where code that exceeded a limit spent its time or allocated its memory. @param lines as in SourcePlaces */
export const withLines = ({ code, message }: Pick<GuestError, 'code' | 'message'>, lines: string): string =>
  lines === ''
    ? message
    : `${message} ${code === 'memory' ? 'What it kept was allocated by the functions at' : 'It spent its time at'} ${lines}.`

/** For an unhandled rejection during a call, which may succeed all the same. */
export const uncaughtMessage = (message: string): string => `Unhandled promise rejection: ${message}`

/** Validates a code from a runner, which is untrusted. */
export const guestErrorCode = (code: unknown): GuestErrorCode => CODES.find((known) => known === code) ?? 'crash'
