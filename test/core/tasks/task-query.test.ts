import t from 'tap'
import { countTasks, getTask, listTasks } from '#core/tasks/task-query.ts'
import { setTestRule } from '#test/support/access-rules.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'

t.test('tasks of a library, a series or a book that the caller may not see are not there', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const other = await addCaller(database)
  const addTasks = async (library_id: string): Promise<string[]> => {
    const series_id = await addSeries(database, { library_id, title: 'Tintin' })
    const book_id = await addBook(database, { library_id, series_id, title: 'Tintin' })
    const rows = [
      { type: 'scan_library', library_id },
      { type: 'renumber_series', library_id, series_id },
      { type: 'generate_series_thumbnail', series_id },
      { type: 'analyze_book', library_id, book_id },
      { type: 'generate_thumbnail', book_id },
    ]
    const inserted = await database('tasks').insert(
      rows.map((row) => ({ ...row, status: 'completed', dedupe_key: 'x', priority: 1, max_attempts: 1 })),
      ['id'],
    )
    return inserted.map(({ id }: { id: string }) => id)
  }
  const [kids, adults] = [await addLibrary(database), await addLibrary(database)]
  const [open, hidden] = [await addTasks(kids), await addTasks(adults)]
  await setTestRule(database, { user_id: caller.userId }, { libraries: [kids] })
  const idsFor = async (by: typeof caller) => (await listTasks(database, { limit: 100 }, by)).map(({ id }) => id).sort()
  t.same(await idsFor(caller), open.sort())
  t.same(await idsFor(other), [...open, ...hidden].sort())
  t.same([(await countTasks(database, caller)).total, (await countTasks(database, other)).total], [5, 10])
  for (const id of hidden) await t.rejects(getTask(database, id, caller), { code: 'not_found' })
  for (const id of open) t.equal((await getTask(database, id, caller)).id, id)
})
