import t from 'tap'
import { listBooks } from '#core/catalog/book-query.ts'
import { readListState } from '#core/catalog/list-state-query.ts'
import { addUpKeptNumbers } from '#core/paging/kept-number-store.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { until } from '#test/support/library-fixture.ts'
import { addBook, addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'

t.test('adding up changes no number, beside writers that are not finished', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'A' })
  const total = async () => (await listBooks(database, caller, { filter: {}, sort: null, offset: 0, limit: 1 })).total
  const add = (to = database) => addBook(to, { library_id, series_id, title: 'B' })
  await add()
  const open = await database.transaction()
  await add(open)
  const before = await readListState(database, caller)
  await Promise.all(Array.from({ length: 4 }, () => addUpKeptNumbers(database)))
  t.same(await readListState(database, caller), before)
  t.equal(Number((await database('kept_number_changes').count())[0]?.['count']), 0, 'those that others see')
  await open.commit()
  t.equal(await total(), 2)
  await database('libraries').delete()
  await addUpKeptNumbers(database)
  t.same(await database('kept_numbers').whereLike('kind', 'books%'), [], 'numbers of a deleted library are gone')
})

t.test('differences are added up when readers meet many of them', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'A' })
  for (let times = 0; times < 150; times++) await addBook(database, { library_id, series_id, title: 'B' })
  const total = async () => (await listBooks(database, caller, { filter: {}, sort: null, offset: 0, limit: 1 })).total
  const differences = async () => Number((await database('kept_number_changes').count())[0]?.['count'])
  t.ok((await differences()) > 200)
  t.equal(await total(), 150)
  await until(async () => (await differences()) === 0)
  t.equal(await total(), 150)
})
