import t from 'tap'
import { findShelf, listCollectionSeries, listReadListBooks, listShelves } from '#core/shelves/shelf-query.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'

t.test('the cover of a shelf is that of the member that comes first for the caller', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const kept = await addCaller(database)
  const library_id = await addLibrary(database)
  const add = async (title: string, cover: string | null, year: number) => {
    const series_id = await addSeries(database, { library_id, title })
    const book = await addBook(database, { library_id, series_id, title, cover_hash: cover })
    await database('book_metadata').insert({ book_id: book, year })
    return { series_id, book }
  }
  const zebra = await add('Zebra', 'aa11', 1990)
  const alpha = await add('Alpha', 'bb22', 2010)
  const bare = await add('Bare', null, 2000)
  const covers = new Map<string, string | null>([
    ...[zebra.series_id, zebra.book].map((id): [string, string] => [id, 'aa11']),
    ...[alpha.series_id, alpha.book].map((id): [string, string] => [id, 'bb22']),
    ...[bare.series_id, bare.book].map((id): [string, null] => [id, null]),
  ])
  await shareSeries(database, { seriesId: zebra.series_id, caller: kept, mode: 'deny' })
  const orders = [
    [zebra, alpha, bare],
    [bare, zebra, alpha],
    [alpha, zebra, bare],
  ]
  const seen: unknown[] = []
  for (const [index, members] of orders.entries()) {
    for (const ordered of [true, false]) {
      const [collection] = await database('collections').insert({ name: `C ${index} ${ordered}`, ordered }, 'id')
      const [readList] = await database('read_lists').insert({ name: `R ${index} ${ordered}`, ordered }, 'id')
      for (const [position, { series_id, book }] of members.entries()) {
        await database('collection_series').insert({ collection_id: collection.id, series_id, position })
        await database('read_list_books').insert({ read_list_id: readList.id, book_id: book, position })
      }
      for (const viewer of [caller, kept]) {
        const first = { offset: 0, limit: 1, sort: null }
        const [series, books] = await Promise.all([
          listCollectionSeries(database, viewer, { ...first, shelf: { id: collection.id, ordered } }),
          listReadListBooks(database, viewer, { ...first, shelf: { id: readList.id, ordered } }),
        ])
        const [one, other] = await Promise.all([
          findShelf(database, viewer, 'collection', collection.id),
          findShelf(database, viewer, 'read_list', readList.id),
        ])
        const shown = [one?.cover?.version ?? null, other?.cover?.version ?? null]
        t.same(shown, [covers.get(series.items[0]?.id as string), covers.get(books.items[0]?.id as string)])
        if (viewer === kept) t.notOk(shown.includes('aa11'), 'not the cover of a hidden member')
        seen.push(...shown)
      }
    }
  }
  t.same(new Set(seen), new Set(['aa11', 'bb22', null]), 'each was first somewhere')
  const { items } = await listShelves(database, kept, 'read_list', { offset: 0, limit: 10 })
  t.equal(items.length, 6)
  t.notOk(items.some(({ cover }) => cover?.version === 'aa11'))
})
