import { RE2JS } from 're2js'
import type { Static } from 'typebox'
import Type from 'typebox'
import { refuse } from '#core/errors.ts'

/** More rules than anybody reads again. */
const RULES_MAX = 50
/** A pattern beyond this is a mistake in pasting; what it compiles to grows with it. */
const PATTERN_LENGTH_MAX = 500
const TITLE_LENGTH_MAX = 1_000

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

/** @throws invalid_value with the place of the first pattern that is none */
export function checkTitleRules(rules: TitleRules): void {
  rules.forEach(({ pattern }, index) => {
    try {
      RE2JS.compile(pattern)
    } catch (error) {
      const path = `/titlePreprocessingRules/${index}/pattern`
      const reason = (error as Error).message
      refuse('invalid_value', `The pattern "${pattern}" of title rule ${index + 1} is no regular expression: ${reason}.`, {
        details: [{ path, message: reason }],
      })
    }
  })
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
    for (const { pattern, replacement } of steps) changed = pattern.matcher(changed).replaceAll(replacement).slice(0, TITLE_LENGTH_MAX)
    return changed.replace(/\s+/g, ' ').trim() || title
  }
}
