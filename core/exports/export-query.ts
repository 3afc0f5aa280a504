import type { Knex } from 'knex'
import { type Viewer, visibleTo } from '#core/account/visibility.ts'
import {
  BOOK_ANCHOR,
  BOOK_EXPORT_FIELDS,
  type BookExportField,
  type ExportColumns,
  type ExportField,
  PRESENT_BOOKS,
  SERIES_ANCHOR,
  SERIES_EXPORT_FIELDS,
  type SeriesExportField,
} from '#core/exports/export-field-query.ts'
import type { ExportRecord, ExportRow } from '#core/exports/export-format.ts'

/** Rows per statement: with the largest records these are some megabytes, read in 50 ms of the main thread; usually about 20 KB. */
const SERIES_PAGE = 25
const BOOK_PAGE = 50

const SERIES_NAME = 'series.sort_key'
/** The expressions of the chosen fields, each once. */
const selected = (catalog: Record<string, ExportField>, names: readonly string[], { wholePaths }: ExportView): string =>
  [...new Set(names)]
    .map((name) => {
      const { sql, whole } = catalog[name] as ExportField
      return `${(wholePaths && whole) || sql} AS ${name}`
    })
    .join(', ')

/** The viewer of an export, its libraries, and the form of its paths. */
interface ExportView {
  viewer: Viewer
  libraryIds: readonly string[]
  /** Absolute paths on the server; otherwise relative ones. */
  wholePaths: boolean
}

/** Reads an export from one snapshot: concurrent changes neither lose nor repeat a record. */
export async function readExport<T>(database: Knex, read: (snapshot: Knex.Transaction) => Promise<T>): Promise<T> {
  return await database.transaction(read, { isolationLevel: 'repeatable read', readOnly: true })
}

const visibleSeries = (snapshot: Knex, { viewer, libraryIds }: ExportView): Knex.QueryBuilder =>
  snapshot('series')
    .whereRaw('series.library_id = ANY(CAST(? AS uuid[]))', [[...libraryIds]])
    .modify(visibleTo(viewer, 'series.id'))
    // OFFSET forces an index look-up for each series: with a join, a planner without statistics on the rows of a new scan reads all
    // books for each series (a page took 22 seconds).
    .whereRaw(`EXISTS (SELECT 1 ${PRESENT_BOOKS} OFFSET 0)`)

/** How many records {@link listRecords} will return. */
export async function countRecords(snapshot: Knex, view: ExportView, type: ExportColumns['type']): Promise<number> {
  const counts = { series: 'count(*)', books: 'sum(owned.count)', both: 'count(*) + sum(owned.count)' }
  const counting = visibleSeries(snapshot, view).select(snapshot.raw(`coalesce(${counts[type]}, 0) AS count`))
  if (type !== 'series') counting.joinRaw(`CROSS JOIN LATERAL (SELECT count(*) ${PRESENT_BOOKS}) AS owned`)
  return Number((await counting.first())?.count ?? 0)
}

/** All records in pages, series by name and books in reading order. @param onSeries is called with the series of the pages that follow */
export async function* listRecords(
  snapshot: Knex,
  view: ExportView,
  { type, fields, bookFields }: ExportColumns,
  onSeries: (ids: readonly string[]) => void,
): AsyncGenerator<ExportRecord[]> {
  let after: SeriesRow | null = null
  for (;;) {
    const series: SeriesRow[] = await listSeriesPage(snapshot, view, { fields: type === 'books' ? [SERIES_ANCHOR] : fields, after })
    onSeries(series.map(({ key_id }) => key_id))
    if (type === 'series') yield series.map((row) => ({ kind: 'series', row }))
    else yield* withBooks(snapshot, view, { series, bookFields, withSeries: type === 'both' })
    if (series.length < SERIES_PAGE) return
    after = series.at(-1) as SeriesRow
  }
}

async function* withBooks(
  snapshot: Knex,
  view: ExportView,
  page: { series: readonly SeriesRow[]; bookFields: readonly BookExportField[]; withSeries: boolean },
): AsyncGenerator<ExportRecord[]> {
  const seriesIds = page.series.map(({ key_id }) => key_id)
  let done = 0
  let after: BookRow | null = null
  for (;;) {
    const books: BookRow[] = await listBookPage(snapshot, view, { seriesIds, fields: page.bookFields, after })
    const records: ExportRecord[] = []
    const writeSeriesUpTo = (position: number) => {
      if (!page.withSeries) return
      for (const row of page.series.slice(done, position)) records.push({ kind: 'series', row })
      done = Math.max(done, position)
    }
    for (const row of books) {
      writeSeriesUpTo(row.key_series)
      records.push({ kind: 'book', row })
    }
    const isLast = books.length < BOOK_PAGE
    if (isLast) writeSeriesUpTo(page.series.length)
    yield records
    if (isLast) return
    after = books.at(-1) as BookRow
  }
}

/** Besides the fields, the key after which the next page begins. */
type SeriesRow = ExportRow & { key_name: string; key_id: string }
type BookRow = ExportRow & {
  /** Which of the series, from 1. */
  key_series: number
  key_unnumbered: boolean
  key_number: string
  key_title: string
  key_plain_title: string
  key_file: string
  key_id: string
}

async function listSeriesPage(
  snapshot: Knex,
  view: ExportView,
  page: { fields: readonly SeriesExportField[]; after: SeriesRow | null },
): Promise<SeriesRow[]> {
  const choice = visibleSeries(snapshot, view)
    .select('series.id', snapshot.raw('series.sort_key AS key_name'))
    .orderByRaw(`${SERIES_NAME}, series.id`)
    .limit(SERIES_PAGE)
  if (page.after) choice.whereRaw(`(${SERIES_NAME}, series.id) > (?, CAST(? AS uuid))`, [page.after.key_name, page.after.key_id])
  // In two steps: in one, the aggregates of all series might be computed for every page.
  const chosen: { id: string; key_name: string }[] = await choice
  const { rows } = await snapshot.raw(
    `SELECT ${selected(SERIES_EXPORT_FIELDS, [SERIES_ANCHOR, ...page.fields], view)}, series.id AS key_id
     FROM series JOIN libraries ON libraries.id = series.library_id LEFT JOIN series_metadata m ON m.series_id = series.id
     WHERE series.id = ANY(CAST(:ids AS uuid[]))`,
    { ids: chosen.map(({ id }) => id), userId: view.viewer.userId },
  )
  const byId = new Map((rows as SeriesRow[]).map((row) => [row.key_id, row]))
  return chosen.map(({ id, key_name }) => ({ ...(byId.get(id) as SeriesRow), key_name }))
}

/** The reading order of a series as complete keys, so that a page can begin after any book. */
const BOOK_KEYS = [
  'array_position(CAST(:seriesIds AS uuid[]), books.series_id)',
  '(books.number IS NULL)',
  'coalesce(books.number, 0)',
  'books.sort_key',
  'books.title COLLATE carrel_natural',
  'books.file_name COLLATE carrel_natural',
  'books.id',
].join(', ')

async function listBookPage(
  snapshot: Knex,
  view: ExportView,
  page: { seriesIds: readonly string[]; fields: readonly BookExportField[]; after: BookRow | null },
): Promise<BookRow[]> {
  if (page.seriesIds.length === 0) return []
  const { after } = page
  const behind = `AND (${BOOK_KEYS}) > (CAST(:series AS int), CAST(:unnumbered AS boolean), CAST(:number AS float8), :title, :plainTitle, :file, CAST(:id AS uuid))`
  const { rows } = await snapshot.raw(
    `SELECT ${selected(BOOK_EXPORT_FIELDS, [BOOK_ANCHOR, ...page.fields], view)},
       array_position(CAST(:seriesIds AS uuid[]), books.series_id) AS key_series, (books.number IS NULL) AS key_unnumbered,
       coalesce(books.number, 0)::text AS key_number, books.sort_key AS key_title,
       books.title AS key_plain_title, books.file_name AS key_file, books.id AS key_id
     FROM books JOIN series ON series.id = books.series_id JOIN libraries ON libraries.id = books.library_id
       LEFT JOIN book_metadata m ON m.book_id = books.id
       LEFT JOIN read_progress p ON p.book_id = books.id AND p.user_id = :userId
     WHERE books.series_id = ANY(CAST(:seriesIds AS uuid[])) AND books.deleted_at IS NULL ${after ? behind : ''}
     ORDER BY ${BOOK_KEYS} LIMIT ${BOOK_PAGE}`,
    {
      userId: view.viewer.userId,
      seriesIds: [...page.seriesIds],
      ...(after && {
        series: after.key_series,
        unnumbered: after.key_unnumbered,
        number: after.key_number,
        title: after.key_title,
        plainTitle: after.key_plain_title,
        file: after.key_file,
        id: after.key_id,
      }),
    },
  )
  return rows
}
