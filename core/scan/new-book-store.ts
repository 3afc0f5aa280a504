import type { Knex } from 'knex'
import type { LibraryRow } from '#core/catalog/library-store.ts'
import type { Rules } from '#core/conditions/rules.ts'
import { announce, bookEvent } from '#core/events/event-store.ts'
import { formatOfName } from '#core/fields/book-format.ts'
import { namedFields } from '#core/fields/number-strategy.ts'
import { fieldsOfPlaced } from '#core/fields/placed-values.ts'
import { type BookPlace, placedBook, placeKey } from '#core/scan/layouts/place-book.ts'
import { placeFiles, type WalkedFolders } from '#core/scan/layouts/place-files.ts'
import { layoutOf } from '#core/scan/layouts/series-config.ts'
import { ensureSeries } from '#core/scan/layouts/series-place-store.ts'
import { strategyTitles } from '#core/scan/strategy-titles.ts'

/** A file as the walk found it. */
export interface SeenFile {
  /** Relative to the library's root. */
  path: string
  bytes: number
  mtimeNs: bigint
  /** The versions of the files beside it that describe it. */
  sidecars: string | null
}

/** Where new files belong. */
export interface NewBooks {
  library: LibraryRow
  /** Without it, nothing is decided for a folder that has no decision. */
  walked?: WalkedFolders
  /** New books do not count as known until a scan is accepted. */
  provisional?: boolean
  rules: Rules
}

const NOT_WALKED: WalkedFolders = { decisions: new Map(), shared: new Set() }

/** Inserts the rows of new files, and of their series; returns the ids of those that no other scan has inserted. */
export async function insertBooks(
  trx: Knex.Transaction,
  { library, walked = NOT_WALKED, provisional = false, rules }: NewBooks,
  fresh: { id: string; file: SeenFile }[],
): Promise<Set<string>> {
  const rows = await rowsOf(trx, { library, walked, rules }, fresh)
  const { rows: inserted } = await trx.raw(
    `INSERT INTO books (id, library_id, series_id, path, file_name, file_format, file_size, file_mtime_ns, title, number, volume, chapter, sidecars,
       layout_values, side, provisional)
     SELECT f.id, s.library_id, s.id, f.path, f.file_name, f.format, f.bytes, f.mtime, f.title, f.number, f.volume, f.chapter, f.sidecars, f.layout_values, f.side, ?
     FROM unnest(?::uuid[], ?::uuid[], ?::text[], ?::text[], ?::text[], ?::bigint[], ?::bigint[], ?::text[], ?::float8[], ?::int[], ?::float8[],
         ?::text[], ?::jsonb[], ?::boolean[])
       AS f (id, series, path, file_name, format, bytes, mtime, title, number, volume, chapter, sidecars, layout_values, side)
     JOIN series s ON s.library_id = ? AND s.id = f.series
     ON CONFLICT (library_id, path) DO NOTHING RETURNING id, series_id, library_id`,
    [
      provisional,
      rows.map((row) => row.id),
      rows.map((row) => row.series),
      rows.map((row) => `${library.path}/${row.file.path}`),
      rows.map((row) => row.fileName),
      rows.map((row) => row.format as string),
      rows.map((row) => row.file.bytes),
      rows.map((row) => String(row.file.mtimeNs)),
      rows.map((row) => row.title),
      rows.map((row) => row.number ?? null) as number[],
      rows.map((row) => row.volume) as number[],
      rows.map((row) => row.chapter) as number[],
      rows.map((row) => row.file.sidecars) as string[],
      rows.map((row) => row.layoutValues && JSON.stringify(row.layoutValues)) as string[],
      rows.map((row) => row.isSide),
      library.id,
    ],
  )
  await announce(
    trx,
    inserted.map((row: Parameters<typeof bookEvent>[1]) => ({ event: bookEvent('book_created', row) })),
  )
  return new Set(inserted.map((row: { id: string }) => row.id))
}

/** The columns of new books: their series, and what names and strategies give. */
async function rowsOf(
  trx: Knex.Transaction,
  { library, walked, rules }: Pick<NewBooks, 'library' | 'rules'> & { walked: WalkedFolders },
  fresh: readonly { id: string; file: SeenFile }[],
) {
  const layout = layoutOf(library.series_strategy, library.series_config)
  const places = await placeFiles(
    trx,
    { library, layout, rules, walked },
    fresh.map(({ file }) => file.path),
  )
  const { ids } = await ensureSeries(
    trx,
    { library, rules },
    places.map(({ series }) => series),
  )
  const books = fresh.map(({ id, file }, index) => {
    const fileName = file.path.slice(file.path.lastIndexOf('/') + 1)
    const place = places[index] as BookPlace
    const placed = placedBook(fileName, place)
    const series = ids.get(placeKey(place.series)) as string
    return { id, file, fileName, series, format: formatOfName(fileName), placed, fields: fieldsOfPlaced(fileName, placed) }
  })
  const titles = await strategyTitles(rules, library, await withSeriesTitles(trx, library, books))
  return books.map(({ placed, fields, ...book }, index) => {
    const title = titles[index] ?? null
    const layoutValues = title === null ? placed.layoutValues : { ...placed.layoutValues, strategyTitle: title }
    return { ...book, ...namedFields(library.number_strategy, fields), title: title ?? fields.title, layoutValues, isSide: placed.isSide }
  })
}

/** The books with the titles of their series; read only for the strategy that uses them. */
async function withSeriesTitles<Book extends { series: string }>(
  trx: Knex.Transaction,
  library: LibraryRow,
  books: readonly Book[],
): Promise<(Book & { seriesTitle: string })[]> {
  if (library.book_strategy !== 'series_name' && library.book_strategy !== 'custom')
    return books.map((book) => ({ ...book, seriesTitle: '' }))
  const rows: { id: string; title: string }[] = await trx('series')
    .whereIn('id', [...new Set(books.map(({ series }) => series))])
    .select('id', 'title')
  const titles = new Map(rows.map(({ id, title }) => [id, title]))
  return books.map((book) => ({ ...book, seriesTitle: titles.get(book.series) ?? '' }))
}
