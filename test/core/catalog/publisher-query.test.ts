import t from 'tap'
import { listSeriesWords } from '#core/catalog/publisher-query.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'

t.test('publishers by name, once in any case, with only what the caller may see', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const add = async (title: string, publisher: string | null, books = 1) => {
    const series_id = await addSeries(database, { library_id, title })
    if (books > 0) await addBook(database, { library_id, series_id, title })
    await database('series_metadata').insert({ series_id, publisher })
    return series_id
  }
  await add('One', 'Image')
  await add('Two', ' image ')
  await add('Three', 'Åse')
  await add('Four', null)
  await add('Five', '  ')
  await add('Six', 'x'.repeat(501))
  await add('Seven', 'Without Books', 0)
  const hidden = await add('Eight', 'Hidden House')
  await shareSeries(database, { seriesId: hidden, caller, mode: 'deny' })
  const { items, total } = await listSeriesWords(database, caller, 'publisher', { offset: 0, limit: 10 })
  t.same(
    items.map(({ name, seriesCount }) => [name.toLowerCase(), seriesCount]),
    [
      ['åse', 1],
      ['image', 2],
    ],
  )
  t.equal(total, 2)
  t.equal((await listSeriesWords(database, caller, 'publisher', { offset: 1, limit: 1 })).items[0]?.seriesCount, 2)
  t.match(await listSeriesWords(database, caller, 'publisher', { offset: 9, limit: 1 }), { items: [], total: 2 })
})
