import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { Knex } from 'knex'
import type { Page } from '#core/fields/analysis.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { addPagedBook, noisePicture } from '#test/support/paged-books.ts'

/** A hostile name: with markup, control characters and a noncharacter. */
export const HOSTILE = 'Tom & "Jerry" <b>\u0007\u001b]]>\ufffe 漫画 🐉'

/** Two libraries with books of every format, and everything that links to books; some of it with hostile names. */
export async function addCatalog(database: Knex, folder: string, userId: string) {
  const comics = await addLibrary(database, { name: `Comics ${HOSTILE}`, path: join(folder, 'library') })
  mkdirSync(join(folder, 'library'), { recursive: true })
  const prose = await addLibrary(database, { name: 'Prose' })
  const saga = await addSeries(database, { library_id: comics, title: 'Saga', reading_direction: 'rtl' })
  const hostile = await addSeries(database, { library_id: comics, title: HOSTILE, reading_direction: 'webtoon' })
  const novels = await addSeries(database, { library_id: prose, title: 'Novels' })

  const paged = await addPages(database, { folder: join(folder, 'library'), library_id: comics, series_id: saga })
  const inSaga = { library_id: comics, series_id: saga, page_source: 'zip', page_count: 20 }
  const two = await addBook(database, { ...inSaga, title: 'Saga 2', number: 2.5 })
  const three = await addBook(database, { ...inSaga, title: 'Chapter 3', number: 3, file_format: 'cbr', page_source: 'rar' })
  const inNovels = { library_id: prose, series_id: novels }
  const epub = await addBook(database, { ...inNovels, title: HOSTILE, file_format: 'epub', page_source: 'none', page_count: 99 })
  const pdf = await addBook(database, { ...inNovels, title: 'A PDF', file_format: 'pdf', page_source: 'pdf', page_count: 3 })
  const pending = await addBook(database, { library_id: comics, series_id: hostile, title: 'New', state: 'pending', analyzed_at: null })
  const many = Array.from({ length: 60 }, (_, index) => ({ name: `Person ${index} ${HOSTILE}`, role: 'writer' }))
  const authors = [
    { name: 'Fiona', role: 'penciller' },
    { name: 'Brian', role: 'writer', sortName: 'K, Brian' },
    { name: 'Cover', role: 'cover_artist' },
  ]
  await database('book_metadata').insert([
    {
      book_id: paged.id,
      authors: JSON.stringify(authors),
      year: 2012,
      month: 3,
      publisher: 'Image',
      language_iso: 'en-US',
      summary: 'A war.',
    },
    { book_id: epub, authors: JSON.stringify(many), year: -44, summary: HOSTILE.repeat(100), publisher: HOSTILE, language_iso: HOSTILE },
    { book_id: pdf, year: 2020, language_iso: 'deutsch?', isbns: '9780306406157, nonsense' },
  ])
  await database('series_metadata').insert([
    { series_id: saga, publisher: 'Image', summary: HOSTILE },
    { series_id: hostile, publisher: HOSTILE },
    { series_id: novels, publisher: 'image' },
  ])
  const [genre] = await database('genres').insert(
    { name: `Space ${HOSTILE.replace('\u0007', '').replace('\u001b', '')}`, name_key: 'space' },
    'id',
  )
  await database('series_genres').insert([saga, novels].map((series_id) => ({ series_id, genre_id: genre.id })))
  await database('book_genres').insert({ book_id: paged.id, genre_id: genre.id })
  const [collection] = await database('collections').insert({ name: `Collection ${HOSTILE}`, summary: 'Of two.' }, 'id')
  await database('collection_series').insert(
    [saga, novels].map((series_id, position) => ({ collection_id: collection.id, series_id, position })),
  )
  const [readList] = await database('read_lists').insert({ name: 'An order' }, 'id')
  await database('read_list_books').insert([pdf, two].map((book_id, position) => ({ read_list_id: readList.id, book_id, position })))
  await database('read_progress').insert([
    { user_id: userId, book_id: paged.id, current_page: 2, completed: true },
    { user_id: userId, book_id: pdf, current_page: 2, percentage: 0.5, completed: false },
  ])
  return {
    comics,
    prose,
    saga,
    hostile,
    novels,
    paged: paged.id,
    two,
    three,
    epub,
    pdf,
    pending,
    collectionId: collection.id as string,
    readListId: readList.id as string,
  }
}

/** A comic on disk whose pages are a JPEG, a PNG and a WebP. */
async function addPages(database: Knex, { folder, ...series }: { folder: string; library_id: string; series_id: string }) {
  const pictures = await Promise.all((['jpeg', 'png', 'webp'] as const).map((format) => noisePicture({ width: 500, height: 700, format })))
  const pages: Page[] = []
  let offset = 0
  for (const [index, format] of (['jpeg', 'png', 'webp'] as const).entries()) {
    const bytes = pictures[index] as Buffer
    pages.push({
      ...{ name: `${index + 1}.${format}`, mediaType: `image/${format}`, width: 500, height: 700, bytes: bytes.length },
      zip: { offset, compressedBytes: bytes.length, method: 0, crc32: crc32(bytes) },
    })
    offset += bytes.length
  }
  return await addPagedBook(database, {
    ...{ folder, fileName: 'Saga 1.cbz', bytes: Buffer.concat(pictures), format: 'cbz', pageSource: 'zip', pages, series },
    row: { title: 'Saga 1', number: 1 },
  })
}
