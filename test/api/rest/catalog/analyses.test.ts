import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'tap'
import { awaitAnalyses } from '#core/analysis/request-analyses.ts'
import { openShelves } from '#test/support/shelves.ts'

test('analyze once more: one, many, all with errors', async (t) => {
  const { ask, one, two, other, batman, libraryId, database } = await openShelves(t)
  const unknown = '00000000-0000-4000-8000-000000000000'
  t.match(await ask('POST', '/api/v1/books/bulk/analyze', { bookIds: [one, unknown], force: true }), { status: 404 })
  const { rows } = await database.raw(`SELECT count(*)::int AS count FROM tasks WHERE type = 'analyze_book'`)
  t.equal(rows[0].count, 0, 'one unknown id and none is put in line')
  t.match(
    await ask('POST', '/api/v1/books/bulk/analyze', { bookIds: [one, two] }),
    { status: 202, json: { tasksEnqueued: 0 } },
    'all analyzed',
  )
  t.match(await ask('POST', '/api/v1/books/bulk/analyze', { bookIds: [one, two], force: true }), { json: { tasksEnqueued: 2 } })
  t.match(
    await ask('POST', '/api/v1/series/bulk/analyze', { seriesIds: [batman], force: true }),
    { json: { tasksEnqueued: 0 } },
    'they stand in line',
  )
  t.match(await ask('POST', `/api/v1/books/${other}/retry`, {}), { status: 409 }, 'no errors')
  await database('book_errors').insert({ book_id: other, error_type: 'thumbnail', message: 'bad', fatal: false })
  t.match(await ask('POST', `/api/v1/books/${other}/retry`, { errorTypes: ['parser'] }), { status: 409 })
  t.match(await ask('POST', `/api/v1/books/${other}/retry`), { status: 202, json: { tasksEnqueued: 1 } })
  t.match(await ask('POST', '/api/v1/books/retry-all-errors', { libraryId, errorType: 'thumbnail' }), {
    status: 202,
    json: { tasksEnqueued: 0 },
  })
  t.equal((await ask('POST', `/api/v1/books/${other}/analyze-unanalyzed`)).status, 409)
  t.match(await ask('POST', `/api/v1/books/${other}/analyze`), { status: 202, json: { taskId: String } })
  t.equal((await ask('POST', '/api/v1/books/bulk/analyze', { bookIds: Array(501).fill(one) })).status, 422)
})

test('work on several books is one task, with progress and an end, and is canceled as a whole', async (t) => {
  const { ask, one, two, batman, tasks, database } = await openShelves(t)
  const begun: string[] = []
  const ended = Promise.withResolvers<void>()
  // In place of the analyses: what they do is shown elsewhere, here only when they end.
  tasks.handle('analyze_book', { concurrency: 1 }, async (run) => {
    begun.push(run.bookId as string)
    await Promise.race([ended.promise, new Promise((_, reject) => run.signal.addEventListener('abort', () => reject(run.signal.reason)))])
  })
  tasks.handle('analyze_books', { concurrency: 10 }, awaitAnalyses({ database, tasks }))
  await tasks.start()
  const taskOf = async (id: unknown) =>
    (await ask('GET', `/api/v1/tasks/${id}`)).json as unknown as { status: string; result: unknown; progress?: object }
  const until = async (is: (task: Awaited<ReturnType<typeof taskOf>>) => boolean, id: unknown) => {
    for (;;) {
      const task = await taskOf(id)
      if (is(task)) return task
      // Between two looks.
      await sleep(100)
    }
  }
  const everything = await ask('POST', `/api/v1/series/${batman}/analyze`)
  t.match(everything, { status: 202, json: { taskId: String, tasksEnqueued: 2 } })
  await until(({ progress }) => progress !== undefined, everything.json.taskId)
  // The analyses have workers of their own.
  while (begun.length === 0) await sleep(100)
  t.match(await taskOf(everything.json.taskId), { status: 'processing', progress: { current: 0, total: 2 } })

  t.ok(await tasks.cancel(String(everything.json.taskId)))
  t.match(await until(({ status }) => status === 'cancelled', everything.json.taskId), { status: 'cancelled' })
  const statuses = async () => (await database('tasks').where({ type: 'analyze_book' }).distinct('status').pluck('status')).join()
  while ((await statuses()) !== 'cancelled') await sleep(100)
  t.equal(begun.length, 1, 'what waited is not analyzed')

  const again = await ask('POST', '/api/v1/books/bulk/analyze', { bookIds: [one, two], force: true })
  ended.resolve()
  const done = await until(({ status }) => status === 'completed', again.json.taskId)
  t.match(done, { result: { books: 2, failed: 0, cancelled: 0 } })
  const nothing = await ask('POST', '/api/v1/books/bulk/analyze', { bookIds: [one] })
  t.match(
    await until(({ status }) => status === 'completed', nothing.json.taskId),
    { result: { books: 0 } },
    'also where there is nothing to do',
  )
})
