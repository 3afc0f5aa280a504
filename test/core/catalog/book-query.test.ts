import type { Knex } from 'knex'
import t from 'tap'
import type { Caller } from '#core/account/caller.ts'
import type { Book } from '#core/catalog/book.ts'
import { type BookFilter, findAdjacentBooks, getBook, listBooks, listBooksByIds, listSeriesBooks } from '#core/catalog/book-query.ts'
import { readBookSort } from '#core/catalog/book-sort-query.ts'
import { findContract } from '#test/support/contract.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'

const checkBook = findContract('Book')

/** All titles of a list, read page by page. */
async function walk(database: Knex, caller: Caller, options: { sort?: string; filter?: BookFilter; pageSize: number }): Promise<Book[]> {
  const books: Book[] = []
  for (let offset = 0; ; offset += options.pageSize) {
    const list = { filter: options.filter ?? {}, sort: readBookSort(options.sort), offset, limit: options.pageSize }
    const { items, total } = await listBooks(database, caller, list)
    books.push(...items)
    if (items.length === 0) {
      if (books.length !== total) throw new Error(`${books.length} books on all pages, but a total of ${total}`)
      return books
    }
  }
}

t.test('a book in the API', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database, { name: 'Comics', path: '/shelf', default_reading_direction: 'rtl' })
  const series_id = await addSeries(database, { library_id, title: 'Saga' })
  const id = await addBook(database, {
    ...{ library_id, series_id, title: 'Saga 1', title_sort: 'Saga 001', number: 1, volume: 2, chapter: 3.5, page_count: 24 },
    ...{ file_size: '5000000000', path: '/shelf/Saga/1.cbz', file_hash: 'ab'.repeat(32), reader_hash: 'cd'.repeat(16) },
  })
  const book = await getBook(database, caller, id)
  const { createdAt, updatedAt, ...rest } = book
  t.same(rest, {
    ...{
      id,
      libraryId: library_id,
      libraryName: 'Comics',
      seriesId: series_id,
      seriesName: 'Saga',
      title: 'Saga 1',
      titleSort: 'Saga 001',
    },
    ...{
      filePath: 'Saga/1.cbz',
      fileFormat: 'cbz',
      fileSize: 5_000_000_000,
      fileHash: 'ab'.repeat(32),
      readerHash: 'cd'.repeat(16),
    },
    ...{
      pageCount: 24,
      number: 1,
      numberLabel: '1',
      volume: 2,
      chapter: 3.5,
      analyzed: true,
      analysisError: null,
      deleted: false,
      missing: null,
      readProgress: null,
      readCount: 0,
      lastReadAt: null,
    },
    readingDirection: 'rtl',
    language: null,
    cover: null,
  })
  t.match([createdAt, updatedAt], [/^\d{4}-\d\d-\d\dT.*Z$/, /Z$/])
  t.same(checkBook(book), [])

  const fresh = await addBook(database, { library_id, series_id, title: 'New', state: 'pending', file_hash: null, reader_hash: null })
  const unhashed = await getBook(database, caller, fresh)
  t.equal(unhashed.fileHash, `unhashed:${fresh}`, 'never empty, and never equal to that of another book')
  t.equal(unhashed.analyzed, false)
  t.same(checkBook(unhashed), [])

  await database('series').where({ id: series_id }).update({ reading_direction: 'webtoon' })
  t.equal((await getBook(database, caller, id)).readingDirection, 'webtoon', "the series' direction stands above the library's")

  const half = await addBook(database, { library_id, series_id, title: 'Half', number: 1.5 })
  t.equal((await getBook(database, caller, half)).number, 1, 'half an issue has the whole number before it, beside its label')

  const failed = await addBook(database, { library_id, series_id, title: 'Broken', state: 'failed' })
  await database('book_errors').insert([
    { book_id: failed, error_type: 'thumbnail', message: 'No cover', fatal: false },
    { book_id: failed, error_type: 'parser', message: 'Cut off', fatal: true },
  ])
  await database('book_errors').insert({ book_id: id, error_type: 'metadata', message: 'Odd', fatal: false })
  t.match(await getBook(database, caller, failed), { analyzed: false, analysisError: 'Cut off' })
  t.equal((await getBook(database, caller, id)).analysisError, null, 'a readable book with a lesser error has not failed')
  await t.rejects(getBook(database, caller, library_id), { code: 'not_found' })
  t.equal((await listBooksByIds(database, caller, [])).size, 0)
})

t.test('lists are sorted, and no page repeats or misses a book', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const b = await addSeries(database, { library_id, title: 'b' })
  const a = await addSeries(database, { library_id, title: 'A' })
  const twin = await addSeries(database, { library_id, title: 'A' })
  const day = (n: number) => new Date(Date.UTC(2024, 0, n))
  const rows = [
    { series_id: b, title: 'Vol 10', number: 10, file_size: 5, page_count: 1, created_at: day(1), file_name: 'x10.cbz' },
    { series_id: b, title: 'Vol 9', number: 9, file_size: 4, page_count: 2, created_at: day(2), file_name: 'x9.cbz' },
    { series_id: b, title: 'vol 1', number: 1, file_size: 3, page_count: 3, created_at: day(3), file_name: 'X1.cbz' },
    {
      series_id: a,
      title: 'The Zoo',
      title_sort: 'Zoo',
      number: null,
      file_size: 2,
      page_count: 4,
      created_at: day(4),
      file_name: 'a.cbz',
    },
    { series_id: a, title: 'Éclair', number: 2.5, file_size: 1, page_count: 5, created_at: day(5), file_name: 'b.cbz' },
  ]
  for (const row of rows) await addBook(database, { library_id, ...row })
  const titles = async (sort?: string) =>
    (await walk(database, caller, { ...(sort === undefined ? {} : { sort }), pageSize: 2 })).map((x) => x.title)
  const byTitle = ['Éclair', 'vol 1', 'Vol 9', 'Vol 10', 'The Zoo']
  const byNumber = ['vol 1', 'Éclair', 'Vol 9', 'Vol 10', 'The Zoo']
  const bySize = ['Éclair', 'The Zoo', 'vol 1', 'Vol 9', 'Vol 10']
  const table: [string | undefined, string[]][] = [
    [undefined, byTitle],
    ['', byTitle],
    ['title', byTitle],
    ['title,asc', byTitle],
    ['title,DESC', byTitle.toReversed()],
    ['series,asc', ['Éclair', 'The Zoo', 'vol 1', 'Vol 9', 'Vol 10']],
    ['series,desc', ['vol 1', 'Vol 9', 'Vol 10', 'Éclair', 'The Zoo']],
    ['number,asc', byNumber],
    ['chapter_number,asc', byNumber],
    ['number,desc', ['Vol 10', 'Vol 9', 'Éclair', 'vol 1', 'The Zoo']],
    ['file_size,asc', bySize],
    ['file_size,desc', bySize.toReversed()],
    ['created_at,asc', rows.map((row) => row.title)],
    ['date_added,desc', rows.map((row) => row.title).toReversed()],
    ['page_count,asc', rows.map((row) => row.title)],
    ['filename,asc', ['The Zoo', 'Éclair', 'vol 1', 'Vol 9', 'Vol 10']],
  ]
  for (const [sort, expected] of table) t.same(await titles(sort), expected, `sort=${sort}`)
  for (const sort of ['nonsense', 'constructor,asc', 'title,up', 'title,asc,desc', ',asc']) {
    t.throws(() => readBookSort(sort), { code: 'invalid_request' }, `sort=${sort} is refused`)
  }

  // Everything equal: only the id distinguishes them.
  for (let i = 0; i < 60; i++) {
    await addBook(database, {
      library_id,
      series_id: i % 2 ? a : twin,
      title: 'Same',
      created_at: day(9),
      file_name: 'same.cbz',
      number: 7,
    })
  }
  for (const [sort] of table) {
    const ids = (await walk(database, caller, { ...(sort === undefined ? {} : { sort }), pageSize: 7 })).map((book) => book.id)
    t.equal(new Set(ids).size, 65, `sort=${sort}: every book exactly once`)
  }
  const bySeries = (await walk(database, caller, { sort: 'series,asc', pageSize: 100 })).map((book) => book.seriesId)
  const changes = bySeries.filter((id, index) => id !== bySeries[index - 1])
  t.equal(changes.length, 3, 'series of one name are not shuffled together')
  const beyond = await listBooks(database, caller, { filter: {}, sort: readBookSort('title'), offset: 1000, limit: 10 })
  t.same([beyond.items.length, beyond.total], [0, 65])
})

t.test('an order by what the caller has read follows each change', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'A' })
  const ids: string[] = []
  for (let at = 0; at < 4; at++) ids.push(await addBook(database, { library_id, series_id, title: `${at}` }))
  const read = (at: number, time: number) =>
    database('read_progress')
      .insert({ user_id: caller.userId, book_id: ids[at], current_page: 1, updated_at: new Date(time) })
      .onConflict(['user_id', 'book_id'])
      .merge(['updated_at'])
  const page = async (offset: number) => {
    const list = { filter: {}, sort: readBookSort('last_read,desc'), offset, limit: 2 }
    return (await listBooks(database, caller, list)).items.map(({ id }) => ids.indexOf(id))
  }
  for (let at = 0; at < 4; at++) await read(at, 1_000 * (at + 1))
  t.same(
    [await page(0), await page(1), await page(2)],
    [
      [3, 2],
      [2, 1],
      [1, 0],
    ],
  )
  await read(0, 9_000)
  t.same(
    [await page(0), await page(1), await page(2)],
    [
      [0, 3],
      [3, 2],
      [2, 1],
    ],
  )
})

t.test('lists of books show only what matches and may be seen', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const other = await addLibrary(database)
  const open = await addSeries(database, { library_id, title: 'Open' })
  const secret = await addSeries(database, { library_id, title: 'Secret' })
  const elsewhere = await addSeries(database, { library_id: other, title: 'Elsewhere' })
  const seen = await addBook(database, { library_id, series_id: open, title: 'Seen' })
  const hidden = await addBook(database, { library_id, series_id: secret, title: 'Hidden' })
  await addBook(database, { library_id, series_id: open, title: 'Gone', deleted_at: new Date() })
  await addBook(database, { library_id: other, series_id: elsewhere, title: 'Far' })
  const titles = async (who: Caller, filter: BookFilter) => (await walk(database, who, { filter, pageSize: 2 })).map((book) => book.title)

  t.same(await titles(caller, {}), ['Far', 'Hidden', 'Seen'])
  t.same(await titles(caller, { includeDeleted: true }), ['Far', 'Gone', 'Hidden', 'Seen'])
  t.same(await titles(caller, { libraryId: library_id }), ['Hidden', 'Seen'])
  t.same(await titles(caller, { libraryId: library_id, seriesId: open, includeDeleted: true }), ['Gone', 'Seen'])
  t.same(await titles(caller, { libraryId: other, seriesId: open }), [])

  const denied = await addCaller(database)
  await shareSeries(database, { seriesId: secret, caller: denied, mode: 'deny' })
  t.same(await titles(denied, { includeDeleted: true }), ['Far', 'Gone', 'Seen'])
  const allowed = await addCaller(database)
  await shareSeries(database, { seriesId: open, caller: allowed, mode: 'allow' })
  t.same(await titles(allowed, {}), ['Seen'], 'an allowance hides everything else')
  for (const who of [denied, allowed]) {
    await t.rejects(getBook(database, who, hidden), { code: 'not_found' })
    await t.rejects(findAdjacentBooks(database, who, hidden), { code: 'not_found' })
    await t.rejects(listSeriesBooks(database, who, { seriesId: secret, includeDeleted: false }), { code: 'not_found' })
    t.equal((await getBook(database, who, seen)).title, 'Seen')
  }
})

t.test('neighbors and the books of a series are in reading order', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Run' })
  const add = (title: string, more: Record<string, unknown> = {}) => addBook(database, { library_id, series_id, title, ...more })
  await add('Extra b', { number: null })
  await add('Extra a', { number: null })
  await add('Ten', { number: 10 })
  const one = await add('One', { number: 1 })
  await add('Two again', { number: 2, title_sort: 'two 2' })
  await add('Two', { number: 2, title_sort: 'two 1' })
  const gone = await add('Gone', { number: 3, deleted_at: new Date() })
  const order = ['One', 'Two', 'Two again', 'Ten', 'Extra a', 'Extra b']

  const books = await listSeriesBooks(database, caller, { seriesId: series_id, includeDeleted: false })
  t.same(
    books.map((book) => book.title),
    order,
  )
  t.equal((await listSeriesBooks(database, caller, { seriesId: series_id, includeDeleted: true })).length, 7)
  const forward: string[] = []
  for (let at: string | undefined = one; at; ) {
    const { next } = await findAdjacentBooks(database, caller, at)
    if (next) forward.push(next.title)
    at = next?.id
  }
  t.same(forward, order.slice(1), 'going forward meets every book once and steps over the deleted one')
  for (const [index, book] of books.entries()) {
    const { prev, next } = await findAdjacentBooks(database, caller, book.id)
    t.same([prev?.title, next?.title], [order[index - 1], order[index + 1]], `around ${book.title}`)
  }
  const around = await findAdjacentBooks(database, caller, gone)
  t.same([around.prev?.title, around.next?.title], ['Two again', 'Ten'], 'a deleted book still knows its place')
})

t.test('the list of books of a series is limited before it delays other requests', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Daily' })
  const add = (from: number, to: number) =>
    database.raw(
      `INSERT INTO books (library_id, series_id, title, path, file_name, file_format, file_size, file_mtime_ns, state, number)
       SELECT ?, ?, n::text, '/daily/' || n || '.cbz', n || '.cbz', 'cbz', 1, 1, 'pending', n FROM generate_series(?::int, ?::int) AS n`,
      [library_id, series_id, from, to],
    )
  await add(1, 2000)
  const list = () => listSeriesBooks(database, caller, { seriesId: series_id, includeDeleted: false })
  t.equal((await list()).at(-1)?.title, '2000')
  await add(2001, 2001)
  await t.rejects(list(), { code: 'invalid_value', message: /more than 2000 books.*seriesId=/ })
})
