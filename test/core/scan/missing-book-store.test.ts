import t from 'tap'
import { markDeleted } from '#core/scan/missing-book-store.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'

t.test('a book whose file was found elsewhere in the meantime is not marked as deleted', async (t) => {
  const { database } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Run' })
  const add = async (title: string) => ({
    id: await addBook(database, { library_id, series_id, title, path: `/shelf/${title}` }),
    path: `/shelf/${title}`,
  })
  const [gone, moved] = [await add('gone'), await add('moved')]
  await database('books').where({ id: moved.id }).update({ path: '/shelf/elsewhere' })
  t.equal(
    await markDeleted(
      database,
      [gone, moved].map((book) => ({ ...book, why: 'file' as const, isConfirmed: false })),
    ),
    1,
  )
  t.equal(
    await markDeleted(
      database,
      [gone, moved].map((book) => ({ ...book, why: 'file' as const, isConfirmed: false })),
    ),
    0,
  )
  const rows = await database('books').orderBy('title')
  t.match(rows, [{ deleted_at: Date }, { deleted_at: null }])
})
