import { setImmediate as nextTurn } from 'node:timers/promises'

/** As long one slice may keep the event loop: ten of them are still not felt. */
const SLICE_MS = 10
/** Bytes of one chunk: enough that few are made, few enough that making one is a matter of a millisecond. */
const CHUNK_LENGTH = 256 * 1024
/** Characters that are handed on at once: each piece costs a turn of the microtask queue, which is more than writing a short record. */
const PIECE_LENGTH = 8 * 1024
/** The answer, its `data`, the records in it. */
const DEPTH_MAX = 2

/** A list of an answer that is read while it is written. */
class ListInParts {
  readonly parts: () => AsyncIterable<readonly unknown[]>
  constructor(parts: () => AsyncIterable<readonly unknown[]>) {
    this.parts = parts
  }
}

/**
 * A list of records too large to be held at once: each part is read when those before it are on their way to the client.
 * @param size records of one part; as many as are read and written within a few turns of the event loop
 * @param read may fail: then the answer ends in the middle, which its client notices
 * @returns what stands for the list in an answer, and for nothing else
 */
export function listInParts<Key, Value>(keys: readonly Key[], size: number, read: (part: Key[]) => Promise<readonly Value[]>): Value[] {
  async function* parts() {
    for (let start = 0; start < keys.length; start += size) yield await read(keys.slice(start, start + size))
  }
  return new ListInParts(parts) as unknown as Value[]
}

/**
 * A value as JSON in chunks, with turns of the event loop between them: 500 records of a quarter of a megabyte each take seconds to write, in which
 * everybody else would wait. Lists and objects are taken apart to a depth of two, which is where the lists of answers stand.
 * Gives what `JSON.stringify` would, for values made of plain data and of {@link listInParts}.
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

async function* piecesOf(value: unknown, depth: number): AsyncGenerator<string> {
  if (value instanceof ListInParts) yield* listPieces(value)
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

async function* listPieces(list: ListInParts): AsyncGenerator<string> {
  let opening = '['
  for await (const part of list.parts()) {
    for (const record of part) {
      yield opening + JSON.stringify(record)
      opening = ','
    }
  }
  yield opening === '[' ? '[]' : ']'
}

/** Undefined stands in lists only, where it is null. */
const written = (value: unknown): string => JSON.stringify(value) ?? 'null'

function isTakenApart(value: unknown, depth: number): value is ListInParts | readonly unknown[] | Record<string, unknown> {
  return value instanceof ListInParts || (depth < DEPTH_MAX && (Array.isArray(value) || isPlain(value)))
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype && !('toJSON' in value)
}
