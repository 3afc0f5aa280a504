import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import type { BookToAnalyze } from '#core/analysis/book-to-analyze-store.ts'
import { missingSuffix } from '#core/catalog/library-folder.ts'
import { announce, announceBooks, bookEvent } from '#core/events/event-store.ts'
import { namedFields } from '#core/fields/number-strategy.ts'
import { fieldsOfPlaced, type PlacedValues } from '#core/fields/placed-values.ts'
import { markBooksChanged } from '#core/metadata/series-aggregate-store.ts'

/** What belongs to a file and its path. */
export const OF_FILE = [
  'path',
  'file_name',
  'library_id',
  'series_id',
  'file_size',
  'file_mtime_ns',
  'file_format',
  'retry_due',
  'sidecars',
  'layout_values',
  'side',
] as const

/** A path, and what it gives to the book that has it. */
interface Home {
  path: string
  file_name: string
  library_id: string
  series_id: string
  layout_values: PlacedValues | null
  side: boolean
}

/** The file at the path of a displaced book has another content than the book: the book is missing, and the file is a new one. Returns the id of that. */
export async function loseDisplaced(trx: Knex.Transaction, book: BookToAnalyze): Promise<string> {
  const file = await trx('books').where('id', book.id).forUpdate().first(OF_FILE)
  await loseBook(trx, book)
  const id = randomUUID()
  await trx('books').insert({ ...file, ...namesOf(book, file), id })
  await announceBooks(trx, [book.id], ['filePath', 'seriesId', 'libraryId', 'deleted'])
  await announce(trx, [{ event: bookEvent('book_created', { ...book, id }) }])
  await markBooksChanged(trx, [book.id, id])
  return id
}

/**
 * Files of other books have pushed this one from its path, and its content is in no file that was read: it is missing where it was. Not because of a disk
 * that is not mounted, since another file is there.
 */
export async function loseBook(
  trx: Knex.Transaction,
  book: Pick<BookToAnalyze, 'id' | 'displaced_from' | 'described' | 'number_strategy'>,
): Promise<void> {
  const home = book.displaced_from === null ? null : await findHome(trx, book.displaced_from)
  const at: Home =
    home ?? (await trx('books').where('id', book.id).first('path', 'file_name', 'library_id', 'series_id', 'layout_values', 'side'))
  await trx('books')
    .where('id', book.id)
    .update({
      ...at,
      ...(!book.described && namesOf(book, at)),
      path: book.displaced_from === null ? at.path : at.path + missingSuffix(book.id),
      displaced_from: null,
      deleted_at: trx.fn.now(),
      updated_at: trx.fn.now(),
      missing_since: trx.fn.now(),
      missing_why: 'file',
    })
}

/** The book that has the path now says which series that belongs to; null if there is none. */
async function findHome(trx: Knex.Transaction, path: string): Promise<Home | null> {
  const { rows } = await trx.raw(
    `SELECT b.path, b.file_name, b.library_id, b.series_id, b.layout_values, b.side FROM libraries l JOIN books b ON b.library_id = l.id WHERE b.path = ?`,
    [path],
  )
  return rows[0] ?? null
}

function namesOf({ number_strategy }: Pick<BookToAnalyze, 'number_strategy'>, { file_name, layout_values, side }: Home) {
  const { title, number, volume, chapter } = fieldsOfPlaced(file_name, { layoutValues: layout_values, isSide: side })
  const named = namedFields(number_strategy, { number, volume, chapter })
  return { number: null, ...named, title }
}
