import { test } from 'tap'
import { openShelves } from '#test/support/shelves.ts'

test('analyse once more: one, many, all with errors', async (t) => {
  const { ask, one, two, other, batman, libraryId, database } = await openShelves(t)
  const unknown = '00000000-0000-4000-8000-000000000000'
  t.match(await ask('POST', '/api/v1/books/bulk/analyze', { bookIds: [one, unknown], force: true }), { status: 404 })
  const { rows } = await database.raw(`SELECT count(*)::int AS count FROM pgboss.job WHERE name = 'analyze_book'`)
  t.equal(rows[0].count, 0, 'one unknown id and none is put in line')
  t.match(
    await ask('POST', '/api/v1/books/bulk/analyze', { bookIds: [one, two] }),
    { status: 202, json: { tasksEnqueued: 0 } },
    'all analysed',
  )
  t.match(await ask('POST', '/api/v1/books/bulk/analyze', { bookIds: [one, two], force: true }), { json: { tasksEnqueued: 2 } })
  t.match(
    await ask('POST', '/api/v1/series/bulk/analyze', { seriesIds: [batman], force: true }),
    { json: { tasksEnqueued: 0 } },
    'they stand in line',
  )
  t.match(await ask('POST', `/api/v1/books/${other}/retry`, {}), { status: 400 }, 'no errors')
  await database('book_errors').insert({ book_id: other, error_type: 'thumbnail', message: 'bad', fatal: false })
  t.match(await ask('POST', `/api/v1/books/${other}/retry`, { errorTypes: ['parser'] }), { status: 400 })
  t.match(await ask('POST', `/api/v1/books/${other}/retry`), { status: 202, json: { tasksEnqueued: 1 } })
  t.match(await ask('POST', '/api/v1/books/retry-all-errors', { libraryId, errorType: 'thumbnail' }), {
    status: 202,
    json: { tasksEnqueued: 0 },
  })
  t.equal((await ask('POST', `/api/v1/books/${other}/analyze-unanalyzed`)).status, 400)
  t.match(await ask('POST', `/api/v1/books/${other}/analyze`), { status: 202, json: { taskId: String } })
  t.equal((await ask('POST', '/api/v1/books/bulk/analyze', { bookIds: Array(501).fill(one) })).status, 422)
})
