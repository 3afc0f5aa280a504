import type { Context } from '#core/conditions/context.ts'
import type { TitleRules } from '#core/conditions/title-rules.ts'

/** The result of a condition, rule by rule. */
export interface Explanation {
  passed: boolean
  rules: Record<string, unknown>[]
}

/**
 * Evaluates the rules of users: conditions, and patterns for titles. The composition root passes it, because it runs outside the main thread, where
 * a pattern can be stopped. All methods throw `unavailable` when too many calls wait, and `invalid_value` when evaluation takes too long.
 */
export interface Rules {
  /** @param path of the condition in the request, for the error details. @throws invalid_value */
  checkCondition(condition: unknown, path: string): Promise<void>
  /** @throws invalid_value */
  explain(condition: unknown, context: Context, path: string): Promise<Explanation>
  /** @throws invalid_value */
  passes(condition: unknown, context: Context): Promise<boolean>
  /** @throws invalid_value with the rule and the position of the first invalid pattern, or when all patterns together would take too long */
  checkTitleRules(rules: TitleRules): Promise<void>
  /** Each title after all rules, in order; skips invalid rules. */
  rewriteTitles(rules: unknown, titles: readonly string[]): Promise<string[]>
  /** One title after all rules, and how many of them changed it. */
  applyTitleRules(rules: unknown, title: string): Promise<{ title: string; applied: number }>
}
