import type { Static } from 'typebox'
import Type from 'typebox'
import { Nullable, UNTRIMMED } from '#core/foundation/schema.ts'

/** More rules than anybody maintains. */
const RULES_MAX = 50
/** A longer pattern was probably pasted by accident; its compiled size grows with its length. */
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
      description: 'Replaces every match; $1 for its first group.',
    }),
    description: Type.Optional(Nullable(Type.String({ maxLength: PATTERN_LENGTH_MAX }))),
    enabled: Type.Optional(Type.Boolean({ description: 'True by default.' })),
  },
  { additionalProperties: false, title: 'TitleRule' },
)

/** Rules that change the names of folders before they become titles of series, in order. */
export const TitleRules = Type.Array(TitleRule, { maxItems: RULES_MAX })
export type TitleRules = Static<typeof TitleRules>
