import { setImmediate as nextTurn } from 'node:timers/promises'

/** As long one slice may keep the event loop: ten of them are still not felt. */
const SLICE_MS = 10
/** Bytes of one chunk: enough that few are made, few enough that making one is a matter of a millisecond. */
const CHUNK_LENGTH = 256 * 1024
/** The answer, its `data`, the records in it. */
const DEPTH_MAX = 2

/** A part of an answer that is JSON already. */
class WrittenJson {
  readonly chunks: readonly Buffer[]
  constructor(chunks: readonly Buffer[]) {
    this.chunks = chunks
  }
}

/**
 * Writes a part of an answer before the rest is there: the text needs a fifth of the memory of what it was made of, which a list of 500 large records
 * need not hold at once. @returns what stands for the value in an answer, and for nothing else
 */
export async function writeAhead<Value>(value: Value): Promise<Value> {
  return new WrittenJson(await jsonChunks(value)) as unknown as Value
}

/**
 * A value as JSON in chunks, with turns of the event loop between them: 500 records of half a megabyte each take seconds to write, in which
 * everybody else would wait. Lists and objects are taken apart to a depth of two, which is where the lists of answers stand.
 * Answers what `JSON.stringify` would, for values made of plain data.
 */
export async function jsonChunks(value: unknown): Promise<Buffer[]> {
  const chunks: Buffer[] = []
  let text = ''
  let begun = performance.now()

  const flush = () => {
    if (text !== '') chunks.push(Buffer.from(text))
    text = ''
  }

  async function write(part: unknown, depth: number): Promise<void> {
    if (part instanceof WrittenJson) {
      flush()
      chunks.push(...part.chunks)
      return
    }
    if (depth < DEPTH_MAX && isPlain(part)) return await writeMembers(part, depth)
    // Undefined stands in lists only, where it is null.
    text += JSON.stringify(part) ?? 'null'
    if (text.length >= CHUNK_LENGTH) flush()
    if (performance.now() - begun < SLICE_MS) return
    flush()
    await nextTurn()
    begun = performance.now()
  }

  async function writeMembers(part: unknown[] | Record<string, unknown>, depth: number): Promise<void> {
    const isList = Array.isArray(part)
    text += isList ? '[' : '{'
    let first = true
    for (const [name, member] of isList ? part.entries() : Object.entries(part)) {
      if (!isList && (member === undefined || typeof member === 'function')) continue
      text += `${first ? '' : ','}${isList ? '' : `${JSON.stringify(name)}:`}`
      first = false
      await write(member, depth + 1)
    }
    text += isList ? ']' : '}'
  }

  await write(value, 0)
  flush()
  return chunks
}

function isPlain(value: unknown): value is unknown[] | Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype) &&
    !('toJSON' in value)
  )
}
