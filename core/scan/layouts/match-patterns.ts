import type { Rules } from '#core/conditions/rules.ts'
import { AppError, refuseValue } from '#core/foundation/errors.ts'
import { nameOfFolder } from '#core/scan/layouts/folder-name.ts'
import type { PatternGroups } from '#core/scan/layouts/place-book.ts'
import { patternsOf, type SeriesLayout } from '#core/scan/layouts/series-config.ts'

/** What a pattern may say about a book. */
const GROUPS = ['publisher', 'series', 'volume', 'chapter', 'number', 'title'] as const
/** Separates the groups in a rewritten text; no name of a file that can be stored holds it. */
const SEPARATOR = '\u0001'

/** The groups of a pattern that mean something. */
export const groupsIn = (pattern: string) => GROUPS.filter((group) => pattern.includes(`(?P<${group}>`) || pattern.includes(`(?<${group}>`))

/** A rule that rewrites a text to the groups of a match of its whole; a text without a match does not change. */
function ruleOf(pattern: string) {
  const groups = groupsIn(pattern)
  return {
    pattern: `^[\\s\\S]*?(?:${pattern})[\\s\\S]*$`,
    replacement: groups.map((group) => `${SEPARATOR}$<${group}>`).join(''),
  }
}

/**
 * Matches texts with a pattern; null for those without a match. Evaluated where patterns of people can be stopped, in linear time.
 */
export async function matchGroups(rules: Rules, pattern: string, texts: readonly string[]): Promise<PatternGroups[]> {
  const names = groupsIn(pattern)
  const rewritten = await rules.rewriteTitles([ruleOf(pattern)], texts)
  return rewritten.map((text) => {
    if (!text.startsWith(SEPARATOR)) return null
    const values = text.slice(1).split(SEPARATOR)
    return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']))
  })
}

/** Matches the paths or names of files with the patterns of a layout, the first of them that matches. Null for a layout without patterns. */
export async function matchPatterns(rules: Rules, layout: SeriesLayout, paths: readonly string[]): Promise<PatternGroups[] | null> {
  const given = patternsOf(layout)
  if (!given) return null
  const texts = given.of === 'path' ? paths : paths.map(nameOfFolder)
  const found: PatternGroups[] = texts.map(() => null)
  for (const pattern of given.patterns) {
    const open = [...found.keys()].filter((index) => found[index] === null)
    const groups = await matchGroups(
      rules,
      pattern,
      open.map((index) => texts[index] as string),
    )
    for (const [at, index] of open.entries()) found[index] = groups[at] ?? null
  }
  return found
}

/** @throws invalid_value when a pattern is no expression, has no group `series`, or needs too many steps */
export async function checkPatterns(rules: Rules, layout: SeriesLayout): Promise<void> {
  const given = patternsOf(layout)
  if (!given) return
  for (const [index, pattern] of given.patterns.entries()) {
    const path = given.of === 'path' ? '/seriesConfig/pattern' : `/seriesConfig/filenamePatterns/${index}`
    if (!groupsIn(pattern).includes('series'))
      refuseValue(path, `The pattern "${pattern}" has no group for the series: write (?P<series>…).`)
    await checkPattern(rules, pattern, path)
  }
}

/** @param path of the pattern in the request @throws invalid_value when it is no expression, or needs too many steps */
export async function checkPattern(rules: Rules, pattern: string, path: string): Promise<void> {
  try {
    await rules.checkTitleRules([{ ...ruleOf(pattern), pattern }])
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid_value') throw error
    refuseValue(path, error.message.replace(/ of title rule \d+/, ''))
  }
}
