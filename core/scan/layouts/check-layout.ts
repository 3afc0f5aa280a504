import type { TObject } from 'typebox'
import { Errors } from 'typebox/value'
import type { SeriesStrategy } from '#core/catalog/library.ts'
import type { Rules } from '#core/conditions/rules.ts'
import { refuse } from '#core/foundation/errors.ts'
import { checkPatterns } from '#core/scan/layouts/match-patterns.ts'
import { layoutOf, SERIES_CONFIGS } from '#core/scan/layouts/series-config.ts'

/** Shown of one wrong configuration. */
const ERRORS_MAX = 5

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
