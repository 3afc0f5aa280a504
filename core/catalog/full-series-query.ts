import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import type { FullSeries } from '#core/catalog/full-series.ts'
import { noteAverages } from '#core/catalog/list-state-query.ts'
import type { Series } from '#core/catalog/series.ts'
import { listFullSeriesMetadata } from '#core/metadata/series-metadata-query.ts'
import { averageRatings, NOT_RATED } from '#core/metadata/user-rating-store.ts'

/** Series with all of their data; without those that were removed meanwhile. @param series at most {@link FULL_AT_ONCE} */
export async function fullSeries(database: Knex, caller: Caller, series: readonly Series[]): Promise<FullSeries[]> {
  const ids = series.map(({ id }) => id)
  noteAverages()
  const [full, averages] = await Promise.all([listFullSeriesMetadata(database, caller, ids), averageRatings(database, ids)])
  return series.flatMap((record) => {
    const found = full.get(record.id)
    return found ? [{ ...record, metadata: found.fields, ...found.sets, communityRating: averages.get(record.id) ?? NOT_RATED }] : []
  })
}
