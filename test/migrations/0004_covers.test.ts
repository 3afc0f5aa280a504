import t from 'tap'
import { migrate } from '#core/database/database.ts'
import { down, up } from '#migrations/0004_covers.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'

t.test('covers of a used database wait for their description, and those without a picture do not', async (t) => {
  const { database } = await openTestDatabase(t, { empty: true })
  await migrate(database)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Saga' })
  await database.transaction(down)
  const drawn = await addBook(database, { library_id, series_id, title: 'One', cover_hash: 'c0ffee' })
  await addBook(database, { library_id, series_id, title: 'Two' })
  await database.transaction(up)
  const waiting = await database('books').whereNotNull('cover_hash').whereNull('cover_color').pluck('id')
  t.same(waiting, [drawn])
  await database.transaction(down)
  t.equal((await database('books').where('id', drawn).first()).cover_hash, 'c0ffee')
  t.equal(await database.schema.hasColumn('covers', 'color'), false)
})
