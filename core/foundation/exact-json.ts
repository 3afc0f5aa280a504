/**
 * JSON that is stored as a client sent it. A JavaScript number has about 17 digits, and JavaScript objects put members whose names look like indexes
 * before all others: values parsed here keep both the digits and the order, and `JSON.stringify` writes them unchanged.
 */

/** In the language since 2025; TypeScript's library does not declare it yet. */
const { rawJSON, isRawJSON } = JSON as unknown as { rawJSON(text: string): object; isRawJSON(value: unknown): boolean }

/** Whether a value parsed here is a number with more digits than a double holds. */
export const isExactNumber = (value: unknown): boolean => isRawJSON(value)

/** Whether two values parsed here have the same text, including the order of members. */
export const isSameText = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/**
 * Parses a JSON text.
 * @throws SyntaxError when it is not JSON
 */
export function readExactJson(text: string): unknown {
  JSON.parse(text)
  return readValue({ text, at: 0 })
}

/**
 * The text of a member of a JSON object, as written; of several members with the name, the last, like `JSON.parse`. Null when there is none.
 * @param text valid JSON
 */
export function memberText(text: string, wanted: string): string | null {
  const reader = { text, at: 0 }
  if (next(reader) !== '{') return null
  let found: string | null = null
  reader.at++
  if (next(reader) === '}') return null
  do {
    const name = readName(reader)
    next(reader)
    const start = reader.at
    skipValue(reader)
    if (name === wanted) found = text.slice(start, reader.at)
  } while (isMore(reader))
  return found
}

/** A JSON text and the position of the parser. */
interface Reader {
  text: string
  at: number
}

/** The first character after white space. */
function next(reader: Reader): string {
  const { text } = reader
  for (;;) {
    const sign = text[reader.at] ?? ''
    if (sign !== ' ' && sign !== '\n' && sign !== '\t' && sign !== '\r') return sign
    reader.at++
  }
}

/** Skips what follows a member: a comma, or the end. */
function isMore(reader: Reader): boolean {
  const isComma = next(reader) === ','
  reader.at++
  return isComma
}

function takeString(reader: Reader): string {
  const { text } = reader
  const start = reader.at++
  while (text[reader.at] !== '"') reader.at += text[reader.at] === '\\' ? 2 : 1
  return text.slice(start, ++reader.at)
}

/** A number, true, false or null. */
function takeWord(reader: Reader): string {
  const { text } = reader
  const start = reader.at
  while (reader.at < text.length && !' \n\t\r,:]}'.includes(text[reader.at] as string)) reader.at++
  return text.slice(start, reader.at)
}

/** The name of a member; skips the colon. */
function readName(reader: Reader): string {
  next(reader)
  const name = JSON.parse(takeString(reader)) as string
  next(reader)
  reader.at++
  return name
}

function readValue(reader: Reader): unknown {
  const first = next(reader)
  if (first === '{') return readObject(reader)
  if (first === '[') return readList(reader)
  if (first === '"') return JSON.parse(takeString(reader))
  const written = takeWord(reader)
  const value = JSON.parse(written) as unknown
  return typeof value === 'number' ? exactNumber(written, value) : value
}

function readList(reader: Reader): unknown[] {
  const list: unknown[] = []
  reader.at++
  if (next(reader) === ']') {
    reader.at++
    return list
  }
  do {
    list.push(readValue(reader))
  } while (isMore(reader))
  return list
}

function readObject(reader: Reader): object {
  const members = new Map<string, unknown>()
  reader.at++
  if (next(reader) === '}') {
    reader.at++
    return {}
  }
  do {
    const name = readName(reader)
    members.set(name, readValue(reader))
  } while (isMore(reader))
  return inOrder(members)
}

function skipValue(reader: Reader): void {
  let depth = 0
  do {
    const sign = next(reader)
    if (sign === '"') takeString(reader)
    else if ('{[]},:'.includes(sign)) {
      reader.at++
      if (sign === '{' || sign === '[') depth++
      else if (sign === '}' || sign === ']') depth--
    } else takeWord(reader)
  } while (depth > 0)
}

/** The number as written when a double cannot hold it. */
function exactNumber(written: string, value: number): unknown {
  const plain = String(value)
  return plain === written || digitsOf(written) === digitsOf(plain) ? value : rawJSON(written)
}

/** The same for all ways to write one number, such as 10, 1e1 and 10.0. */
function digitsOf(written: string): string {
  const sign = written.startsWith('-') ? '-' : ''
  const [mantissa = '', exponent = '0'] = written.slice(sign.length).toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const all = whole + fraction
  let first = 0
  while (all[first] === '0') first++
  let end = all.length
  while (end > first && all[end - 1] === '0') end--
  const power = Number(exponent) - fraction.length + (all.length - end)
  return first === end ? '0' : `${sign}${all.slice(first, end)}e${power}`
}

/** An object with these members, in their order even when names look like indexes. */
function inOrder(members: ReadonlyMap<string, unknown>): object {
  const object = Object.fromEntries(members)
  const names = [...members.keys()]
  return Object.keys(object).every((name, index) => name === names[index]) ? object : new Proxy(object, { ownKeys: () => [...names] })
}
