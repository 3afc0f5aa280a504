import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import type { BookToAnalyze } from '#core/analysis/book-to-analyze-store.ts'
import { OF_FILE } from '#core/analysis/relink-store.ts'
import { missingSuffix } from '#core/catalog/library-folder.ts'
import { announce, announceBooks, bookEvent } from '#core/events/event-store.ts'
import { namedFields } from '#core/fields/number-strategy.ts'
import { fieldsOfPlaced, type PlacedValues } from '#core/fields/placed-values.ts'
import { markBooksChanged } from '#core/metadata/series-aggregate-store.ts'

/** Where a missing book belongs. */
interface Home {
  path: string
  library_id: string
  series_id: string
  layout_values: PlacedValues | null
  side: boolean
}

/**
 * The files of other books have pushed this one from its path, its content is in no file, and the file at its present path has another one: the book is
 * missing where it was, and the file is a new book. Returns the id of that.
 */
export async function loseDisplaced(trx: Knex.Transaction, book: BookToAnalyze): Promise<string> {
  const home = await findHome(trx, book)
  const { file_name, layout_values, side, ...more } = await trx('books').where('id', book.id).forUpdate().first(OF_FILE)
  await trx('books')
    .where('id', book.id)
    .update({
      ...home,
      path: home.path + missingSuffix(book.id),
      file_name: home.path.slice(home.path.lastIndexOf('/') + 1),
      displaced_from: null,
      deleted_at: trx.fn.now(),
      updated_at: trx.fn.now(),
      missing_since: trx.fn.now(),
      missing_why: 'file',
    })
  const { title, ...names } = fieldsOfPlaced(file_name, { layoutValues: layout_values, isSide: side })
  const { number = null, volume, chapter } = namedFields(book.number_strategy, names)
  const id = randomUUID()
  await trx('books').insert({ ...more, id, file_name, layout_values, side, title, number, volume, chapter })
  await announceBooks(trx, [book.id], ['filePath', 'seriesId', 'libraryId', 'deleted'])
  await announce(trx, [{ event: bookEvent('book_created', { ...book, id }) }])
  await markBooksChanged(trx, [book.id, id])
  return id
}

/** The series of the book that has the former path now; if there is none, the present one. */
async function findHome(trx: Knex.Transaction, { displaced_from, ...book }: BookToAnalyze): Promise<Home> {
  const { rows } = await trx.raw(
    'SELECT b.path, b.library_id, b.series_id, b.layout_values, b.side FROM libraries l JOIN books b ON b.library_id = l.id WHERE b.path = ?',
    [displaced_from],
  )
  const { path, library_id, series_id, layout_values, side } = rows[0] ?? book
  return { path, library_id, series_id, layout_values, side }
}
