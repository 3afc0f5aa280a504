import { briefText } from '#core/foundation/stranger-text.ts'
import { jsonExcess } from '#plugins/packages/json-bounds.ts'

/** More than the depth of a manifest or a list of files, so recursion over such a value is safe. */
const DEPTH_MAX = 20

/** The largest index of a repository, 5 MB, has two thirds of this. */
const VALUES_MAX = 300_000

/** Names, texts and brackets of a valid JSON text. */
const TOKENS = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[{}[\]]/g

/**
 * Parses untrusted JSON strictly. Refuses what parsers interpret differently: duplicate members, a byte order mark, `__proto__`; and what the
 * database cannot store: NUL and lone surrogates.
 * @param wrong throws an error; its message follows the name of the file
 */
export function readPlainJson(bytes: Uint8Array, wrong: (message: string) => never): unknown {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return wrong('it is not UTF-8 text')
  }
  if (text.startsWith('\ufeff')) wrong('it begins with a byte order mark; save it without one')
  // Before parsing.
  const excess = jsonExcess(text, { depthMax: Number.POSITIVE_INFINITY, valuesMax: VALUES_MAX })
  if (excess !== null) wrong(excess)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const { message } = error as Error
    // Both are allowed in tsconfig.json, from which people know them.
    const at = Number(/ at position (\d+)/.exec(message)?.[1] ?? text.length)
    const isKnown = text[at] === '/' || text.slice(0, at).trimEnd().endsWith(',')
    return wrong(
      `it is not valid JSON (${briefText(message)})${isKnown ? '; JSON has no comments, and no comma after the last member' : ''}`,
    )
  }
  /** The member names of every open object; null for an array. */
  const open: (Set<string> | null)[] = []
  for (const [token, quoted, colon] of text.matchAll(TOKENS)) {
    if (quoted === undefined) {
      if (token === '{') open.push(new Set())
      else if (token === '[') open.push(null)
      else open.pop()
      if (open.length > DEPTH_MAX) wrong(`it is nested deeper than ${DEPTH_MAX} levels`)
      continue
    }
    const plain = quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1)
    if (plain.includes('\0') || !plain.isWellFormed()) wrong('a text in it contains NUL or half a character')
    if (colon === undefined) continue
    const members = open.at(-1)
    if (plain === '__proto__') wrong('no member may be named "__proto__"')
    if (members?.has(plain)) wrong(`it has the member "${briefText(plain)}" twice`)
    members?.add(plain)
  }
  return value
}
