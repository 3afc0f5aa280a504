import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import type { ReadingListEntry } from '#core/shelves/reading-list.ts'

/** A book that an entry may mean. */
export interface EntryMatch {
  bookId: string
  seriesId: string
}

/**
 * The books of each entry that the caller may see, the most exact first: those with the number of the entry, in a series whose title is that of the
 * entry, with or without a year in parentheses; a book whose volume and year match too is more exact.
 * @param max of each entry
 */
export async function listEntryMatches(
  database: Knex,
  caller: Caller,
  { entries, max }: { entries: readonly ReadingListEntry[]; max: number },
): Promise<EntryMatch[][]> {
  const wanted = entries.map(({ series, number, volume, year }, place) => ({ place, series, number, volume, year }))
  // Collects the visible books of all named series once; each entry is then compared only with them.
  const candidates = database('books')
    .join('series', 'series.id', 'books.series_id')
    .leftJoin('book_metadata', 'book_metadata.book_id', 'books.id')
    .whereNull('books.deleted_at')
    .modify(visibleTo(caller, 'books.series_id'))
    .whereRaw(`regexp_replace(series.title_fold, '\\s*\\(\\d{4}\\)$', '') IN (SELECT carrel_fold(e.series) FROM entries e)`)
    .select(
      'books.id',
      'books.series_id',
      database.raw(`regexp_replace(series.title_fold, '\\s*\\(\\d{4}\\)$', '') AS series,
        substring(series.title FROM '\\((\\d{4})\\)$') AS began, books.number, books.volume, book_metadata.year`),
    )
  const ranked = database
    .from('entries AS e')
    .joinRaw(
      `JOIN candidates c ON c.series = carrel_fold(e.series)
         AND CASE WHEN e.number ~ '^[0-9]{1,8}(\\.[0-9]{1,4}){0,1}$' THEN c.number = e.number::numeric ELSE e.number = '' AND c.number IS NULL END`,
    )
    .select(
      'e.place',
      'c.id',
      'c.series_id',
      database.raw(`row_number() OVER (PARTITION BY e.place
        ORDER BY (e.volume <> '' AND (c.began = e.volume OR c.volume::text = e.volume)) DESC NULLS LAST,
          (c.year::text = e.year) DESC NULLS LAST, c.id) AS rank`),
    )
  const rows = await database
    .with(
      'entries',
      database.raw('SELECT * FROM jsonb_to_recordset(?::jsonb) AS e (place int, series text, number text, volume text, year text)', [
        JSON.stringify(wanted),
      ]),
    )
    .with('candidates', candidates)
    .from(ranked.as('r'))
    .where('r.rank', '<=', max)
    .orderBy(['r.place', 'r.rank'])
    .select('r.place', 'r.id', 'r.series_id')
  const found = Map.groupBy(rows as { place: number; id: string; series_id: string }[], ({ place }) => place)
  return entries.map((_entry, place) => (found.get(place) ?? []).map(({ id, series_id }) => ({ bookId: id, seriesId: series_id })))
}
