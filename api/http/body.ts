import type { IncomingMessage } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { changedNumber } from '#api/http/changed-number.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import { escapePointer } from '#core/foundation/json-pointer.ts'
import { boundMarks } from '#core/foundation/text.ts'

/** Ordinary JSON bodies have kilobytes; the longest lists of ids stay below this. */
export const BODY_BYTES_MAX = 1_048_576
/** The longest lists of ids have some ten thousand values; a body of commas and digits could have half a million. */
const VALUES_MAX = 100_000
/** No valid body nests deeper, and later code may process it recursively. */
const DEPTH_MAX = 64
/** The steps of reading a larger one run in turns of the event loop: all of them take some 15 ms for a megabyte. */
const TURN_BYTES = 256 * 1024
/** How much of a refused body is still read and discarded, so that the client reads the answer. */
const DISCARD_BYTES_MAX = 16 * 1_048_576
const DISCARD_MS_MAX = 10_000

/** Bytes per second that a body needs on average: half of a connection for telephones. The largest body, a cover, may take ten minutes. */
export const BODY_RATE_MIN = 35_000

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i

const NONE: ReadonlySet<string> = new Set()

/**
 * Reads a JSON body. Returns undefined if there is none.
 * @param options.exact members whose combining marks are kept, such as passwords
 * @param options.exactNumbers members whose numbers must not have more digits than a double holds
 * @throws payload_too_large, unsupported_media_type, request_timeout, invalid_request (not JSON, not UTF-8, NUL or lone surrogates, too deep), invalid_value
 */
export async function readJsonBody(
  request: IncomingMessage,
  {
    exact = NONE,
    exactNumbers = [],
    ...limits
  }: { bytesMax: number; deadlineMs: number; exact?: ReadonlySet<string>; exactNumbers?: readonly string[] },
): Promise<unknown> {
  const { headers } = request
  const declared = headers['content-length']
  if (headers['transfer-encoding'] === undefined && (declared === undefined || Number(declared) === 0)) return undefined
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    refuse('unsupported_media_type', `Compressed bodies ("${encoding.slice(0, 40)}") are not accepted; send plain JSON.`)
  }
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) {
    refuse('unsupported_media_type', 'Send the body as JSON, with Content-Type: application/json.')
  }
  if (Number(declared ?? 0) > limits.bytesMax) refuseSize(limits.bytesMax)
  const bytes = await collect(request, limits)
  return bytes.length === 0 ? undefined : await parse(bytes, exact, exactNumbers)
}

/** Reads a whole body of any kind. @throws payload_too_large, unsupported_media_type, request_timeout, invalid_request (incomplete) */
export async function readBytesBody(request: IncomingMessage, limits: { bytesMax: number; deadlineMs: number }): Promise<Buffer> {
  const encoding = request.headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    refuse('unsupported_media_type', `Compressed bodies ("${encoding.slice(0, 40)}") are not accepted; send it uncompressed.`)
  }
  if (Number(request.headers['content-length'] ?? 0) > limits.bytesMax) refuseSize(limits.bytesMax)
  return await collect(request, limits)
}

/** Reads and discards the rest of a body for a limited time, then closes the connection. */
export function discardBody(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  let left = DISCARD_BYTES_MAX
  const timer = setTimeout(() => request.destroy(), DISCARD_MS_MAX).unref()
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) request.destroy()
  })
  request.once('close', () => clearTimeout(timer))
  request.once('end', () => clearTimeout(timer))
  request.resume()
}

/** @param limits.deadlineMs for the first byte, for a pause, and for the whole body beyond its time at the lowest rate */
function collect(request: IncomingMessage, { bytesMax, deadlineMs }: { bytesMax: number; deadlineMs: number }): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const begun = performance.now()
    let lastAt = begun
    const stop = (error?: unknown) => {
      clearTimeout(timer)
      request.off('data', onData).off('end', onEnd).off('error', stop).off('close', onClose)
      if (error === undefined) resolve(Buffer.concat(chunks, size))
      else reject(error)
    }
    const onData = (chunk: Buffer) => {
      size += chunk.length
      lastAt = performance.now()
      if (size <= bytesMax) chunks.push(chunk)
      else stop(tooLarge(bytesMax))
    }
    const onEnd = () => stop()
    const onClose = () => stop(new AppError('invalid_request', 'The body ended early.'))
    const look = () => {
      const leftMs = Math.min(lastAt, begun + (size / BODY_RATE_MIN) * 1000) + deadlineMs - performance.now()
      if (leftMs > 0) timer = setTimeout(look, leftMs)
      else stop(tooSlow(deadlineMs, size))
    }
    let timer = setTimeout(look, deadlineMs)
    request.on('data', onData).on('end', onEnd).on('error', stop).on('close', onClose)
  })
}

async function parse(bytes: Buffer, exact: ReadonlySet<string>, exactNumbers: readonly string[]): Promise<unknown> {
  const isLarge = bytes.length > TURN_BYTES
  refuseExcess(bytes)
  if (isLarge) await nextTurn()
  let text: string
  let value: unknown
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    value = JSON.parse(text)
  } catch (cause) {
    throw new AppError('invalid_request', cause instanceof SyntaxError ? 'The body is not valid JSON.' : 'The body is not valid UTF-8.', {
      cause,
    })
  }
  if (isLarge) await nextTurn()
  const given = exactNumbers.filter((name) => isGiven(value, name))
  if (given.length > 0) {
    refuseChangedNumber(text, given)
    if (isLarge) await nextTurn()
  }
  const checked = checkText(value, '', exact)
  if (isLarge) await nextTurn()
  return checked
}

const isGiven = (body: unknown, name: string): boolean => typeof body === 'object' && body !== null && Object.hasOwn(body, name)

/** A number that is stored with fewer digits would not come back as it was sent. */
function refuseChangedNumber(text: string, members: readonly string[]): void {
  const path = changedNumber(text, members)
  if (path === null) return
  refuse('invalid_value', 'A number in the body has more digits than a double holds (some 17) and would change; send it as a string.', {
    details: [{ path: shownPath(path), message: 'has more digits than a double holds' }],
  })
}

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT, COMMA] = Buffer.from('"\\[]{},')

/** Before parsing: a megabyte of brackets occupies the parser for half a second, this check takes a millisecond. */
function refuseExcess(bytes: Buffer): void {
  let depth = 0
  // One for itself, one before each comma, and the last of each list or object; an empty one counts as two.
  let values = 1
  let quoted = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) quoted = !quoted
    else if (quoted) at += byte === BACKSLASH ? 1 : 0
    else if (byte === COMMA) values += 1
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1
      values += 1
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1
    if (values > VALUES_MAX) refuse('invalid_request', `The body has more than ${VALUES_MAX} values.`)
    if (depth > DEPTH_MAX) refuse('invalid_request', `The body is nested deeper than ${DEPTH_MAX} levels.`)
  }
}

/**
 * PostgreSQL cannot store NUL, and a lone surrogate is not a character: both are refused here for every string and name. Runs of
 * combining marks are limited here too, for all code that normalizes or compares the text later.
 * @param exact members of this object whose texts are kept unchanged
 */
function checkText(value: unknown, path: string, exact: ReadonlySet<string>): unknown {
  if (typeof value === 'string') {
    refuseBadText(value, path)
    return boundMarks(value)
  }
  if (typeof value === 'number' && !Number.isFinite(value))
    refuse('invalid_request', 'A number in the body is too large to store.', {
      details: [{ path, message: 'must be between -1.8e308 and 1.8e308' }],
    })
  if (typeof value !== 'object' || value === null) return value
  const members = value as Record<string, unknown>
  for (const [key, member] of Object.entries(members)) {
    const below = `${path}/${escapePointer(key)}`
    refuseBadText(key, below)
    const checked = checkText(member, below, NONE)
    if (checked !== member && !exact.has(key)) members[key] = checked
  }
  return value
}

/** @throws invalid_request with the path of the text */
export function refuseBadText(text: string, path: string): void {
  if (!text.includes('\0') && text.isWellFormed()) return
  refuse('invalid_request', 'Text must not contain NUL characters or lone surrogates.', {
    details: [{ path: shownPath(path), message: 'contains a NUL character or a lone surrogate' }],
  })
}

const shownPath = (path: string): string => path.toWellFormed().replaceAll('\0', '\ufffd')

function tooSlow(deadlineMs: number, size: number): AppError {
  const seconds = Math.ceil(deadlineMs / 1000)
  return new AppError(
    'request_timeout',
    `The body arrived too slowly: ${size} bytes of it. It may pause for ${seconds} s and needs ${BODY_RATE_MIN / 1000} kB per second on average.`,
  )
}

function tooLarge(bytesMax: number): AppError {
  return new AppError('payload_too_large', `The body is larger than the limit of ${bytesMax} bytes.`)
}

function refuseSize(bytesMax: number): never {
  throw tooLarge(bytesMax)
}
