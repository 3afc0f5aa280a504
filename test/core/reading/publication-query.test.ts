import t from 'tap'
import { IN_LIST, listPublicationMetadata, WHOLE } from '#core/reading/publication-query.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'

t.test('a list contains the beginning of texts, an entry all of them', async (t) => {
  const { database } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'S' })
  const bare = await addBook(database, { library_id, series_id, title: 'Bare' })
  const full = await addBook(database, { library_id, series_id, title: 'Full', number: 1.5, page_source: 'zip' })
  const authors = JSON.stringify(Array.from({ length: 30 }, (_, index) => ({ name: `Person ${index}`, role: 'writer' })))
  await database('book_metadata').insert({ book_id: full, authors, summary: '漫'.repeat(2_000), publisher: 'p'.repeat(900), year: 1999 })
  const short = await listPublicationMetadata(database, [bare, full], IN_LIST)
  t.match(short.get(bare), { number: null, summary: null, authors: [], pageSource: 'none' })
  t.match(short.get(full), { number: 1.5, year: 1999, month: null, pageSource: 'zip' })
  t.same([short.get(full)?.summary?.length, short.get(full)?.publisher?.length, short.get(full)?.authors.length], [500, 200, 10])
  t.equal(short.get(full)?.authors[0]?.name, 'Person 0')
  const whole = (await listPublicationMetadata(database, [full], WHOLE)).get(full)
  t.same([whole?.summary?.length, whole?.publisher?.length, whole?.authors.length], [2_000, 900, 30])
  t.equal((await listPublicationMetadata(database, [], IN_LIST)).size, 0)
})

t.test('the type of the pages of a book, if they all have one', async (t) => {
  const { database } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'S' })
  const cases: [types: string[], type: string | null][] = [
    [['image/png', 'image/png'], 'image/png'],
    [['image/jpeg', 'image/png'], null],
    [[], null],
  ]
  for (const [types, type] of cases) {
    const book_id = await addBook(database, { library_id, series_id, title: 'B' })
    t.equal((await listPublicationMetadata(database, [book_id], WHOLE)).get(book_id)?.pageType, null, 'before its analysis')
    await database('book_pages').insert({ book_id, pages: JSON.stringify(types.map((mediaType) => ({ mediaType }))) })
    t.equal((await listPublicationMetadata(database, [book_id], WHOLE)).get(book_id)?.pageType, type, types.join())
    await database('book_pages')
      .where({ book_id })
      .update({ pages: JSON.stringify([{ mediaType: 'image/gif' }]) })
    t.equal((await listPublicationMetadata(database, [book_id], WHOLE)).get(book_id)?.pageType, 'image/gif', 'after another analysis')
  }
})
