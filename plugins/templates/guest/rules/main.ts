import { compileCondition } from '#core/conditions/condition.ts'
import type { Context } from '#core/conditions/context.ts'
import { applyRules, checkTitleRules, rewriteSome } from '#core/conditions/title-rewriting.ts'
import type { TitleRules } from '#core/conditions/title-rules.ts'
import { AppError } from '#core/foundation/errors.ts'

/** Evaluates rules that people write, in an isolate. The server loads the built file, see build.mjs. */
declare function register(handlers: Record<string, (given: never) => unknown>): void

/** Returns a refusal as a value. */
function answering<Given>(work: (given: Given) => unknown) {
  return (given: Given) => {
    try {
      return { value: work(given) }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return { refused: { message: error.message, details: error.details } }
    }
  }
}

register({
  checkCondition: answering(({ condition, path }: { condition: unknown; path: string }) => {
    compileCondition(condition, path)
    return null
  }),
  explain: answering(({ condition, path, context }: { condition: unknown; path: string; context: Context }) =>
    compileCondition(condition, path).explain(context),
  ),
  passes: answering(({ condition, context }: { condition: unknown; context: Context }) => compileCondition(condition).passes(context)),
  checkTitleRules: answering(({ rules }: { rules: TitleRules }) => {
    checkTitleRules(rules)
    return null
  }),
  rewriteSome: answering(({ rules, titles }: { rules: unknown; titles: string[] }) => rewriteSome(rules, titles)),
  applyRules: answering(({ rules, title }: { rules: unknown; title: string }) => applyRules(rules, title)),
})
