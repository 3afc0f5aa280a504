import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { asUser, visibleTo } from '#core/account/visibility.ts'
import type { Book } from '#core/catalog/book.ts'
import { pageOfBooks, sortedBooks } from '#core/catalog/book-query.ts'
import type { BookSort } from '#core/catalog/book-sort-query.ts'
import type { Series } from '#core/catalog/series.ts'
import { pageOfSeries } from '#core/catalog/series-query.ts'
import { orderOfSeries, type SeriesSort } from '#core/catalog/series-sort-query.ts'
import type { ReadingListEntry } from '#core/shelves/reading-list.ts'
import type { Shelf, ShelfKind } from '#core/shelves/shelf.ts'
import { SHELF_TABLES } from '#core/shelves/shelf-table.ts'

interface ShelfRow {
  id: string
  name: string
  summary: string | null
  ordered: boolean
  count: string | number
  created_at: Date
  updated_at: Date
}

interface Window {
  offset: number
  limit: number
}

/** One page of shelves by name; `memberId` selects those that contain this member, `search` those with this text in their name, ignoring case and accents. */
export async function listShelves(
  database: Knex,
  caller: Caller,
  kind: ShelfKind,
  list: Window & { memberId?: string | undefined; search?: string | null; libraryIds?: readonly string[] | undefined },
): Promise<{ items: Shelf[]; total: number }> {
  const matching = visibleShelves(database, caller, kind)
  const { members, shelf, member } = SHELF_TABLES[kind]
  if (list.memberId !== undefined) {
    matching.whereExists(database(`${members} AS m`).whereRaw('m.?? = s.id AND m.?? = ?', [shelf, member, list.memberId]))
  }
  if (list.search) matching.whereRaw(`carrel_fold(s.name) LIKE '%' || carrel_pattern(?) || '%'`, [list.search])
  if (list.libraryIds) {
    const inLibraries = visibleMembers(database, caller, kind).whereRaw('??.library_id = ANY(CAST(? AS uuid[]))', [
      SHELF_TABLES[kind].things,
      [...list.libraryIds],
    ])
    matching.whereExists(inLibraries.select(database.raw('1')))
  }
  const [rows, counted] = await Promise.all([
    withCounts(database, caller, kind, matching.clone()).orderByRaw('lower(s.name), s.id').offset(list.offset).limit(list.limit) as Promise<
      ShelfRow[]
    >,
    matching.count({ total: '*' }).first() as unknown as Promise<{ total: string }>,
  ])
  return { items: rows.map(shelfOf), total: Number(counted.total) }
}

/** The ids of the members of each shelf that the caller may see, in order; without deleted books. */
export async function listMemberIds(
  database: Knex,
  caller: Caller,
  kind: ShelfKind,
  ids: readonly string[],
): Promise<Map<string, string[]>> {
  const { members, shelf, member, things, seriesOf } = SHELF_TABLES[kind]
  const query = database(`${members} AS m`)
    .join(things, `${things}.id`, `m.${member}`)
    .whereRaw('m.?? = ANY(CAST(? AS uuid[]))', [shelf, [...ids]])
    .modify(visibleTo(caller, seriesOf))
    .orderBy('m.position')
    .select(`m.${shelf} AS shelf_id`, `m.${member} AS member_id`)
  if (kind === 'read_list') query.whereNull('books.deleted_at')
  const found = new Map<string, string[]>(ids.map((id) => [id, []]))
  for (const { shelf_id, member_id } of (await query) as { shelf_id: string; member_id: string }[]) found.get(shelf_id)?.push(member_id)
  return found
}

/** Null also for a shelf that contains only members hidden from the caller: its name would reveal them. */
export async function findShelf(database: Knex, caller: Caller, kind: ShelfKind, id: string): Promise<Shelf | null> {
  const [row] = (await withCounts(database, caller, kind, visibleShelves(database, caller, kind).where('s.id', id))) as ShelfRow[]
  return row ? shelfOf(row) : null
}

/** One page of the series of a collection that the caller may see, in its own order unless a sort is given. */
export async function listCollectionSeries(
  database: Knex,
  caller: Caller,
  list: Window & { shelf: Pick<Shelf, 'id' | 'ordered'>; sort: SeriesSort | null },
): Promise<{ items: Series[]; total: number }> {
  const matching = database('series')
    .join('collection_series AS m', 'm.series_id', 'series.id')
    .where('m.collection_id', list.shelf.id)
    .modify(visibleTo(caller, 'series.id'))
    .select('series.id')
  const byName = ['series.sort_key', 'series.id']
  const order = list.sort ? orderOfSeries(caller, list.sort) : { terms: list.shelf.ordered ? ['m.position', ...byName] : byName }
  return await pageOfSeries(database, caller, { matching, order, offset: list.offset, limit: list.limit })
}

/** One page of the books of a read list that the caller may see, in its own order unless a sort is given. */
export async function listReadListBooks(
  database: Knex,
  caller: Caller,
  list: Window & { shelf: Pick<Shelf, 'id' | 'ordered'>; sort: BookSort | null },
): Promise<{ items: Book[]; total: number }> {
  const matching = database('books')
    .join('read_list_books AS m', 'm.book_id', 'books.id')
    .leftJoin('book_metadata', 'book_metadata.book_id', 'books.id')
    .where('m.read_list_id', list.shelf.id)
    .whereNull('books.deleted_at')
    .modify(visibleTo(caller, 'books.series_id'))
    .select('books.id')
  const byRelease = ['book_metadata.year', 'book_metadata.month', 'book_metadata.day', 'm.position', 'books.id']
  const ordered = list.sort
    ? sortedBooks(database, caller, matching, list.sort)
    : { matching, order: { terms: list.shelf.ordered ? ['m.position', 'books.id'] : byRelease } }
  return await pageOfBooks(database, caller, { ...ordered, offset: list.offset, limit: list.limit })
}

/**
 * The book of each entry; null if there is none that the caller may see. Finds a book with the number of the entry, in a series whose title is that
 * of the entry, with or without a year in parentheses; prefers books whose volume and year match too.
 */
export async function matchEntries(database: Knex, caller: Caller, entries: readonly ReadingListEntry[]): Promise<(string | null)[]> {
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
      database.raw(`regexp_replace(series.title_fold, '\\s*\\(\\d{4}\\)$', '') AS series,
        substring(series.title FROM '\\((\\d{4})\\)$') AS began, books.number, books.volume, book_metadata.year`),
    )
  const rows = await database
    .with(
      'entries',
      database.raw('SELECT * FROM jsonb_to_recordset(?::jsonb) AS e (place int, series text, number text, volume text, year text)', [
        JSON.stringify(wanted),
      ]),
    )
    .with('candidates', candidates)
    .from('entries AS e')
    .joinRaw(
      `JOIN candidates c ON c.series = carrel_fold(e.series)
         AND CASE WHEN e.number ~ '^[0-9]{1,8}(\\.[0-9]{1,4}){0,1}$' THEN c.number = e.number::numeric ELSE e.number = '' AND c.number IS NULL END`,
    )
    .distinctOn('e.place')
    .select('e.place', 'c.id')
    .orderByRaw(
      `e.place, (e.volume <> '' AND (c.began = e.volume OR c.volume::text = e.volume)) DESC NULLS LAST,
       (c.year::text = e.year) DESC NULLS LAST, c.id`,
    )
  const found = new Map((rows as { place: number; id: string }[]).map(({ place, id }) => [place, id]))
  return entries.map((_entry, place) => found.get(place) ?? null)
}

/** Members of shelf `s` that the caller may see. */
function visibleMembers(database: Knex, caller: Caller, kind: ShelfKind): Knex.QueryBuilder {
  const { members, shelf, member, things, seriesOf } = SHELF_TABLES[kind]
  return database(`${members} AS m`)
    .join(things, `${things}.id`, `m.${member}`)
    .whereRaw('m.?? = s.id', [shelf])
    .modify(visibleTo(caller, seriesOf))
}

/** Shelves with a member that the caller may see, and empty ones. */
function visibleShelves(database: Knex, caller: Caller, kind: ShelfKind): Knex.QueryBuilder {
  const { shelves, members, shelf } = SHELF_TABLES[kind]
  return database(`${shelves} AS s`)
    .modify(asUser(caller))
    .where((either) => {
      either
        .whereExists(visibleMembers(database, caller, kind).select(database.raw('1')))
        .orWhereNotExists(database(`${members} AS m`).whereRaw('m.?? = s.id', [shelf]).select(database.raw('1')))
    })
}

const withCounts = (database: Knex, caller: Caller, kind: ShelfKind, query: Knex.QueryBuilder): Knex.QueryBuilder =>
  query.select('s.*', visibleMembers(database, caller, kind).count('*').as('count'))

const shelfOf = (row: ShelfRow): Shelf => ({
  id: row.id,
  name: row.name,
  summary: row.summary,
  ordered: row.ordered,
  count: Number(row.count),
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
})
