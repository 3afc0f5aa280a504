/** The operators of a rule; those of the second list take no value. */
const VALUE_OPERATORS = [
  'equals',
  'not_equals',
  'gt',
  'gte',
  'lt',
  'lte',
  'contains',
  'not_contains',
  'starts_with',
  'ends_with',
  'matches',
  'in',
  'not_in',
] as const
export const PRESENCE_OPERATORS = ['is_null', 'is_not_null'] as const
export const RULE_OPERATORS = [...PRESENCE_OPERATORS, ...VALUE_OPERATORS] as const
export type Operator = (typeof RULE_OPERATORS)[number]

/** Deeper or larger than any rule editor produces. */
export const RULE_DEPTH_MAX = 10
export const RULES_MAX = 200
