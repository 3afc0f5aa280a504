import { randomBytes } from 'node:crypto'
import { stat, utimes, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Knex } from 'knex'
import sharp from 'sharp'
import type { Analysis, Page, PageSource } from '#core/fields/analysis.ts'
import type { BookFormat } from '#core/fields/book-format.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'

/** A picture of noise: it does not compress, so it has the size of a scanned page. As GIF it has one color, which is faster. */
export async function noisePicture(options: { width: number; height: number; format?: 'jpeg' | 'png' | 'webp' | 'gif' }): Promise<Buffer> {
  const { width, height, format = 'jpeg' } = options
  const pixels = format === 'gif' ? Buffer.alloc(width * height * 3, 99) : randomBytes(width * height * 3)
  return await sharp(pixels, { raw: { width, height, channels: 3 } })
    .toFormat(format)
    .toBuffer()
}

/** Writes the file and inserts the rows of its analysis; `pages` are the pages of the analysis. */
export async function addPagedBook(
  database: Knex,
  book: {
    folder: string
    fileName: string
    bytes: Uint8Array
    format: BookFormat
    pageSource: PageSource
    pages: Page[]
    series?: { library_id: string; series_id: string }
    row?: Record<string, unknown>
  },
): Promise<{ id: string; path: string; series_id: string; fileHash: string }> {
  // The server sends files only from inside the folder of their library.
  const there = await database('libraries').where('path', book.folder).first('id')
  const library_id = book.series?.library_id ?? there?.id ?? (await addLibrary(database, { path: book.folder }))
  const series_id = book.series?.series_id ?? (await addSeries(database, { library_id, title: book.fileName }))
  const path = join(book.folder, book.fileName)
  await writeFile(path, book.bytes)
  const facts = await stat(path, { bigint: true })
  const fileHash = randomBytes(32).toString('hex')
  const id = await addBook(database, {
    ...{ library_id, series_id, title: book.fileName, path, file_name: book.fileName, file_format: book.format },
    ...{ file_size: String(facts.size), file_mtime_ns: String(facts.mtimeNs), file_hash: fileHash },
    ...{ page_source: book.pageSource, page_count: book.pages.length, ...book.row },
  })
  await database('book_pages').insert({ book_id: id, pages: JSON.stringify(book.pages) })
  return { id, path, series_id, fileHash }
}

/** Changes one byte of a file, but not its size and time. */
export async function damageQuietly(
  database: Knex,
  book: { id: string; path: string },
  change: (bytes: Buffer) => Buffer,
  bytes: Buffer,
): Promise<void> {
  await writeFile(book.path, change(bytes))
  await utimes(book.path, 1_700_000_000, 1_700_000_000)
  const facts = await stat(book.path, { bigint: true })
  await database('books')
    .where({ id: book.id })
    .update({ file_mtime_ns: String(facts.mtimeNs), file_size: String(facts.size) })
}

/** Inserts the rows of a file after a real analysis. */
export async function addAnalyzedFile(database: Knex, path: string, analysis: Analysis): Promise<{ id: string }> {
  if (!analysis.file || !analysis.format) throw new Error(`${path} could not be analyzed: ${JSON.stringify(analysis.problems)}`)
  const there = await database('libraries').where('path', dirname(path)).first('id')
  const library_id = there?.id ?? (await addLibrary(database, { path: dirname(path) }))
  const series_id = await addSeries(database, { library_id, title: basename(path) })
  const id = await addBook(database, {
    ...{ library_id, series_id, title: basename(path), path, file_name: basename(path), file_format: analysis.format },
    ...{ file_size: analysis.file.bytes, file_mtime_ns: analysis.file.mtimeNs, file_hash: analysis.file.sha256 },
    ...{ page_source: analysis.pageSource, page_count: analysis.pageCount },
    state: analysis.problems.some((problem) => problem.fatal) ? 'failed' : 'analyzed',
  })
  await database('book_pages').insert({ book_id: id, pages: JSON.stringify(analysis.pages) })
  return { id }
}
