import { jsonExcess } from '#plugins/packages/json-bounds.ts'
import type { CodePlace } from '#plugins/packages/source-map.ts'
import { GuestError, guestErrorCode } from './guest-error.ts'

/**
 * What runners send, read as what it is: texts of strangers. A runner that was overcome says what it likes, so nothing that the code inside has
 * checked counts for anything here.
 */

/** Of one UTF-16 unit. */
export const UTF8_BYTES_MAX = 3
/** Of one text that this thread parses: a millisecond at most. Longer ones are read beside it. */
export const MAIN_LENGTH_MAX = 64 * 1024
/** As the prelude cuts them: 4,096 and 8,192 characters of a failure, twice 2,048 of a line, each of which JSON may need six for. */
export const FAILURE_LENGTH_MAX = 80_000
export const LINE_LENGTH_MAX = 32_000
/** Of a word or a text that a line says, as the prelude cuts them. */
const SAID_LENGTH_MAX = 2_048
/** Nothing that is said is nested any deeper, and whoever walks it may recurse. */
const DEPTH_MAX = 100
/** Many times what a request or a result of use holds; what is built of more keeps this thread from everybody else. */
const VALUES_MAX = 50_000
export const JSON_BOUNDS = { depthMax: DEPTH_MAX, valuesMax: VALUES_MAX }

/** A name, an identifier or a number, with what surrounds them. */
const SHORT = 8_192
/** Of texts that are hashed, a megabyte together: each character may need two. */
const HASHED = 2_200_000
/** Characters of a request as JSON, by what it asks for. */
export const REQUEST_LENGTHS: Readonly<Record<string, number>> = {
  // A body of a megabyte, of which each character may need two, and headers of 8 KB.
  fetch: 2_600_000,
  'auth.status': SHORT,
  'storage.get': SHORT,
  // A value of 256 K characters and its key.
  'storage.set': 270_000,
  'storage.delete': SHORT,
  'storage.list': SHORT,
  'library.entries': SHORT,
  sleep: SHORT,
  'crypto.digest': HASHED,
  'crypto.hmac': HASHED,
  'crypto.randomUUID': SHORT,
}

/** Of all requests of one call: the whole of the largest storage, written anew. */
export const REQUESTED_LENGTH_MAX = 24 * 1024 * 1024

export const requestLengthMax = (kind: unknown): number =>
  typeof kind === 'string' && Object.hasOwn(REQUEST_LENGTHS, kind) ? (REQUEST_LENGTHS[kind] as number) : SHORT

/** JSON that is known to be JSON: it is sent and stored as it stands, and nobody builds a value of it. */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** What a guest sent, of whatever shape. */
export function readRecord(body: string): Record<string, unknown> {
  if (jsonExcess(body, JSON_BOUNDS) !== null) return {}
  try {
    const value: unknown = JSON.parse(body)
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** A line of a log, or word of progress: texts are texts, and no longer than the prelude makes them. */
export function readSaid(body: string): Record<string, unknown> {
  const said = body.length > LINE_LENGTH_MAX ? {} : readRecord(body)
  const textOf = (value: unknown) => (typeof value === 'string' ? value.slice(0, SAID_LENGTH_MAX) : undefined)
  return { ...said, level: textOf(said['level']), message: textOf(said['message']) ?? '', text: textOf(said['text']) }
}

/** As the prelude cuts them. */
const MESSAGE_LENGTH_MAX = 4_096
/** Of the code that a failure gives itself: a word. */
const OWN_LENGTH_MAX = 64
/** Whoever says more means that it is over for today. */
const RETRY_AFTER_SECONDS_MAX = 86_400

/** As the prelude cuts them; so many bytes in UTF-8. */
const STACK_LENGTH_MAX = 8_192
export const STACK_BYTES_MAX = 4 * STACK_LENGTH_MAX
/** V8 gives ten unless somebody has asked for more. */
const PLACES_MAX = 10
const PLACE = /^(\d{1,7}):(\d{1,7})\)?$/

/**
 * The places of one file that a stack names, such as `at search (org.example.echo.js:12:9)`.
 * @param stack whatever was said to be one
 */
export function readPlaces(stack: unknown, file: string): CodePlace[] {
  if (typeof stack !== 'string') return []
  const places: CodePlace[] = []
  for (const line of stack.slice(0, STACK_LENGTH_MAX).split('\n')) {
    const at = line.lastIndexOf(`${file}:`)
    // The message stands above the places, and may have several lines that look like anything.
    if (at === -1 || !line.startsWith('    at ')) continue
    const [, row, column] = PLACE.exec(line.slice(at + file.length + 1)) ?? []
    if (row !== undefined && Number(row) > 0 && Number(column) > 0) places.push({ line: Number(row), column: Number(column) })
    if (places.length === PLACES_MAX) break
  }
  return places
}

/** What a runner says of an isolate that has ended. @param file the name that its code ran by */
export const readEnding = ({ code, message, stack }: Record<'code' | 'message' | 'stack', unknown>, file: string): GuestError =>
  new GuestError(
    guestErrorCode(code),
    typeof message === 'string' ? message : 'The sandbox was ended.',
    null,
    null,
    readPlaces(stack, file),
  )

/** What the prelude says of a failure; it is the guest's word. @param file the name that its code runs by */
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
