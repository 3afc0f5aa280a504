import type { Knex } from 'knex'
import type { TObject } from 'typebox'
import { Errors } from 'typebox/value'
import type { SeriesStrategy } from '#core/catalog/library.ts'
import type { Rules } from '#core/conditions/rules.ts'
import { FIRST_ID } from '#core/database/each-by-id.ts'
import { refuse, refuseValue } from '#core/foundation/errors.ts'
import { listArrangedBooks } from '#core/scan/layouts/arrange-store.ts'
import { checkPatterns, matchPatterns } from '#core/scan/layouts/match-patterns.ts'
import { layoutOf, patternsOf, SERIES_CONFIGS, type SeriesLayout } from '#core/scan/layouts/series-config.ts'

/** Shown of one wrong configuration. */
const ERRORS_MAX = 5

/** Ids are random, and so are the books with the lowest ones: of a pattern for one of a hundred files, some match. */
const MATCHED_MAX = 2_000

/** A library without books may get a pattern for those to come. @throws invalid_value when patterns match no book of the library */
export async function checkMatches(
  { database, rules }: { database: Knex; rules: Rules },
  library: { id: string; path: string },
  layout: SeriesLayout,
): Promise<void> {
  const given = patternsOf(layout)
  if (!given) return
  const books = await listArrangedBooks(database, library, { after: FIRST_ID, limit: MATCHED_MAX })
  const paths = books.map(({ path }) => path)
  const groups = await matchPatterns(rules, layout, paths)
  if (books.length === 0 || groups?.some((one) => one !== null)) return
  const member = layout.strategy === 'custom' ? 'pattern' : 'filenamePatterns'
  refuseValue(
    `/seriesConfig/${member}`,
    `"${given.patterns[0]}" matches no file of the library, such as "${paths[0]}". Correct the pattern.`,
  )
}

/** @throws invalid_value with the path of what is wrong: settings of another strategy, and patterns that could not work */
export async function checkLayout(rules: Rules, strategy: SeriesStrategy, config: unknown): Promise<void> {
  checkSettings('seriesConfig', { strategy, schema: SERIES_CONFIGS[strategy] }, config)
  await checkPatterns(rules, layoutOf(strategy, config))
}

/** @param member of the request @throws invalid_value with the paths of what is wrong */
export function checkSettings(member: string, { strategy, schema }: { strategy: string; schema: TObject }, config: unknown): void {
  const errors = Errors(schema, config ?? {}).slice(0, ERRORS_MAX)
  if (errors.length === 0) return
  const details = errors.map(({ instancePath, message }) => ({ path: `/${member}${instancePath}`, message }))
  const [first] = details
  const members = Object.keys(schema.properties)
  const known = members.length === 0 ? 'it has no settings' : `its settings are ${members.join(', ')}`
  refuse('invalid_value', `The settings of the strategy "${strategy}" are invalid: ${first?.path} ${first?.message}; ${known}.`, {
    details,
  })
}
