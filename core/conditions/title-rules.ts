import type { Static } from 'typebox'
import Type from 'typebox'
import { UNTRIMMED } from '#core/foundation/schema.ts'

/** More rules than anybody reads again. */
const RULES_MAX = 50
/** A pattern beyond this is a mistake in pasting; what it compiles to grows with it. */
const PATTERN_LENGTH_MAX = 500
const TitleRule = Type.Object(
  {
    pattern: Type.String({
      ...UNTRIMMED,
      minLength: 1,
      maxLength: PATTERN_LENGTH_MAX,
      description: 'A regular expression (RE2 syntax, linear in time).',
    }),
    replacement: Type.String({
      ...UNTRIMMED,
      maxLength: PATTERN_LENGTH_MAX,
      description: 'Put in place of every match; $1 for its first group.',
    }),
    description: Type.Optional(Type.Union([Type.String({ maxLength: PATTERN_LENGTH_MAX }), Type.Null()])),
    enabled: Type.Optional(Type.Boolean({ description: 'True unless said otherwise.' })),
  },
  { additionalProperties: false, title: 'TitleRule' },
)

/** What is done to the names of folders before they become titles of series, in order. */
export const TitleRules = Type.Array(TitleRule, { maxItems: RULES_MAX })
export type TitleRules = Static<typeof TitleRules>
