import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { isRestricted } from '#core/account/user-store.ts'
import { asUser, visibleTo } from '#core/account/visibility.ts'
import type { AdjacentBooks, Book } from '#core/catalog/book.ts'
import { listBooksByIds, pageOfBooks, sortedBooks } from '#core/catalog/book-query.ts'
import type { BookSort } from '#core/catalog/book-sort-query.ts'
import type { Series } from '#core/catalog/series.ts'
import { pageOfSeries } from '#core/catalog/series-query.ts'
import { orderOfSeries, type SeriesSort } from '#core/catalog/series-sort-query.ts'
import { shownCoverOf } from '#core/covers/current-cover.ts'
import { BOOK_COVER_JOIN, SERIES_COVER_JOIN, SHOWN_BOOK_COVER, SHOWN_SERIES_COVER } from '#core/covers/current-cover-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { Shelf, ShelfKind } from '#core/shelves/shelf.ts'
import { SHELF_TABLES } from '#core/shelves/shelf-table.ts'

interface ShelfRow {
  id: string
  name: string
  summary: string | null
  ordered: boolean
  cover: string | null
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
  const restricted = await isRestricted(database, caller)
  const matching = visibleShelves(database, caller, { kind, restricted })
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
    matching.count({ total: '*' }).first(),
  ])
  return { items: rows.map((row) => shelfOf(row, restricted)), total: Number(counted?.['total']) }
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
  const restricted = await isRestricted(database, caller)
  const found = visibleShelves(database, caller, { kind, restricted }).where('s.id', id)
  const [row] = (await withCounts(database, caller, kind, found)) as ShelfRow[]
  return row ? shelfOf(row, restricted) : null
}

/** Whether a shelf that the caller sees has this name. */
export async function isShownShelfName(database: Knex, caller: Caller, kind: ShelfKind, name: string): Promise<boolean> {
  const shown = visibleShelves(database, caller, { kind, restricted: await isRestricted(database, caller) })
  return (await shown.whereRaw('lower(s.name) = lower(?)', [name]).first('s.id')) !== undefined
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
  const matching = booksOfReadList(database, caller, list.shelf.id).select('books.id')
  const ordered = list.sort ? sortedBooks(database, caller, matching, list.sort) : { matching, order: { terms: ownOrder(list.shelf) } }
  return await pageOfBooks(database, caller, { ...ordered, offset: list.offset, limit: list.limit })
}

const booksOfReadList = (database: Knex, caller: Caller, readListId: string): Knex.QueryBuilder =>
  database('books')
    .join('read_list_books AS m', 'm.book_id', 'books.id')
    .leftJoin('book_metadata', 'book_metadata.book_id', 'books.id')
    .where('m.read_list_id', readListId)
    .whereNull('books.deleted_at')
    .modify(visibleTo(caller, 'books.series_id'))

const ownOrder = ({ ordered }: Pick<Shelf, 'ordered'>): string[] =>
  ordered ? ['m.position', 'books.id'] : ['book_metadata.year', 'book_metadata.month', 'book_metadata.day', 'm.position', 'books.id']

/** The books before and after this one in a read list, in its own order. @throws not_found when either is unknown, or the list lacks the book */
export async function findAdjacentInReadList(
  database: Knex,
  caller: Caller,
  { readListId, bookId }: { readListId: string; bookId: string },
): Promise<AdjacentBooks> {
  const shelf = (await findShelf(database, caller, 'read_list', readListId)) ?? refuse('not_found', `There is no read list ${readListId}.`)
  const order = ownOrder(shelf).join(', ')
  const listed = booksOfReadList(database, caller, readListId).select(
    database.raw(`books.id, lag(books.id) OVER (ORDER BY ${order}) AS prev, lead(books.id) OVER (ORDER BY ${order}) AS next`),
  )
  const neighbors: { prev: string | null; next: string | null } | undefined = await database
    .from(listed.as('listed'))
    .where('id', bookId)
    .first('prev', 'next')
  if (!neighbors) refuse('not_found', `The read list contains no book ${bookId}, or you may not see it.`)
  const { prev, next } = neighbors
  const books = await listBooksByIds(
    database,
    caller,
    [prev, next].filter((id) => id !== null),
  )
  return { prev: books.get(prev ?? '') ?? null, next: books.get(next ?? '') ?? null }
}

/** Members of shelf `s` that the caller may see. */
function visibleMembers(database: Knex, caller: Caller, kind: ShelfKind): Knex.QueryBuilder {
  const { members, shelf, member, things, seriesOf } = SHELF_TABLES[kind]
  return database(`${members} AS m`)
    .join(things, `${things}.id`, `m.${member}`)
    .whereRaw('m.?? = s.id', [shelf])
    .modify(visibleTo(caller, seriesOf))
}

/**
 * Shelves with a member that the caller may see, and, for somebody who may see every series, empty ones. Others would learn from an empty one that hidden members
 * have come or gone.
 */
function visibleShelves(database: Knex, caller: Caller, { kind, restricted }: { kind: ShelfKind; restricted: boolean }): Knex.QueryBuilder {
  const shelves = database(`${SHELF_TABLES[kind].shelves} AS s`).modify(asUser(caller))
  return restricted ? shelves.whereExists(visibleMembers(database, caller, kind).select(database.raw('1'))) : shelves
}

const withCounts = (database: Knex, caller: Caller, kind: ShelfKind, query: Knex.QueryBuilder): Knex.QueryBuilder =>
  query.select('s.*', visibleMembers(database, caller, kind).count('*').as('count'), coverOfFirst(database, caller, kind).as('cover'))

/** The cover of the first member of shelf `s`: the one that {@link listCollectionSeries} or {@link listReadListBooks} returns first. */
function coverOfFirst(database: Knex, caller: Caller, kind: ShelfKind): Knex.QueryBuilder {
  const members = visibleMembers(database, caller, kind).limit(1)
  if (kind === 'collection') {
    const order = 'CASE WHEN s.ordered THEN m.position END, series.sort_key, series.id'
    return members.joinRaw(SERIES_COVER_JOIN).orderByRaw(order).select(database.raw(SHOWN_SERIES_COVER))
  }
  const byRelease = ['year', 'month', 'day'].map((part) => `CASE WHEN NOT s.ordered THEN book_metadata.${part} END`)
  return members
    .joinRaw(BOOK_COVER_JOIN)
    .leftJoin('book_metadata', 'book_metadata.book_id', 'books.id')
    .whereNull('books.deleted_at')
    .orderByRaw([...byRelease, 'm.position', 'books.id'].join(', '))
    .select(database.raw(SHOWN_BOOK_COVER))
}

/** For somebody who may not see every series it is as old as at first: they would learn when hidden members come and go. */
const shelfOf = (row: ShelfRow, restricted: boolean): Shelf => ({
  id: row.id,
  name: row.name,
  summary: row.summary,
  ordered: row.ordered,
  cover: shownCoverOf(row.cover),
  count: Number(row.count),
  createdAt: row.created_at.toISOString(),
  updatedAt: (restricted ? row.created_at : row.updated_at).toISOString(),
})
