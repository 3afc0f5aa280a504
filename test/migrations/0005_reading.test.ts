import t from 'tap'
import { migrate } from '#core/database/database.ts'
import { down, up } from '#migrations/0005_reading.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'

t.test('progress of a used database is there as readings, and survives the way back', async (t) => {
  const { database } = await openTestDatabase(t, { empty: true })
  await migrate(database)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Saga' })
  const books = [
    await addBook(database, { library_id, series_id, title: 'One' }),
    await addBook(database, { library_id, series_id, title: 'Two' }),
  ]
  const { userId: user_id } = await addCaller(database)
  await database.transaction(down)
  const [began, ended] = [new Date('2026-01-01T10:00:00Z'), new Date('2026-01-03T10:00:00Z')]
  const row = { user_id, started_at: began, updated_at: ended }
  await database('read_progress').insert([
    { ...row, book_id: books[0], current_page: 9, completed: true, percentage: 1, completed_at: ended },
    { ...row, book_id: books[1], current_page: 4 },
  ])
  await database.transaction(up)
  const readings = () =>
    database('readings AS r')
      .join('reading_sittings AS s', 's.reading_id', 'r.id')
      .orderBy('s.last_page')
      .select('r.book_id', 'r.begun_at', 'r.last_at', 'r.finished_at', 'r.is_open', 's.first_page', 's.last_page', 's.ended_at')
  const days = { begun_at: began, last_at: ended, ended_at: ended }
  t.same(await readings(), [
    { book_id: books[1], ...days, finished_at: null, is_open: true, first_page: 4, last_page: 4 },
    { book_id: books[0], ...days, finished_at: ended, is_open: false, first_page: 9, last_page: 9 },
  ])
  await database('read_progress').where('book_id', books[1]).update({ current_page: 6 })
  t.equal((await database('readings')).length, 2, 'the next position belongs to the reading')
  await database.transaction(down)
  t.match(await database('read_progress').orderBy('current_page').pluck('current_page'), [6, 9])
  await database('read_progress').where('book_id', books[1]).update({ current_page: 7 })
  await database('read_progress').delete()
})
