import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { streamedList } from '#api/http/json-chunks.ts'
import { withSourceNames } from '#api/views/legacy-names.ts'
import type { Caller } from '#core/account/caller.ts'
import { FullSeries } from '#core/catalog/full-series.ts'
import { fullSeries } from '#core/catalog/full-series-query.ts'
import { Series } from '#core/catalog/series.ts'
import { SERIES_SORT_FIELDS } from '#core/catalog/series-sort-query.ts'
import { FULL_AT_ONCE } from '#core/fields/limits.ts'
import { described, Uuid } from '#core/foundation/schema.ts'
import { sortParameter } from '#core/foundation/sort.ts'

type Services = Pick<DataServices, 'database' | 'settings'>

/** A series in a list: short, or full with `full=true`. */
export const ListedSeries = Type.Union([FullSeries, Series], { title: 'ListedSeries' })

/** Whether series include their metadata. */
export const FULL_SERIES = Type.Optional(
  Type.Boolean({ description: 'Include metadata, genres, tags, titles, identifiers, links and ratings.' }),
)

/** Clients repeat the library of the path in the query. */
export const SAME_LIBRARY = Type.Optional(described(Uuid, 'Ignored: the library of the path counts.'))

/** The sort parameter of every list of series. */
export const SERIES_SORT = sortParameter(SERIES_SORT_FIELDS, {
  title: 'SeriesSort',
  description: '`<field>,<asc|desc>`. Default: a search by relevance, an ordered list in its order, all others by name.',
})

/** Series in the shape of a list. Full ones are read while the response is written, so the result works only in a response. */
export function listedSeries(
  { services, caller }: { services: Services; caller: Caller },
  series: Series[],
  { full }: { full?: boolean | undefined },
): Series[] {
  if (!full) return series
  return streamedList(series, FULL_AT_ONCE, async (part) => {
    const known = await fullSeries(services.database, caller, part)
    return known.map((full) => withSourceNames(services, full))
  })
}
