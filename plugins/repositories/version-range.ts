import { compareVersions } from '#plugins/packages/upgrade.ts'

/** As long as any range that people write, with room. */
export const RANGE_LENGTH_MAX = 200
/** Conditions of one range; every one is compared with every version of a list. */
const CONDITIONS_MAX = 40

const NUMBER = '(?:0|[1-9]\\d{0,5})'
const PRE_RELEASE = '(?:0|[1-9]\\d{0,15}|\\d*[A-Za-z-][0-9A-Za-z-]*)'
/** Numbers from the right may be left out or be `x` or `*`; a pre-release stands only behind three. */
const CONDITION = new RegExp(
  `^(>=|<=|>|<|=|\\^|~)? *(?:[xX*]|(${NUMBER})(?:\\.[xX*]){0,2}|(${NUMBER})\\.(${NUMBER})(?:\\.[xX*])?|(${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-${PRE_RELEASE}(?:\\.${PRE_RELEASE})*)?))$`,
)
/** One condition with the space that may stand between its sign and its number. */
const WORDS = /(?:(?:>=|<=|>|<|=|\^|~) *)?[^ ]+/g

type Test = (version: string) => boolean
interface Condition {
  holds: Test
  /** The three numbers of a pre-release that it names, as text; null for any other. */
  preReleaseOf: string | null
}
/** Any of these, all of whose conditions hold. */
export type VersionRange = readonly (readonly Condition[])[]

/**
 * Reads a range of semantic versions as npm spells them: `^1.2`, `~1.2.3`, `>=1.0 <3`, `1.x || 2.0.0-rc.1`, `*`. Ranges with a hyphen in the middle
 * are not known. Answers null for what is none.
 */
export function readRange(text: string): VersionRange | null {
  if (text.length > RANGE_LENGTH_MAX || !/^[ -~]*$/.test(text)) return null
  const range: Condition[][] = []
  for (const side of text.split('||')) {
    const words = side.trim().match(WORDS)
    if (words === null) return null
    const all: Condition[] = []
    for (const word of words) {
      const read = readCondition(word)
      if (read === null) return null
      all.push(...read)
    }
    range.push(all)
  }
  return range.flat().length > CONDITIONS_MAX ? null : range
}

const at = (holds: (difference: number) => boolean, bound: string): Condition => {
  const dash = bound.indexOf('-')
  return {
    holds: (version) => holds(compareVersions(version, bound)),
    preReleaseOf: dash === -1 ? null : bound.slice(0, dash),
  }
}
const from = (bound: string) => at((difference) => difference >= 0, bound)
/** Up to the next number, whose pre-releases come before it and belong to it: `-0` is the first of them. */
const below = (bound: string): Condition => ({ ...at((difference) => difference < 0, `${bound}-0`), preReleaseOf: null })
/** Everything that begins so, its own pre-releases too. */
const startingAt = (bound: string): Condition => ({ ...from(`${bound}-0`), preReleaseOf: null })
const NEVER: Condition = { holds: () => false, preReleaseOf: null }

function readCondition(word: string): Condition[] | null {
  const match = CONDITION.exec(word.trim())
  if (match === null) return null
  const [, sign = '', onlyMajor, major, minor, full] = match
  if (full !== undefined) return readFull(sign, full)
  // What is left out stands for everything that begins so.
  const given = [onlyMajor ?? major, minor].filter((one) => one !== undefined).map(Number)
  const [first, second] = given
  if (first === undefined) return sign === '<' || sign === '>' ? [NEVER] : []
  const lower = `${first}.${second ?? 0}.0`
  const upper = second === undefined ? `${first + 1}.0.0` : `${first}.${second + 1}.0`
  if (sign === '>=') return [startingAt(lower)]
  if (sign === '>') return [startingAt(upper)]
  if (sign === '<') return [below(lower)]
  if (sign === '<=') return [below(upper)]
  // In front of a zero the second number is the one that says whether things break.
  return [startingAt(lower), below(sign === '^' && first > 0 ? `${first + 1}.0.0` : upper)]
}

function readFull(sign: string, full: string): Condition[] {
  const [major = 0, minor = 0, patch = 0] = (full.split('-', 1)[0] as string).split('.').map(Number)
  switch (sign) {
    case '>=':
      return [from(full)]
    case '>':
      return [at((difference) => difference > 0, full)]
    case '<=':
      return [at((difference) => difference <= 0, full)]
    case '<':
      return [at((difference) => difference < 0, full)]
    case '~':
      return [from(full), below(`${major}.${minor + 1}.0`)]
    case '^':
      return [from(full), below(major > 0 ? `${major + 1}.0.0` : minor > 0 ? `0.${minor + 1}.0` : `0.0.${patch + 1}`)]
    default:
      return [at((difference) => difference === 0, full)]
  }
}

/**
 * Whether a version lies within a range. A pre-release does so only where the range names one of the same three numbers, for nobody who says `^1.0`
 * wants to try what is not ready.
 * @param version a strict semantic version
 * @param options.preReleases takes them by their order alone, where the question is what is bad and not what is wanted
 */
export function satisfies(version: string, range: VersionRange, options: { preReleases?: boolean } = {}): boolean {
  const dash = version.indexOf('-')
  const core = dash === -1 ? null : version.slice(0, dash)
  return range.some(
    (conditions) =>
      conditions.every(({ holds }) => holds(version)) &&
      (core === null || options.preReleases === true || conditions.some(({ preReleaseOf }) => preReleaseOf === core)),
  )
}
