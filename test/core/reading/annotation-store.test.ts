import { randomUUID } from 'node:crypto'
import t from 'tap'
import { relinkBook } from '#core/analysis/relink-store.ts'
import { listAnnotations, saveAnnotation } from '#core/reading/annotation-store.ts'
import { saveProgress } from '#core/reading/progress-store.ts'
import { listDaysOfReading } from '#core/reading/readings-store.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'

t.test('annotations and readings stay with a book whose file moves', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const [first, second] = [await addSeries(database, { library_id, title: 'A' }), await addSeries(database, { library_id, title: 'B' })]
  const bookId = await addBook(database, { library_id, series_id: first, title: 'One', file_hash: 'c0ffee' })
  const foundId = await addBook(database, { library_id, series_id: second, title: 'One moved' })
  const edit = { kind: 'bookmark' as const, locator: { href: 'x', type: 'text/html' } }
  const id = randomUUID()
  await saveAnnotation(database, caller, { bookId, id, edit })
  await saveProgress(database, {
    userId: caller.userId,
    bookId,
    position: { currentPage: 2, percentage: null, completed: false },
    pageCount: 0,
  })
  const paths: Record<string, string> = Object.fromEntries((await database('books').select('id', 'path')).map((row) => [row.id, row.path]))
  const { path: library_path } = await database('libraries').where('id', library_id).first('path')
  const found = { id: foundId, library_id, path: paths[foundId] as string, content: null }
  const book = {
    id: bookId,
    libraryId: library_id,
    libraryPath: library_path,
    path: paths[bookId] as string,
    fileHash: 'c0ffee',
    place: 'gone',
    isUnread: false,
  } as const
  const moved = await database.transaction((trx) => relinkBook(trx, found, book))
  t.ok(moved)
  t.equal((await database('books').where('id', bookId).first('path')).path, paths[foundId])
  t.match(await listAnnotations(database, caller, { bookId, offset: 0, limit: 10 }), { total: 1, items: [{ id, bookFileHash: 'c0ffee' }] })
  t.match(await listDaysOfReading(database, caller, { timeZone: 'UTC', offset: 0, limit: 10 }), {
    total: 1,
    items: [{ bookId, lastPage: 2 }],
  })
})
