import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import { refuse } from '#core/foundation/errors.ts'
import { readRecords, type StoredRecord } from '#core/metadata/metadata-record-store.ts'
import type { ValuesOf } from '#core/metadata/record-kind.ts'
import { listEntries } from '#core/metadata/series-facts-store.ts'
import { shownSeriesFields, shownSeriesLocks } from '#core/metadata/series-metadata-record.ts'
import { listNamesOf } from '#core/metadata/taxonomy-query.ts'

/** Those of the ids that are series the caller may see. */
export async function listVisibleSeriesIds(database: Knex, caller: Caller, ids: readonly string[]): Promise<Set<string>> {
  const rows = await database('series')
    .whereRaw('series.id = ANY(CAST(? AS uuid[]))', [[...ids]])
    .modify(visibleTo(caller, 'series.id'))
    .pluck('series.id')
  return new Set(rows)
}

/** The id as the database writes it. @throws not_found for a hidden or unknown series */
export async function checkSeries(database: Knex, caller: Caller, seriesId: string): Promise<string> {
  const [id] = await listVisibleSeriesIds(database, caller, [seriesId])
  return id ?? refuse('not_found', `There is no series ${seriesId}, or you may not see it.`)
}

/** The metadata of one series. @throws not_found */
export async function getSeriesRecord(database: Knex, caller: Caller, seriesId: string): Promise<StoredRecord<ValuesOf['series']>> {
  const id = await checkSeries(database, caller, seriesId)
  return (await readRecords(database, 'series', [id])).get(id) ?? refuse('not_found', `There is no series ${seriesId}.`)
}

/**
 * All that is known of series beside their records, by seven statements. The caller of this has decided that they are visible.
 * @param ids at most {@link FULL_AT_ONCE}
 */
export async function fullSeriesMetadata(
  database: Knex,
  caller: Caller,
  ids: readonly string[],
): Promise<Map<string, Record<string, unknown>>> {
  const names = (taxonomy: 'genre' | 'tag') => listNamesOf(database, caller, { taxonomy, bearer: 'series', bearerIds: ids })
  const entriesOf = async (table: Parameters<typeof listEntries>[1]) =>
    Map.groupBy(await listEntries<Record<string, unknown>>(database, table, ids), ({ ownerId }) => ownerId)
  const [stored, genres, tags, titles, externalIds, links, ratings] = await Promise.all([
    readRecords(database, 'series', ids),
    names('genre'),
    names('tag'),
    entriesOf('series_alternate_titles'),
    entriesOf('series_external_ids'),
    entriesOf('series_external_links'),
    entriesOf('series_external_ratings'),
  ])
  const shown = (found: typeof titles, id: string) => (found.get(id) ?? []).map(({ ownerId: _, ...entry }) => entry)
  const all = [...stored].map(([id, record]) => [
    id,
    {
      seriesId: id,
      ...shownSeriesFields(record),
      locks: shownSeriesLocks(record),
      genres: genres.get(id) ?? [],
      tags: tags.get(id) ?? [],
      alternateTitles: shown(titles, id),
      externalIds: shown(externalIds, id),
      externalLinks: shown(links, id),
      externalRatings: shown(ratings, id),
      createdAt: record.createdAt,
      updatedAt: record.updatedAt,
    },
  ])
  return new Map(all as [string, Record<string, unknown>][])
}
