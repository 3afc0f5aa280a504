import { setImmediate as nextTurn } from 'node:timers/promises'
import { RE2JS, RE2JSSyntaxException } from 're2js'
import type { Static } from 'typebox'
import Type from 'typebox'
import { refuse } from '#core/errors.ts'
import { NAME_LENGTH_MAX } from '#core/metadata/limits.ts'

/** More rules than anybody reads again. */
const RULES_MAX = 50
/** A pattern beyond this is a mistake in pasting; what it compiles to grows with it. */
const PATTERN_LENGTH_MAX = 500
/**
 * Steps of all patterns together. A title costs their number times its length at most, however the patterns are written: with this many a
 * tenth of a second for the longest name of a folder. Patterns that people write have some ten to a hundred.
 */
const STEPS_MAX = 3_000
/** Titles are rewritten for this long before others have their turn. */
const TURN_MS = 10
/** Places that are tried to find where a pattern goes wrong. */
const PLACES_MAX = 10

const TitleRule = Type.Object(
  {
    pattern: Type.String({
      minLength: 1,
      maxLength: PATTERN_LENGTH_MAX,
      description: 'A regular expression (RE2 syntax, linear in time).',
    }),
    replacement: Type.String({ maxLength: PATTERN_LENGTH_MAX, description: 'Put in place of every match; $1 for its first group.' }),
    description: Type.Optional(Type.Union([Type.String({ maxLength: PATTERN_LENGTH_MAX }), Type.Null()])),
    enabled: Type.Optional(Type.Boolean({ description: 'True unless said otherwise.' })),
  },
  { additionalProperties: false },
)

/** What is done to the names of folders before they become titles of series, in order. */
export const TitleRules = Type.Array(TitleRule, { maxItems: RULES_MAX })
export type TitleRules = Static<typeof TitleRules>

/** @throws invalid_value with the rule and the character of the first pattern that is none, or when all together would take too long */
export function checkTitleRules(rules: TitleRules): void {
  let steps = 0
  rules.forEach(({ pattern }, index) => {
    const at = `/titlePreprocessingRules/${index}/pattern`
    try {
      steps += RE2JS.compile(pattern).programSize()
    } catch (error) {
      if (!(error instanceof RE2JSSyntaxException)) throw error
      const reason = `${error.error} at character ${placeOf(pattern, error) + 1}`
      refuse('invalid_value', `The pattern "${pattern}" of title rule ${index + 1} is no regular expression: ${reason}.`, {
        details: [{ path: at, message: reason }],
      })
    }
    if (steps <= STEPS_MAX) return
    const reason = `makes ${steps} steps of the patterns so far, of which there may be ${STEPS_MAX}: repeat less, or use fewer rules`
    refuse('invalid_value', `The pattern of title rule ${index + 1} ${reason}.`, { details: [{ path: at, message: reason }] })
  })
}

/**
 * Index of the character where a pattern goes wrong. The engine tells only the part that it does not take, which may stand in other places too
 * where there is nothing wrong with it: it is the first one up to which the pattern is refused for that reason.
 */
function placeOf(pattern: string, wrong: RE2JSSyntaxException): number {
  if (wrong.error === 'missing closing )') return pattern.length
  const part = wrong.error === 'unexpected )' ? ')' : (wrong.input ?? '')
  let place = pattern.indexOf(part)
  for (let tries = 0; tries < PLACES_MAX && place !== -1; tries++) {
    try {
      RE2JS.compile(pattern.slice(0, place + part.length))
    } catch (error) {
      if (error instanceof RE2JSSyntaxException && error.error === wrong.error) return place
    }
    place = pattern.indexOf(part, place + 1)
  }
  return Math.max(0, pattern.indexOf(part))
}

/** The rules as one function; whatever would leave nothing of a title leaves it as it was. Rules that are none any more are passed over. */
export function compileTitleRules(rules: unknown): (title: string) => string {
  const steps = (Array.isArray(rules) ? (rules as TitleRules) : []).flatMap((rule) => {
    try {
      return rule.enabled === false ? [] : [{ pattern: RE2JS.compile(rule.pattern), replacement: rule.replacement }]
    } catch {
      return []
    }
  })
  if (steps.length === 0) return (title) => title
  return (title) => {
    let changed = title
    for (const { pattern, replacement } of steps) changed = cut(pattern.matcher(changed).replaceAll(replacement))
    return changed.replace(/\s+/g, ' ').trim() || title
  }
}

/** As {@link compileTitleRules}, for many titles: whatever the rules cost, the server answers others between two of them. */
export async function rewriteTitles(rules: unknown, titles: readonly string[]): Promise<string[]> {
  const rewrite = compileTitleRules(rules)
  const rewritten: string[] = []
  let turn = performance.now()
  for (const title of titles) {
    if (performance.now() - turn > TURN_MS) {
      await nextTurn()
      turn = performance.now()
    }
    rewritten.push(rewrite(title))
  }
  return rewritten
}

/** What a title may hold, without half of a character at its end. */
const cut = (title: string) => (title.length <= NAME_LENGTH_MAX ? title : title.slice(0, NAME_LENGTH_MAX).replace(/[\ud800-\udbff]$/, ''))
