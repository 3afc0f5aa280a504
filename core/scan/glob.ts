/**
 * The compiled patterns of one library: whether the entry `name` of a folder is excluded. `prefix` is the folder's path from the root with a trailing
 * slash, or empty. The walk does not enter excluded folders, so entries below them are never checked.
 */
export type Excludes = (prefix: string, name: string) => boolean

/** More than anyone writes by hand; each pattern costs a comparison per file. */
const PATTERNS_MAX = 200
const PATTERN_LENGTH_MAX = 1_000
/** `{a,b}{c,d}` multiplies; more than a hundred variants of one pattern are probably an error. */
const VARIANTS_MAX = 100
/** Each pair of braces is another pass over all variants. */
const BRACES_MAX = 50
/** Variants written out pair by pair, of all patterns together: empty choices create many variants without characters. */
const STEPS_MAX = 20_000
/** Characters of all variants together: every name of the library is compared with all of them. */
const EXPANDED_LENGTH_MAX = 100_000

type Token = { kind: 'text'; text: string } | { kind: 'any' } | { kind: 'star' } | { kind: 'class'; test: RegExp }
/** Tokens of one path segment; null is `**`. */
type Segment = Token[] | null

/**
 * Own code, because packages (picomatch, minimatch) create expressions that backtrack: `*a*a*b` takes 70 ms for one name of 255 characters, `*a*a*a*b` six
 * seconds, and a library has 100,000 names. Engines without backtracking do not support their look-aheads.
 *
 * Compiles newline-separated globs: `*`, `?`, `[a-z]`, `{a,b}` and `**`, ignoring case. A pattern without `/` matches a name at any depth,
 * one with `/` a path from the root.
 * @throws Error with a sentence for users if a pattern is invalid
 */
export function compileExcludes(text: string | null): Excludes {
  const lines = (text ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  if (lines.length > PATTERNS_MAX) throw new Error(`There are ${lines.length} exclusion patterns; at most ${PATTERNS_MAX} are allowed.`)
  const names: Token[][] = []
  const paths: Segment[][] = []
  let expanded = 0
  const work = { steps: 0 }
  for (const line of lines) {
    if (line.length > PATTERN_LENGTH_MAX) throw new Error(`An exclusion pattern is longer than ${PATTERN_LENGTH_MAX} characters.`)
    for (const variant of expandBraces(line, work)) {
      expanded += variant.length
      if (expanded > EXPANDED_LENGTH_MAX)
        throw new Error(`With their braces written out the exclusion patterns have more than ${EXPANDED_LENGTH_MAX} characters.`)
      const trimmed = withoutTrailingSlashes(variant)
      const bare = trimmed.replace(/^\/+/, '')
      if (!trimmed.includes('/')) names.push(readTokens(bare))
      else paths.push(bare.split('/').map((part) => (part === '**' ? null : readTokens(part))))
    }
  }
  if (names.length === 0 && paths.length === 0) return () => false
  return (prefix, name) => {
    const folded = name.toLowerCase()
    if (names.some((tokens) => matchesName(tokens, folded))) return true
    if (paths.length === 0) return false
    const parts = (prefix + name).toLowerCase().split('/')
    return paths.some((segments) => matchesPath(segments, parts))
  }
}

function withoutTrailingSlashes(text: string): string {
  let end = text.length
  while (text[end - 1] === '/') end--
  return text.slice(0, end)
}

function expandBraces(pattern: string, work: { steps: number }): string[] {
  if (pattern.split('{').length > BRACES_MAX + 1) throw new Error(`An exclusion pattern has more than ${BRACES_MAX} pairs of braces.`)
  let variants = [pattern]
  for (;;) {
    const next = variants.flatMap((variant) => {
      const match = /\{([^{}]*)\}/.exec(variant)
      if (!match) return [variant]
      const { index } = match
      return (match[1] as string).split(',').map((choice) => variant.slice(0, index) + choice + variant.slice(index + match[0].length))
    })
    if (next.length > VARIANTS_MAX) throw new Error(`The exclusion pattern "${pattern}" has more than ${VARIANTS_MAX} variants.`)
    work.steps += next.length
    if (work.steps > STEPS_MAX) throw new Error('The exclusion patterns have too many braces together: write fewer, or with fewer choices.')
    if (next.length === variants.length && next.every((variant, at) => variant === variants[at])) return variants
    variants = next
  }
}

function readTokens(segment: string): Token[] {
  const tokens: Token[] = []
  const text = [...segment.toLowerCase()]
  for (let at = 0; at < text.length; at++) {
    const char = text[at] as string
    const close = char === '[' ? text.indexOf(']', at + 2) : -1
    if (char === '*') {
      if (tokens.at(-1)?.kind !== 'star') tokens.push({ kind: 'star' })
    } else if (char === '?') tokens.push({ kind: 'any' })
    else if (close > 0) {
      const inside = text
        .slice(at + 1, close)
        .join('')
        .replace(/^!/, '^')
        .replace(/[\\\]]/g, '\\$&')
      try {
        tokens.push({ kind: 'class', test: new RegExp(`^[${inside}]$`, 'u') })
      } catch (error) {
        throw new Error(`The exclusion pattern "${segment}" has an invalid range: [${inside}].`, { cause: error })
      }
      at = close
    } else tokens.push({ kind: 'text', text: char })
  }
  return tokens
}

/** Greedy; backtracks only to the last star, so that no pattern takes more than length times length steps. */
function matchesName(tokens: readonly Token[], name: string): boolean {
  return matchesSequence(tokens, [...name], {
    isStar: (token) => token.kind === 'star',
    fits: (token, char) =>
      token.kind === 'any' || (token.kind === 'text' ? token.text === char : token.kind === 'class' && token.test.test(char)),
  })
}

function matchesPath(segments: readonly Segment[], parts: readonly string[]): boolean {
  return matchesSequence(segments, parts, {
    isStar: (segment) => segment === null,
    fits: (segment, part) => segment !== null && matchesName(segment, part),
  })
}

function matchesSequence<P, X>(
  pattern: readonly P[],
  items: readonly X[],
  rules: { isStar: (p: P) => boolean; fits: (p: P, x: X) => boolean },
): boolean {
  let at = 0
  let item = 0
  let star = -1
  let resume = 0
  while (item < items.length) {
    const token = pattern[at]
    if (token !== undefined && !rules.isStar(token) && rules.fits(token, items[item] as X)) {
      at += 1
      item += 1
    } else if (token !== undefined && rules.isStar(token)) {
      star = at
      at += 1
      resume = item
    } else if (star !== -1) {
      at = star + 1
      resume += 1
      item = resume
    } else return false
  }
  while (at < pattern.length && rules.isStar(pattern[at] as P)) at += 1
  return at === pattern.length
}
