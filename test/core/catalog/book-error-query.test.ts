import t from 'tap'
import { listBooksWithErrors } from '#core/catalog/book-error-query.ts'
import { findContract } from '#test/support/contract.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'

const checkErrors = findContract('BooksWithErrors')

t.test('books with errors, grouped by type', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const other = await addLibrary(database)
  const series = await addSeries(database, { library_id, title: 'Run' })
  const secret = await addSeries(database, { library_id, title: 'Secret' })
  const far = await addSeries(database, { library_id: other, title: 'Far' })
  const list = (who = caller, filter = {}, page = 0, pageSize = 50) => listBooksWithErrors(database, who, { filter, page, pageSize })

  const none = await list()
  t.same(none, { errorCounts: {}, groups: [], page: 0, pageSize: 50, totalBooksWithErrors: 0, totalPages: 0 })

  const fail = async (place: { library_id: string; series_id: string }, title: string, types: string[], more = {}) => {
    const id = await addBook(database, { ...place, title, state: 'failed', ...more })
    for (const error_type of types) {
      const details = error_type === 'parser' ? { offset: 12 } : null
      await database('book_errors').insert({ book_id: id, error_type, message: `${title}: ${error_type}`, fatal: true, details })
    }
    return id
  }
  for (const n of [10, 9, 2, 1]) await fail({ library_id, series_id: series }, `Book ${n}`, ['parser'])
  await fail({ library_id, series_id: series }, 'Both', ['parser', 'thumbnail'])
  await fail({ library_id, series_id: secret }, 'Hidden', ['zero_pages', 'parser'])
  await fail({ library_id: other, series_id: far }, 'Abroad', ['thumbnail'])
  await fail({ library_id, series_id: series }, 'Gone', ['parser'], { deleted_at: new Date() })
  await addBook(database, { library_id, series_id: series, title: 'Fine' })

  const all = await list()
  t.same(checkErrors(all), [])
  t.same(all.errorCounts, { parser: 6, thumbnail: 2, zero_pages: 1 })
  t.same([all.totalBooksWithErrors, all.totalPages], [7, 1])
  t.same(
    all.groups.map((group) => [group.errorType, group.label, group.count, group.books.map(({ book }) => book.title)]),
    [
      ['parser', 'Parser Error', 6, ['Book 1', 'Book 2', 'Book 9', 'Book 10', 'Both', 'Hidden']],
      ['thumbnail', 'Thumbnail Generation', 2, ['Abroad', 'Both']],
      ['zero_pages', 'Zero Pages', 1, ['Hidden']],
    ],
    'groups by label, books in natural order',
  )
  const both = all.groups[0]?.books.find(({ book }) => book.title === 'Both')
  t.match(both?.errors, [
    { errorType: 'parser', message: 'Both: parser', details: { offset: 12 }, occurredAt: /Z$/ },
    { errorType: 'thumbnail', message: 'Both: thumbnail' },
  ])
  t.notOk('details' in (both?.errors[1] ?? {}), 'no empty details')

  const seen = new Set<string>()
  for (let page = 0; page < 3; page++) {
    const part = await list(caller, {}, page, 2)
    t.same([part.page, part.pageSize, part.totalPages, part.totalBooksWithErrors], [page, 2, 3, 7])
    t.same(part.errorCounts, all.errorCounts, 'counts are about all pages')
    for (const group of part.groups) for (const { book } of group.books) seen.add(`${group.errorType} ${book.title}`)
  }
  t.equal(seen.size, 9, 'every book of every group on some page')
  t.same(
    (await list(caller, {}, 3, 2)).groups.flatMap((group) => group.books),
    [],
    'nothing past the end',
  )

  const counts = async (filter: object, who = caller) => {
    const { errorCounts, totalBooksWithErrors } = await list(who, filter)
    return { ...errorCounts, total: totalBooksWithErrors }
  }
  t.same(await counts({ libraryId: other }), { thumbnail: 1, total: 1 })
  t.same(await counts({ seriesId: secret }), { parser: 1, zero_pages: 1, total: 1 })
  t.same(await counts({ errorType: 'thumbnail' }), { thumbnail: 2, total: 2 })
  t.same(await counts({ libraryId: library_id, errorType: 'thumbnail' }), { thumbnail: 1, total: 1 })

  const denied = await addCaller(database)
  await shareSeries(database, { seriesId: secret, caller: denied, mode: 'deny' })
  t.same(await counts({}, denied), { parser: 5, thumbnail: 2, total: 6 }, 'hidden books are not counted')
  t.same(await counts({ seriesId: secret }, denied), { total: 0 })
})
