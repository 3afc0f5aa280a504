import type { Knex } from 'knex'
import type { LibraryRow } from '#core/catalog/library-store.ts'
import { announceBooks } from '#core/events/event-store.ts'
import { firstPosition, type NumberConfig } from '#core/fields/number-strategy.ts'
import type { PlacedBook } from '#core/fields/placed-values.ts'
import { lockRecords } from '#core/metadata/metadata-record-store.ts'
import { type FileInSeries, hasRestarts } from '#core/scan/number-restarts.ts'
import type { TaskRun } from '#core/tasks/task.ts'

/** Over `p`: the numbers of its series begin anew. */
const RESTARTS = `coalesce(jsonb_exists(p.layout_values, 'restarts'), false)`

/**
 * The books of these series in the natural order of their paths, with their positions. Books beside the numbered ones and one-shots have none. A number stays
 * that a person, a plugin, the metadata or the name has given, or that is locked.
 */
const MISPLACED = `
  SELECT p.id, p.at FROM (
    SELECT b.*, row_number() OVER (PARTITION BY b.series_id, b.side ORDER BY b.path COLLATE carrel_natural, b.id) - 1 + :start AS at
    FROM books b JOIN series s ON s.id = b.series_id
    WHERE b.series_id = ANY(CAST(:seriesIds AS uuid[])) AND b.deleted_at IS NULL AND NOT b.side AND NOT s.oneshot
  ) AS p LEFT JOIN book_metadata m ON m.book_id = p.id
  WHERE (p.number IS NULL OR p.number = p.position OR ${RESTARTS}) AND (p.number IS DISTINCT FROM p.at OR p.position IS DISTINCT FROM p.at)
    AND NOT coalesce(m.sources ->> 'number' <> 'file_name', false) AND NOT coalesce('number' = ANY(m.locks), false)`

/** Numbers the books of series by their positions where nothing better numbers them; returns how many changed. @param start the first number */
async function assignPositions(trx: Knex.Transaction, seriesIds: readonly string[], start: number): Promise<number> {
  const given = { seriesIds: [...seriesIds], start }
  const { rows } = await trx.raw(MISPLACED, given)
  const ids = (rows as { id: string }[]).map(({ id }) => id)
  if (ids.length === 0) return 0
  await lockRecords(trx, 'book', ids)
  const { rows: changed } = await trx.raw(
    `UPDATE books SET number = p.at, position = p.at, updated_at = now() FROM (${MISPLACED}) AS p WHERE books.id = p.id AND books.id = ANY(CAST(:ids AS uuid[]))
     RETURNING books.id`,
    { ...given, ids },
  )
  const changedIds = (changed as { id: string }[]).map(({ id }) => id)
  await announceBooks(trx, changedIds, ['number'])
  return changedIds.length
}

/** Series of a library in which a book that is new since a time has the number of another one, or in which numbers begin anew. */
async function listRepeating(database: Knex, libraryId: string, since: Date): Promise<string[]> {
  const { rows } = await database.raw(
    `WITH fresh AS MATERIALIZED (SELECT id, series_id, reading_number FROM books
       WHERE library_id = :libraryId AND created_at >= :since AND deleted_at IS NULL AND NOT side AND number IS NOT NULL)
     SELECT f.series_id AS id FROM fresh f WHERE EXISTS (SELECT FROM books o WHERE o.series_id = f.series_id AND o.reading_number = f.reading_number
       AND o.id <> f.id AND o.deleted_at IS NULL AND NOT o.side)
     UNION SELECT p.series_id FROM books p WHERE p.series_id IN (SELECT series_id FROM fresh) AND ${RESTARTS}`,
    { libraryId, since },
  )
  return (rows as { id: string }[]).map(({ id }) => id)
}

/** Notes in which of these series the numbers of the names begin anew; one that was noted stays so. */
async function noteRestarts(trx: Knex, seriesIds: readonly string[]): Promise<void> {
  if (seriesIds.length === 0) return
  const { rows } = await trx.raw(
    `SELECT b.id, b.series_id AS "seriesId", substr(b.path, length(l.path) + 2) AS path, b.layout_values AS "layoutValues", s.path AS home
     FROM books b JOIN series s ON s.id = b.series_id JOIN libraries l ON l.id = b.library_id
     WHERE b.series_id = ANY(CAST(? AS uuid[])) AND b.deleted_at IS NULL AND NOT b.side AND NOT s.oneshot ORDER BY b.path COLLATE carrel_natural, b.id`,
    [[...seriesIds]],
  )
  const bySeries = Map.groupBy(rows as (FileInSeries & { id: string; seriesId: string; home: string })[], ({ seriesId }) => seriesId)
  const isNoted = ({ layoutValues }: FileInSeries) => layoutValues?.restarts === true
  const restarting = [...bySeries.values()].filter((books) => books.some(isNoted) || hasRestarts(books, books[0]?.home ?? ''))
  const ids = restarting.flatMap((books) => books.map(({ id }) => id))
  if (ids.length === 0) return
  await lockRecords(trx, 'book', ids)
  await trx.raw(
    `UPDATE books p SET layout_values = coalesce(p.layout_values, '{}') || '{"restarts": true}' WHERE p.id = ANY(CAST(? AS uuid[])) AND NOT ${RESTARTS}`,
    [ids],
  )
}

/** The same for one series from the beginning, before its books are numbered again. @param isByPosition whether positions are numbers */
export async function reviewRestarts(database: Knex, seriesId: string, isByPosition: boolean): Promise<void> {
  // In two transactions: each locks the books in one order.
  await database.raw(
    `WITH mine AS (SELECT p.id FROM books p WHERE p.series_id = ? AND ${RESTARTS} ORDER BY p.id FOR NO KEY UPDATE)
     UPDATE books SET layout_values = nullif(layout_values - 'restarts', '{}') FROM mine WHERE books.id = mine.id`,
    [seriesId],
  )
  if (isByPosition) await database.transaction((trx) => noteRestarts(trx, [seriesId]))
}

/** Series of a library whose positions may have changed since a time: those with a book without a number, or with one that has gone. */
async function listMisplacedSeries(database: Knex, libraryId: string, since: Date): Promise<string[]> {
  const { rows } = await database.raw(
    `SELECT DISTINCT b.series_id AS id FROM books b JOIN series s ON s.id = b.series_id
     WHERE b.library_id = :libraryId AND NOT b.side AND NOT s.oneshot
       AND ((b.deleted_at IS NULL AND b.number IS NULL) OR (b.deleted_at >= :since AND b.position IS NOT NULL)) ORDER BY 1`,
    { libraryId, since },
  )
  return (rows as { id: string }[]).map(({ id }) => id)
}

/** What the number and title of a book depend on. */
export interface BookToName extends PlacedBook {
  id: string
  fileName: string
  seriesTitle: string
  /** From 0, in the natural order of the paths; null for a book that has none. */
  position: number | null
}

/** Books of a series whose files exist, after the id `after`, by id. */
export async function listBooksToName(database: Knex, seriesId: string, window: { after: string; limit: number }): Promise<BookToName[]> {
  const { rows } = await database.raw(
    `SELECT b.id, b.file_name AS "fileName", b.layout_values AS "layoutValues", b.side AS "isSide", s.title AS "seriesTitle",
       CASE WHEN NOT b.side AND NOT s.oneshot THEN b.at::int END AS position
     FROM (SELECT *, row_number() OVER (PARTITION BY side ORDER BY path COLLATE carrel_natural, id) - 1 AS at FROM books
       WHERE series_id = :seriesId AND deleted_at IS NULL) AS b JOIN series s ON s.id = b.series_id
     WHERE b.id > :after ORDER BY b.id LIMIT :limit`,
    { seriesId, ...window },
  )
  return rows
}

/** What the strategies of its library have given a book. */
export interface NamedByStrategy {
  id: string
  /** Null where the strategy takes it from the file or its metadata. */
  title: string | null
  /** The number that it has by its position, else null. */
  position: number | null
}

/** Records what strategies gave. Titles only if asked: a request for numbers leaves them. */
export async function storeNamed(trx: Knex, named: readonly NamedByStrategy[], { titles }: { titles: boolean }): Promise<void> {
  await trx.raw(
    `UPDATE books b SET position = t.position,
       layout_values = CASE WHEN NOT :titles THEN b.layout_values WHEN t.title IS NULL THEN nullif(b.layout_values - 'strategyTitle', '{}')
         ELSE coalesce(b.layout_values, '{}') || jsonb_build_object('strategyTitle', t.title) END
     FROM unnest(CAST(:ids AS uuid[]), CAST(:named AS text[]), CAST(:positions AS float8[])) AS t (id, title, position) WHERE b.id = t.id`,
    {
      titles,
      ids: named.map(({ id }) => id),
      named: named.map(({ title }) => title) as string[],
      positions: named.map(({ position }) => position) as number[],
    },
  )
}

/** Series per transaction: nobody waits for the rows of their books. */
const SERIES_STEP = 50

/** Numbers the books that nothing else numbers, if the strategy of the library wants it. @param scan.queued without new books, no number is new */
export async function numberByPosition(
  database: Knex,
  { library, startedAt, run, queued }: { library: LibraryRow; startedAt: Date; run: Pick<TaskRun, 'signal'>; queued: number },
): Promise<void> {
  const start = firstPosition(library.number_strategy, library.number_config as NumberConfig | null)
  if (start === null) return
  const repeating = new Set(queued > 0 ? await listRepeating(database, library.id, startedAt) : [])
  const ids = [...new Set([...repeating, ...(await listMisplacedSeries(database, library.id, startedAt))])].sort()
  for (let first = 0; first < ids.length; first += SERIES_STEP) {
    run.signal.throwIfAborted()
    const some = ids.slice(first, first + SERIES_STEP)
    const noted = some.filter((id) => repeating.has(id))
    await database.transaction((trx) => noteRestarts(trx, noted))
    await database.transaction((trx) => assignPositions(trx, some, start))
  }
}
