import Type from 'typebox'
import { listInParts } from '#api/http/json-chunks.ts'
import type { Needs } from '#api/http/services.ts'
import { withSourceNames } from '#api/views/legacy-names.ts'
import type { Caller } from '#core/account/caller.ts'
import { FullSeries } from '#core/catalog/full-series.ts'
import { fullSeries } from '#core/catalog/full-series-query.ts'
import { Series } from '#core/catalog/series.ts'
import { described, Uuid } from '#core/foundation/schema.ts'
import { SORT_LENGTH_MAX } from '#core/foundation/sort.ts'
import { FULL_AT_ONCE } from '#core/metadata/limits.ts'

type Services = Needs<'database' | 'settings'>

/** A series as a list shows it: short, or with `full=true` full. */
export const ShownSeries = Type.Union([Series, FullSeries], { title: 'ListedSeries' })

/** Whether series shall come with all that is known of them. */
export const FULL_SERIES = Type.Optional(
  Type.Boolean({ description: 'Each with its metadata, genres, tags, titles, identifiers, links and ratings.' }),
)

/** Clients of lists of one library name it in the query too. */
export const SAME_LIBRARY = Type.Optional(described(Uuid, 'The library of the path counts.'))

/** The order of any list of series. */
export const SERIES_SORT = Type.Optional(
  Type.String({
    maxLength: SORT_LENGTH_MAX,
    description:
      '`<field>,<asc|desc>`; fields: name, date_added (created_at), date_updated (updated_at), release_date (year), date_read, book_count, rating (user_rating), community_rating (avg_rating), external_rating. Unless said: of a search the best match first, of a list with an order its own, else by name.',
  }),
)

/** Series as a list answers them: full ones are read while the answer is written, and nothing but an answer can be made of them. */
export function shownSeries(
  { services, caller }: { services: Services; caller: Caller },
  series: Series[],
  { full }: { full?: boolean | undefined },
): Series[] {
  if (!full) return series
  const asker = caller
  return listInParts(series, FULL_AT_ONCE, async (part) => {
    const known = await fullSeries(services.database, asker, part)
    return known.map((full) => withSourceNames(services, full))
  })
}
