import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import {
  type BookContext,
  bookContextOf,
  type ContextRow,
  contextColumns,
  type SeriesContext,
  seriesContextOf,
} from '#core/conditions/context.ts'
import { refuse } from '#core/foundation/errors.ts'

const columns = (kind: 'book' | 'series', record: string) =>
  [
    ...contextColumns(kind, true).map((column) => `${record}.${column}`),
    ...contextColumns(kind, false).map((column) => `m.${column}`),
  ].join(', ')

/** The rows of a book or a series in related tables, aggregated per record. */
const relatedColumns = (kind: 'book' | 'series') => `
  (SELECT jsonb_object_agg(e.source, jsonb_build_object('id', e.external_id, 'url', e.external_url, 'hash', e.metadata_hash))
     FROM ${kind}_external_ids e WHERE e.${kind}_id = r.id) AS external_ids,
  (SELECT jsonb_agg(jsonb_build_object('source', l.source, 'url', l.url, 'externalId', l.external_id) ORDER BY l.source)
     FROM ${kind}_external_links l WHERE l.${kind}_id = r.id) AS links,
  (SELECT jsonb_agg(g.name ORDER BY g.name_key) FROM ${kind}_genres j JOIN genres g ON g.id = j.genre_id WHERE j.${kind}_id = r.id) AS genres,
  (SELECT jsonb_agg(g.name ORDER BY g.name_key) FROM ${kind}_tags j JOIN tags g ON g.id = j.tag_id WHERE j.${kind}_id = r.id) AS tags`

const SERIES_ROWS = `
  SELECT r.id, m.locks, ${columns('series', 'r')}, ${relatedColumns('series')},
    (SELECT jsonb_agg(jsonb_build_object('label', a.label, 'title', a.title) ORDER BY a.created_at, a.id)
       FROM series_alternate_titles a WHERE a.series_id = r.id) AS alternate_titles,
    (SELECT jsonb_agg(jsonb_build_object('source', e.source, 'rating', e.rating, 'votes', e.vote_count) ORDER BY e.source)
       FROM series_external_ratings e WHERE e.series_id = r.id) AS ratings,
    (SELECT count(*)::int FROM books b WHERE b.series_id = r.id AND b.deleted_at IS NULL) AS book_count
  FROM series r LEFT JOIN series_metadata m ON m.series_id = r.id`

const BOOK_ROWS = `
  SELECT r.id, r.series_id, r.library_id, r.file_format, r.file_size, r.page_count, m.locks, ${columns('book', 'r')}, ${relatedColumns('book')}
  FROM books r LEFT JOIN book_metadata m ON m.book_id = r.id`

/**
 * Contexts of any number of books, in one statement; each series is read once.
 * @param caller who must be able to see them; null for the server's own work
 * @returns by book id; without unknown and hidden books
 */
export async function listBookContexts(database: Knex, caller: Caller | null, ids: readonly string[]): Promise<Map<string, BookContext>> {
  const chosen = database('books')
    .whereRaw('books.id = ANY(CAST(? AS uuid[]))', [[...ids]])
    .select('books.id', 'books.series_id')
  if (caller) chosen.modify(visibleTo(caller, 'books.series_id'))
  const { rows } = await database.raw(
    `WITH chosen AS (?)
     SELECT 'series' AS kind, to_json(s) AS row FROM (${SERIES_ROWS} WHERE r.id IN (SELECT series_id FROM chosen)) s
     UNION ALL SELECT 'book', to_json(b) FROM (${BOOK_ROWS} WHERE r.id IN (SELECT id FROM chosen)) b`,
    [chosen],
  )
  const series = new Map<string, SeriesContext>()
  const books = new Map<string, BookContext>()
  for (const { kind, row } of rows as { kind: 'series' | 'book'; row: ContextRow }[]) {
    if (kind === 'series') series.set(row.id, seriesContextOf(row))
    else books.set(row.id, bookContextOf(row, series.get(row['series_id'] as string) as SeriesContext))
  }
  return books
}

/** Like {@link listBookContexts}, for series. */
export async function listSeriesContexts(
  database: Knex,
  caller: Caller | null,
  ids: readonly string[],
): Promise<Map<string, SeriesContext>> {
  const chosen = database('series')
    .whereRaw('series.id = ANY(CAST(? AS uuid[]))', [[...ids]])
    .select('series.id')
  if (caller) chosen.modify(visibleTo(caller, 'series.id'))
  const { rows } = await database.raw(`SELECT to_json(s) AS row FROM (${SERIES_ROWS} WHERE r.id IN (?)) s`, [chosen])
  return new Map((rows as { row: ContextRow }[]).map(({ row }) => [row.id, seriesContextOf(row)]))
}

/** @throws not_found for an unknown or hidden book */
export async function getBookContext(database: Knex, caller: Caller, bookId: string): Promise<BookContext> {
  const [context] = (await listBookContexts(database, caller, [bookId])).values()
  return context ?? refuse('not_found', `There is no book ${bookId}, or you may not see it.`)
}

/** @throws not_found for an unknown or hidden series */
export async function getSeriesContext(database: Knex, caller: Caller, seriesId: string): Promise<SeriesContext> {
  const [context] = (await listSeriesContexts(database, caller, [seriesId])).values()
  return context ?? refuse('not_found', `There is no series ${seriesId}, or you may not see it.`)
}
