import { jsonExcess } from '#plugins/packages/json-bounds.ts'

/** As deep as a manifest or a list of files ever is, with room; whoever walks such a value afterwards may recurse. */
const DEPTH_MAX = 20

/** The largest index of a repository, 5 MB, has two thirds of them. */
const VALUES_MAX = 300_000

/** Names, texts and brackets of a JSON text that is known to be whole. */
const TOKENS = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[{}[\]]/g

/**
 * JSON from strangers. What readers understand differently is refused instead of read in one of the ways: a member given twice, a byte order mark,
 * `__proto__`; and so is what cannot be kept: NUL and halves of characters, which the database has no place for.
 * @param wrong throws, with what is wrong in words that go on after the name of the file
 */
export function readPlainJson(bytes: Uint8Array, wrong: (message: string) => never): unknown {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return wrong('it is no UTF-8 text')
  }
  if (text.startsWith('\ufeff')) wrong('it begins with a byte order mark; keep it without one')
  // Before anything is built of it.
  const excess = jsonExcess(text, { depthMax: Number.POSITIVE_INFINITY, valuesMax: VALUES_MAX })
  if (excess !== null) wrong(excess)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return wrong(`it is no JSON (${shown((error as Error).message)})`)
  }
  /** Names of the members of every object that is open; null stands for a list. */
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
    if (plain.includes('\0') || !plain.isWellFormed()) wrong('a text in it holds NUL or half a character')
    if (colon === undefined) continue
    const members = open.at(-1)
    if (plain === '__proto__') wrong('no member may be named "__proto__"')
    if (members?.has(plain)) wrong(`it has the member "${shown(plain)}" twice`)
    members?.add(plain)
  }
  return value
}

/** A stranger's text as it may stand in a message, on a terminal too: plain ASCII, not too long. */
export const shown = (text: string): string => text.slice(0, 100).replace(/[^ -~]/g, '?')
