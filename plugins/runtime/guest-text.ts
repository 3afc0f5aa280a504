import { jsonExcess } from '#plugins/packages/json-bounds.ts'
import type { CodePosition, CodeShare } from '#plugins/packages/source-map.ts'
import { GuestError, guestErrorCode } from './guest-error.ts'

/**
 * Parses untrusted texts from runners. A compromised runner can send anything, so checks by the code inside it do not
 * count here.
 */

/** For one UTF-16 unit. */
export const UTF8_BYTES_MAX = 3
/** Texts up to this length are parsed in this thread, in at most a millisecond; longer ones elsewhere. */
export const MAIN_LENGTH_MAX = 64 * 1024
/** Limits of the prelude: 4,096 and 8,192 characters for a failure, twice 2,048 for a line, each of which JSON may escape with six. */
export const FAILURE_LENGTH_MAX = 80_000
export const LINE_LENGTH_MAX = 32_000
/** Length of a field of a line, the limit of the prelude. */
const SAID_LENGTH_MAX = 2_048
/** No message is nested any deeper, so recursion is safe. */
const DEPTH_MAX = 100
/** Many times the values of any useful request or result; parsing more would block this thread. */
const VALUES_MAX = 50_000
export const JSON_BOUNDS = { depthMax: DEPTH_MAX, valuesMax: VALUES_MAX }

/** A name, an identifier or a number, with the JSON around it. */
const SHORT = 8_192
/** For texts to hash, a megabyte in total: each character may need two. */
const HASHED = 2_200_000
/** Maximum characters of a host call as JSON, by kind. */
export const REQUEST_LENGTHS: Readonly<Record<string, number>> = {
  // A body of a megabyte, of which each character may need two, and headers of 8 KB.
  fetch: 2_600_000,
  'auth.status': SHORT,
  'storage.get': SHORT,
  // A value of 256 K characters with its key.
  'storage.set': 270_000,
  'storage.delete': SHORT,
  'storage.list': SHORT,
  'library.entries': SHORT,
  sleep: SHORT,
  'crypto.digest': HASHED,
  'crypto.hmac': HASHED,
  'crypto.randomUUID': SHORT,
}

/** Total for all requests of one call: enough to rewrite the largest storage. */
export const REQUESTED_LENGTH_MAX = 24 * 1024 * 1024

export const requestLengthMax = (kind: unknown): number =>
  typeof kind === 'string' && Object.hasOwn(REQUEST_LENGTHS, kind) ? (REQUEST_LENGTHS[kind] as number) : SHORT

/** Validated JSON text: sent and stored as it is, without parsing. */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Parses a message of a guest, of any shape. */
export function readRecord(body: string): Record<string, unknown> {
  if (jsonExcess(body, JSON_BOUNDS) !== null) return {}
  try {
    const value: unknown = JSON.parse(body)
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** Parses a log line or progress: strings, no longer than the prelude makes them. */
export function readOutput(body: string): Record<string, unknown> {
  const said = body.length > LINE_LENGTH_MAX ? {} : readRecord(body)
  const textOf = (value: unknown) => (typeof value === 'string' ? value.slice(0, SAID_LENGTH_MAX) : undefined)
  return { ...said, level: textOf(said['level']), message: textOf(said['message']) ?? '', text: textOf(said['text']) }
}

/** The limit of the prelude. */
const MESSAGE_LENGTH_MAX = 4_096
/** Length of the code of an error: a word. */
const OWN_LENGTH_MAX = 64
/** A longer wait means that the service is unavailable for today. */
const RETRY_AFTER_SECONDS_MAX = 86_400

/** The limit of the prelude; the same number of bytes in UTF-8. */
const STACK_LENGTH_MAX = 8_192
export const STACK_BYTES_MAX = 4 * STACK_LENGTH_MAX
/** The limit of the prelude, which code can raise. */
const PLACES_MAX = 50
const PLACE = /^(\d{1,7}):(\d{1,7})\)?$/

/**
 * The positions in one file that a stack contains, such as `at search (org.example.echo.js:12:9)`.
 * @param stack untrusted, of any type
 */
function readPlaces(stack: unknown, file: string): CodePosition[] {
  if (typeof stack !== 'string') return []
  const places: CodePosition[] = []
  for (const line of stack.slice(0, STACK_LENGTH_MAX).split('\n')) {
    const at = line.lastIndexOf(`${file}:`)
    // The message precedes the positions, and may have several lines of any form.
    if (at === -1 || !line.startsWith('    at ')) continue
    const [, row, column] = PLACE.exec(line.slice(at + file.length + 1)) ?? []
    if (row !== undefined && Number(row) > 0 && Number(column) > 0) places.push({ line: Number(row), column: Number(column) })
    if (places.length === PLACES_MAX) break
  }
  return places
}

/** The limit of the runner. */
const PENDING_MAX = 16

/** Where timers that were pending at an answer were set: the positions of each, the innermost first. @param stacks untrusted, of any type */
export const readPendingTimers = (stacks: unknown, file: string): CodePosition[][] =>
  Array.isArray(stacks) ? stacks.slice(0, PENDING_MAX).map((stack) => readPlaces(stack, file)) : []

/** A host call without an answer, and where it was made. @param said untrusted, of any type */
export function readUnawaited(said: unknown, file: string): { id: unknown; places: CodePosition[] } | null {
  if (!Array.isArray(said)) return null
  const [id, stack]: unknown[] = said
  return { id, places: readPlaces(stack, file) }
}

/** Of the runner; and what a position or a number of bytes may be. */
const SHARES_MAX = 20
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0

/** Positions with their weights. @param shares untrusted, of any type */
function readShares(shares: unknown): CodeShare[] {
  if (!Array.isArray(shares)) return []
  return shares.slice(0, SHARES_MAX).flatMap((share: unknown) => {
    const [line, column, weight]: unknown[] = Array.isArray(share) ? share : []
    return isCount(line) && isCount(column) && isCount(weight) ? [{ line, column, weight }] : []
  })
}

/** The runner's message about an ended isolate, untrusted. */
export type SaidEnding = Record<'code' | 'message' | 'stack' | 'shares', unknown>

/** @param file the file name of its code */
export const readEnding = ({ code, message, stack, shares }: SaidEnding, file: string): GuestError =>
  new GuestError(
    guestErrorCode(code),
    typeof message === 'string' ? message : 'The sandbox was terminated.',
    null,
    null,
    readPlaces(stack, file),
    readShares(shares),
  )

/** The prelude's message about a failure; untrusted. @param file the file name of its code */
export function readFailure(body: string, file: string): GuestError {
  const { code, message, own, wait, stack } = readRecord(body)
  const retryAfterSeconds = typeof wait === 'number' && wait > 0 ? Math.min(wait, RETRY_AFTER_SECONDS_MAX) : null
  return new GuestError(
    guestErrorCode(code),
    typeof message === 'string' ? message.slice(0, MESSAGE_LENGTH_MAX) : '',
    typeof own === 'string' ? own.slice(0, OWN_LENGTH_MAX) : null,
    retryAfterSeconds,
    readPlaces(stack, file),
  )
}
