import { setImmediate as nextTurn } from 'node:timers/promises'
import { waitAnew } from '#core/database/statement-scope.ts'

/** How long one slice may occupy the event loop; ten of them are not noticeable. */
const SLICE_MS = 10
/** Bytes of one chunk: large enough to make few of them, small enough to encode one within a millisecond. */
const CHUNK_LENGTH = 256 * 1024
/** Characters per piece: each costs a turn of the microtask queue, more than writing a short record. */
const PIECE_LENGTH = 8 * 1024
/** The answer, its `data`, and the records in it. */
const DEPTH_MAX = 2

/** Longer answers are written in parts: a turn of the event loop for each costs more than writing a short one. */
const SHORT_VALUES_MAX = 4_000
const SHORT_CHARACTERS_MAX = 128 * 1024

/** A list that is read while it is written. */
class StreamedList {
  readonly parts: () => AsyncIterable<readonly unknown[]>
  constructor(parts: () => AsyncIterable<readonly unknown[]>) {
    this.parts = parts
  }
}

/**
 * A list of records too large to hold in memory: each part is read when those before it have been sent.
 * @param size records of one part; as many as can be read and written within a few turns of the event loop
 * @param read if it fails, the response ends in the middle, which the client notices
 * @returns a placeholder for the list in an answer; it works nowhere else
 */
export function streamedList<Key, Value>(keys: readonly Key[], size: number, read: (part: Key[]) => Promise<readonly Value[]>): Value[] {
  async function* parts() {
    for (let start = 0; start < keys.length; start += size) {
      waitAnew()
      yield await read(keys.slice(start, start + size))
    }
  }
  // It is not the list that it stands for in the type of an answer; `piecesOf` alone looks at it.
  return new StreamedList(parts) as unknown as Value[]
}

/**
 * Encodes a value as JSON in chunks, with turns of the event loop between them: 500 records of a quarter of a megabyte each take seconds, which would
 * block all other requests. Lists and objects are split to a depth of two, which covers the lists of answers.
 * Gives the same text as `JSON.stringify` for plain data and {@link streamedList}.
 */
export async function* jsonChunks(value: unknown): AsyncGenerator<Buffer> {
  let begun = performance.now()
  let text = ''
  for await (const piece of piecesOf(value, 0)) {
    text += piece
    if (text.length < CHUNK_LENGTH && performance.now() - begun < SLICE_MS) continue
    yield Buffer.from(text)
    text = ''
    await nextTurn()
    begun = performance.now()
  }
  if (text !== '') yield Buffer.from(text)
}

/** A value as JSON, if that takes less than a millisecond; else null. */
export const shortJson = (value: unknown): Buffer | null =>
  isShort(value, { values: SHORT_VALUES_MAX, characters: SHORT_CHARACTERS_MAX }) ? Buffer.from(written(value)) : null

async function* piecesOf(value: unknown, depth: number): AsyncGenerator<string> {
  if (value instanceof StreamedList) yield* listPieces(value)
  else if (!isTakenApart(value, depth)) yield written(value)
  else if (Array.isArray(value)) yield* arrayPieces(value, depth)
  else {
    let opening = '{'
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined || typeof member === 'function') continue
      yield `${opening}${JSON.stringify(name)}:`
      yield* piecesOf(member, depth + 1)
      opening = ','
    }
    yield opening === '{' ? '{}' : '}'
  }
}

async function* arrayPieces(members: readonly unknown[], depth: number): AsyncGenerator<string> {
  let text = '['
  for (const [index, member] of members.entries()) {
    if (index > 0) text += ','
    if (isTakenApart(member, depth + 1)) {
      yield text
      text = ''
      yield* piecesOf(member, depth + 1)
    } else text += written(member)
    if (text.length < PIECE_LENGTH) continue
    yield text
    text = ''
  }
  yield `${text}]`
}

async function* listPieces(list: StreamedList): AsyncGenerator<string> {
  let opening = '['
  for await (const part of list.parts()) {
    for (const record of part) {
      yield opening + JSON.stringify(record)
      opening = ','
    }
  }
  yield opening === '[' ? '[]' : ']'
}

/** Whether a value and all that it contains are within what is left. Stops at the first that is too much. */
function isShort(value: unknown, left: { values: number; characters: number }): boolean {
  left.values--
  if (typeof value === 'string') left.characters -= value.length
  if (left.values < 0 || left.characters < 0 || value instanceof StreamedList) return false
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) {
    for (const member of value) if (!isShort(member, left)) return false
    return true
  }
  for (const name in value) {
    left.characters -= name.length
    if (!isShort((value as Record<string, unknown>)[name], left)) return false
  }
  return true
}

/** Undefined occurs in lists only, where JSON has null. */
const written = (value: unknown): string => JSON.stringify(value) ?? 'null'

function isTakenApart(value: unknown, depth: number): value is StreamedList | readonly unknown[] | Record<string, unknown> {
  return value instanceof StreamedList || (depth < DEPTH_MAX && (Array.isArray(value) || isPlain(value)))
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype && !('toJSON' in value)
}
