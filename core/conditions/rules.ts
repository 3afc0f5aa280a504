import type { Context } from '#core/conditions/context.ts'
import type { TitleRules } from '#core/conditions/title-rules.ts'

/** How a condition came out, rule by rule. */
export interface Explanation {
  passed: boolean
  rules: Record<string, unknown>[]
}

/**
 * Evaluates what people write as rules: conditions, and patterns for titles. Whoever opens the server gives it, for it runs where a pattern can be
 * stopped, beside the main thread. All methods throw `unavailable` when too much waits, and `invalid_value` for what takes too long.
 */
export interface Rules {
  /** @param path of the condition in the request, for the details of the refusal. @throws invalid_value */
  checkCondition(condition: unknown, path: string): Promise<void>
  /** @throws invalid_value */
  explain(condition: unknown, context: Context, path: string): Promise<Explanation>
  /** @throws invalid_value */
  passes(condition: unknown, context: Context): Promise<boolean>
  /** @throws invalid_value with the rule and the character of the first pattern that is none, or when all together would take too long */
  checkTitleRules(rules: TitleRules): Promise<void>
  /** Each title after all rules, in order; rules that are none are passed over. */
  rewriteTitles(rules: unknown, titles: readonly string[]): Promise<string[]>
  /** One title after all rules, and how many of them changed it. */
  applyTitleRules(rules: unknown, title: string): Promise<{ title: string; applied: number }>
}
