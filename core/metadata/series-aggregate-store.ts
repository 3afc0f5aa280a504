import type { Knex } from 'knex'
import type { KeptEmbedded, SeriesHints } from '#core/fields/embedded.ts'
import type { Author } from '#core/fields/field.ts'
import { READING_ORDER } from '#core/fields/reading-order.ts'
import type { ValuesOf } from '#core/fields/record-kind.ts'
import type { Aggregated } from '#core/metadata/aggregate-sets.ts'
import { writeInStatements } from '#core/metadata/metadata-record-store.ts'

/** Hints of one book for its series: only from its file, because a value that a person entered for one book does not apply to the others. */
export interface BookHints {
  seriesId: string
  sources: Record<string, string>
  publisher: string | null
  imprint: string | null
  languageIso: string | null
  summary: string | null
  year: number | null
  authors: Author[] | null
  embedded: KeptEmbedded | null
}

interface Aggregation {
  /** Whether books of the series wait for their analysis. */
  pending: boolean
  /** Whether analyzed books have not been aggregated yet. */
  due: boolean
}

/** The result omits series that do not exist. */
export async function listAggregations(trx: Knex, seriesIds: readonly string[]): Promise<Map<string, Aggregation>> {
  const { rows } = await trx.raw(
    `SELECT id, aggregate_due AS due, EXISTS (
         SELECT 1 FROM books b WHERE b.series_id = series.id AND b.state = 'pending' AND b.deleted_at IS NULL
       ) AS pending FROM series WHERE id = ANY(CAST(? AS uuid[])) ORDER BY id`,
    [[...seriesIds]],
  )
  return new Map((rows as (Aggregation & { id: string })[]).map(({ id, ...aggregation }) => [id, aggregation]))
}

export async function markAggregateDue(trx: Knex, seriesIds: readonly string[], due: boolean): Promise<void> {
  if (seriesIds.length === 0) return
  await trx('series')
    .whereIn('id', [...seriesIds])
    .andWhere('aggregate_due', !due)
    .update({ aggregate_due: due })
}

/** Series of a library that are due: their last book failed, vanished, or was written when the server was killed. */
export async function listAggregatesDue(database: Knex, libraryId: string): Promise<string[]> {
  const rows = await database('series')
    .where({ library_id: libraryId, aggregate_due: true })
    .whereRaw(`NOT EXISTS (SELECT 1 FROM books b WHERE b.series_id = series.id AND b.state = 'pending' AND b.deleted_at IS NULL)`)
    .select('id')
  return rows.map(({ id }) => id)
}

/** The hints of all books with metadata of each series, in reading order. */
export async function listHints(trx: Knex, seriesIds: readonly string[]): Promise<BookHints[]> {
  const { rows } = await trx.raw(
    `SELECT books.series_id AS "seriesId", m.sources, m.publisher, m.imprint, m.language_iso AS "languageIso", m.summary, m.year, m.authors, m.embedded - 'book' AS embedded
     FROM books JOIN book_metadata m ON m.book_id = books.id
     WHERE books.series_id = ANY(CAST(? AS uuid[])) AND books.deleted_at IS NULL ORDER BY ${READING_ORDER}`,
    [[...seriesIds]],
  )
  return rows
}

/**
 * The highest age in the files of these books, by series, where the series has a lower one or none. Omits series whose own file, whose lock, or somebody else
 * has given the age.
 */
export async function listHigherAges(database: Knex, bookIds: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await database.raw(
    // The ages first: while a large library is new, its series and books have no statistics, and a join would look through all series for each few books.
    `WITH aged AS MATERIALIZED (
       SELECT b.series_id, max(CAST(m.embedded #>> '{series,fields,ageRating}' AS int)) AS years FROM book_metadata m JOIN books b ON b.id = m.book_id
       WHERE m.book_id = ANY(CAST(? AS uuid[])) AND b.deleted_at IS NULL AND m.embedded #>> '{series,fields,ageRating}' IS NOT NULL GROUP BY b.series_id
     )
     SELECT s.id, aged.years FROM aged JOIN series s ON s.id = aged.series_id LEFT JOIN series_metadata sm ON sm.series_id = s.id
     WHERE s.id = ANY(ARRAY(SELECT series_id FROM aged)) AND aged.years > coalesce(sm.age_rating, -1)
       AND s.sidecar #> '{fields,ageRating}' IS NULL AND coalesce(sm.sources ->> 'ageRating', 'embedded') = 'embedded'
       AND NOT 'ageRating' = ANY(coalesce(sm.locks, '{}'))`,
    [[...bookIds]],
  )
  return new Map((rows as { id: string; years: number }[]).map(({ id, years }) => [id, years]))
}

/** The state of a series that its aggregation needs. */
export interface AggregateState {
  aggregated: Aggregated
  /** Books that can have hints: all existing ones except those whose files cannot be read. */
  books: number
  /** Whether some of them wait for their analysis. */
  pending: boolean
  /** The title from the name of its folder; null if it was never computed. */
  folderTitle: string | null
  /** The metadata in the file beside its books. */
  sidecar: SeriesHints | null
  /** Values by the names of folders. */
  layoutValues: Pick<ValuesOf['series'], 'publisher' | 'imprint' | 'authors'> | null
}

export async function listAggregateStates(trx: Knex, seriesIds: readonly string[]): Promise<Map<string, AggregateState>> {
  const { rows } = await trx.raw(
    `SELECT s.id, s.folder_title AS "folderTitle", s.sidecar, s.layout_values AS "layoutValues", coalesce(sm.aggregated, '{}') AS aggregated, b.books, b.pending
     FROM series s LEFT JOIN series_metadata sm ON sm.series_id = s.id CROSS JOIN LATERAL (
       SELECT count(*)::int AS books, coalesce(bool_or(b.state = 'pending'), false) AS pending FROM books b LEFT JOIN book_metadata m ON m.book_id = b.id
       WHERE b.series_id = s.id AND b.deleted_at IS NULL AND (b.state <> 'failed' OR m.embedded IS NOT NULL)) AS b
     WHERE s.id = ANY(CAST(? AS uuid[]))`,
    [[...seriesIds]],
  )
  return new Map((rows as (AggregateState & { id: string })[]).map(({ id, ...state }) => [id, state]))
}

/** Records whether the folder of each series contains many unrelated titles. */
export async function markUnrelated(trx: Knex, unrelated: ReadonlyMap<string, boolean>): Promise<void> {
  if (unrelated.size === 0) return
  await trx.raw(
    `UPDATE series s SET unrelated = u.unrelated FROM unnest(CAST(? AS uuid[]), CAST(? AS boolean[])) AS u (id, unrelated)
     WHERE s.id = u.id AND s.unrelated <> u.unrelated`,
    [[...unrelated.keys()], [...unrelated.values()]],
  )
}

/** The titles of series from the names of their folders. */
export async function listFolderTitles(trx: Knex, seriesIds: readonly string[]): Promise<Map<string, string | null>> {
  const rows = await trx('series')
    .whereIn('id', [...seriesIds])
    .select('id', 'folder_title')
  return new Map(rows.map((row) => [row.id, row.folder_title]))
}

export async function storeFolderTitles(trx: Knex, titles: ReadonlyMap<string, string>): Promise<void> {
  await trx.raw(
    `UPDATE series s SET folder_title = t.title FROM unnest(CAST(? AS uuid[]), CAST(? AS text[])) AS t (id, title)
     WHERE s.id = t.id AND s.folder_title IS DISTINCT FROM t.title`,
    [[...titles.keys()], [...titles.values()]],
  )
}

/**
 * Marks the series of these books as due after books were added or removed, because the majority may have changed. Skips series whose books have no
 * metadata. Always locks in the same order, so that two transactions never deadlock.
 */
export async function markBooksChanged(database: Knex, bookIds: readonly string[]): Promise<void> {
  if (bookIds.length === 0) return
  await database.raw(
    `UPDATE series SET aggregate_due = true WHERE id = ANY(ARRAY(
       SELECT s.id FROM series s WHERE s.id IN (SELECT series_id FROM books WHERE id = ANY(CAST(? AS uuid[]))) AND NOT s.aggregate_due
         AND EXISTS (SELECT 1 FROM books b JOIN book_metadata m ON m.book_id = b.id WHERE b.series_id = s.id AND m.embedded IS NOT NULL)
       ORDER BY s.id FOR NO KEY UPDATE OF s))`,
    [[...bookIds]],
  )
}

export async function storeAggregated(trx: Knex, aggregated: ReadonlyMap<string, Aggregated>): Promise<void> {
  const rows = [...aggregated].map(([series_id, entries]) => ({ series_id, aggregated: entries }))
  await writeInStatements(rows, (text) =>
    trx.raw(
      `INSERT INTO series_metadata (series_id, aggregated) SELECT series_id, aggregated FROM jsonb_populate_recordset(NULL::series_metadata, CAST(? AS jsonb))
       ORDER BY series_id ON CONFLICT (series_id) DO UPDATE SET aggregated = excluded.aggregated`,
      [text],
    ),
  )
}

/** Forgets what books have contributed, so that they contribute it again. */
export async function forgetAggregated(trx: Knex, seriesIds: readonly string[]): Promise<void> {
  await trx('series_metadata')
    .whereIn('series_id', [...seriesIds])
    .update({ aggregated: '{}' })
}
