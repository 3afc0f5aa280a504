import { RE2JS, RE2JSSyntaxException } from 're2js'
import type { TitleRules } from '#core/conditions/title-rules.ts'
import { NAME_LENGTH_MAX } from '#core/fields/limits.ts'
import { refuse } from '#core/foundation/errors.ts'

/**
 * Steps of all patterns together. A title costs their number times its length at most, for any patterns: with this many, a
 * tenth of a second for the longest folder name. Patterns that people write have about ten to a hundred.
 */
const STEPS_MAX = 3_000
/** Steps times characters of one call: a quarter of a second. */
const WORK_MAX = 2_000_000
/** How many positions are tried to find the error in a pattern. */
const POSITIONS_MAX = 10

/** @throws invalid_value with the rule and the position of the first invalid pattern, or when all patterns together would take too long */
export function checkTitleRules(rules: TitleRules): void {
  let steps = 0
  rules.forEach(({ pattern }, index) => {
    const at = `/titlePreprocessingRules/${index}/pattern`
    try {
      steps += RE2JS.compile(pattern).programSize()
    } catch (error) {
      if (!(error instanceof RE2JSSyntaxException)) throw error
      const reason = `${error.error} at character ${positionOf(pattern, error) + 1}`
      refuse('invalid_value', `The pattern "${pattern}" of title rule ${index + 1} is not a regular expression: ${reason}.`, {
        details: [{ path: at, message: reason }],
      })
    }
    if (steps <= STEPS_MAX) return
    const reason = `brings the patterns to ${steps} steps, more than the limit of ${STEPS_MAX}: use less repetition, or fewer rules`
    refuse('invalid_value', `The pattern of title rule ${index + 1} ${reason}.`, { details: [{ path: at, message: reason }] })
  })
}

/**
 * Index of the character where a pattern is invalid. The engine names only the part that it rejects, which may also occur in other places
 * where it is valid: the position is the first one up to which the pattern is rejected for that reason.
 */
function positionOf(pattern: string, wrong: RE2JSSyntaxException): number {
  if (wrong.error === 'missing closing )') return pattern.length
  const part = wrong.error === 'unexpected )' ? ')' : (wrong.input ?? '')
  let position = pattern.indexOf(part)
  for (let tries = 0; tries < POSITIONS_MAX && position !== -1; tries++) {
    try {
      RE2JS.compile(pattern.slice(0, position + part.length))
    } catch (error) {
      if (error instanceof RE2JSSyntaxException && error.error === wrong.error) return position
    }
    position = pattern.indexOf(part, position + 1)
  }
  return Math.max(0, pattern.indexOf(part))
}

/** The rules as one function; rules that would leave nothing of a title do not change it. Skips rules that are no longer valid. */
export function compileTitleRules(rules: unknown): ((title: string) => string) & { steps: number } {
  const steps = (Array.isArray(rules) ? (rules as TitleRules) : []).flatMap((rule) => {
    try {
      return rule.enabled === false ? [] : [{ pattern: RE2JS.compile(rule.pattern), replacement: rule.replacement }]
    } catch {
      return []
    }
  })
  const rewrite = (title: string) => {
    if (steps.length === 0) return title
    let changed = title
    for (const { pattern, replacement } of steps) changed = cut(pattern.matcher(changed).replaceAll(replacement))
    return changed.replace(/\s+/g, ' ').trim() || title
  }
  return Object.assign(rewrite, { steps: steps.reduce((sum, { pattern }) => sum + pattern.programSize(), 0) })
}

/**
 * Rewrites titles until the steps of the rules times the characters reach {@link WORK_MAX}; always at least the first title.
 * Only the program in the isolate that evaluates rules calls this.
 * @returns the rewritten titles, from the first on
 */
export function rewriteSome(rules: unknown, titles: readonly string[]): string[] {
  const rewrite = compileTitleRules(rules)
  const rewritten: string[] = []
  let work = 0
  for (const title of titles) {
    work += (title.length + 1) * rewrite.steps
    if (rewritten.length > 0 && work > WORK_MAX) break
    rewritten.push(rewrite(title))
  }
  return rewritten
}

/** One title through all rules, and how many of them changed it. */
export function applyRules(rules: unknown, title: string): { title: string; applied: number } {
  let [text, applied] = [title, 0]
  for (const rule of Array.isArray(rules) ? rules : []) {
    const changed = compileTitleRules([rule])(text)
    if (changed !== text) applied++
    text = changed
  }
  return { title: text, applied }
}

/** Cuts a title to its limit without splitting a character. */
const cut = (title: string) => (title.length <= NAME_LENGTH_MAX ? title : title.slice(0, NAME_LENGTH_MAX).replace(/[\ud800-\udbff]$/, ''))
