import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import type { ValuesOf } from '#core/fields/record-kind.ts'
import { refuse } from '#core/foundation/errors.ts'
import { type EntryTable, listEntries } from '#core/metadata/entry-query.ts'
import { readRecords, type StoredRecord } from '#core/metadata/metadata-record-store.ts'
import { type SeriesFields, type SeriesSets, seriesFieldsOf, seriesLocksOf } from '#core/metadata/series-metadata-record.ts'
import { listNamesOf } from '#core/metadata/taxonomy-query.ts'

/** Those of the ids that belong to series which the caller may see. */
export async function listVisibleSeriesIds(database: Knex, caller: Caller, ids: readonly string[]): Promise<Set<string>> {
  const rows = await database('series')
    .whereRaw('series.id = ANY(CAST(? AS uuid[]))', [[...ids]])
    .modify(visibleTo(caller, 'series.id'))
    .pluck('series.id')
  return new Set(rows)
}

/** The id in the spelling of the database. @throws not_found for a hidden or unknown series */
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
 * The fields and sets of series, with seven statements. The caller must have checked that they are visible.
 * @param ids at most {@link FULL_AT_ONCE}
 */
export async function listFullSeriesMetadata(
  database: Knex,
  caller: Caller,
  ids: readonly string[],
): Promise<Map<string, { fields: SeriesFields; sets: SeriesSets }>> {
  const names = (taxonomy: 'genre' | 'tag') => listNamesOf(database, caller, { taxonomy, kind: 'series', ids })
  const entriesOf = async <Name extends keyof SeriesSets>(_set: Name, table: EntryTable) =>
    Map.groupBy(await listEntries<SeriesSets[Name][number]>(database, table, ids), ({ ownerId }) => ownerId)
  const [stored, genres, tags, titles, externalIds, links, ratings] = await Promise.all([
    readRecords(database, 'series', ids),
    names('genre'),
    names('tag'),
    entriesOf('alternateTitles', 'series_alternate_titles'),
    entriesOf('externalIds', 'series_external_ids'),
    entriesOf('externalLinks', 'series_external_links'),
    entriesOf('externalRatings', 'series_external_ratings'),
  ])
  return new Map(
    [...stored].map(([id, record]) => [
      id,
      {
        fields: {
          ...seriesFieldsOf(record),
          locks: seriesLocksOf(record),
          createdAt: record.createdAt,
          updatedAt: record.updatedAt,
        },
        sets: {
          genres: genres.get(id) ?? [],
          tags: tags.get(id) ?? [],
          alternateTitles: entriesOfSeries(titles, id),
          externalIds: entriesOfSeries(externalIds, id),
          externalLinks: entriesOfSeries(links, id),
          externalRatings: entriesOfSeries(ratings, id),
        },
      },
    ]),
  )
}

/** The schema of an entry names its owner `seriesId`; `ownerId` is the same. */
const entriesOfSeries = <Entry>(found: ReadonlyMap<string, (Entry & { ownerId: string })[]>, id: string): Entry[] =>
  (found.get(id) ?? []).map(({ ownerId: _, ...entry }) => entry as Entry)
