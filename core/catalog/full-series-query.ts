import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import type { Series } from '#core/catalog/series.ts'
import { fullSeriesMetadata } from '#core/metadata/series-metadata-query.ts'

/** Series with all of their data. @param series at most {@link FULL_AT_ONCE} */
export async function fullSeries(database: Knex, caller: Caller, series: readonly Series[]): Promise<Record<string, unknown>[]> {
  const full = await fullSeriesMetadata(
    database,
    caller,
    series.map(({ id }) => id),
  )
  return series.map((record) => {
    const {
      seriesId: _,
      genres,
      tags,
      alternateTitles,
      externalIds,
      externalLinks,
      externalRatings,
      ...metadata
    } = full.get(record.id) ?? {}
    return { ...record, metadata, genres, tags, alternateTitles, externalIds, externalLinks, externalRatings }
  })
}
