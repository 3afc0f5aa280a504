import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import type { FullSeries } from '#core/catalog/full-series.ts'
import type { Series } from '#core/catalog/series.ts'
import { listFullSeriesMetadata } from '#core/metadata/series-metadata-query.ts'

/** Series with all of their data; without those that were removed meanwhile. @param series at most {@link FULL_AT_ONCE} */
export async function fullSeries(database: Knex, caller: Caller, series: readonly Series[]): Promise<FullSeries[]> {
  const ids = series.map(({ id }) => id)
  const full = await listFullSeriesMetadata(database, caller, ids)
  return series.flatMap((record) => {
    const found = full.get(record.id)
    return found ? [{ ...record, metadata: found.fields, ...found.sets }] : []
  })
}
