import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { type EntryTable, listEntries } from '#core/metadata/entry-query.ts'
import { readRecords } from '#core/metadata/metadata-record-store.ts'
import { type SeriesFields, type SeriesSets, seriesFieldsOf, seriesLocksOf } from '#core/metadata/series-metadata-schema.ts'
import { listNamesOf } from '#core/metadata/taxonomy-query.ts'

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
