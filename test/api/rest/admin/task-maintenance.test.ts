import { randomUUID } from 'node:crypto'
import t from 'tap'
import { describeRoutes } from '#api/docs/openapi.ts'
import { routes } from '#api/routes.ts'
import { NOT_STARTABLE, STARTABLE } from '#core/maintenance/start-task.ts'
import type { TaskRecord } from '#core/tasks/task-query.ts'
import { addWalker } from '#test/support/composed-server.ts'
import { comic } from '#test/support/library-fixture.ts'
import { openLibraryServer } from '#test/support/library-server.ts'
import { addRunningTask } from '#test/support/task-queues.ts'

t.test('what cannot be started by its type is refused with an operation that there is', async (t) => {
  const known = new Set(Object.keys(describeRoutes(routes).paths))
  for (const [type, reason] of Object.entries(NOT_STARTABLE)) {
    t.notOk(Object.hasOwn(STARTABLE, type), type)
    for (const [address] of reason.matchAll(/\/api\/v1\/[\w/{}-]+/g)) t.ok(known.has(address), address)
  }
})

t.setTimeout(240_000)
t.test('tasks are begun by their type, forgotten, taken back and canceled', { timeout: 240_000 }, async (t) => {
  const server = await openLibraryServer(t, { 'Saga/1.cbz': comic('1'), 'Saga/2.cbz': comic('2') })
  const { ask, ended, database, services, libraryId } = server
  const books = await server.books()
  const { id: bookId, series_id: seriesId } = books.get('Saga/1.cbz') as { id: string; series_id: string }
  const begin = async (taskType: object, more: object = {}, token?: string) =>
    await ask<{ taskId: string; message: string }>('POST', 'tasks', { taskType, ...more }, token)

  await t.test('every type that there is', async (t) => {
    const types: Record<string, object> = {
      analyze_book: { bookId },
      analyze_series: { seriesId, force: true },
      scan_library: { libraryId, mode: 'normal' },
      purge_deleted: { libraryId },
      generate_thumbnail: { bookId, force: true },
      generate_thumbnails: { libraryId },
      generate_series_thumbnail: { seriesId },
      generate_series_thumbnails: { seriesIds: [seriesId] },
      find_duplicates: {},
      reprocess_series_title: { seriesId },
      reprocess_series_titles: { libraryId },
      renumber_series: { seriesId },
      renumber_series_batch: { seriesIds: [seriesId] },
      cleanup_orphaned_files: {},
      cleanup_pdf_cache: {},
    }
    for (const [type, members] of Object.entries(types)) {
      const { status, json } = await begin({ type, ...members })
      t.equal(status, 202, `${type}: ${json.message}`)
      t.match(await ended(json.taskId), { status: 'completed', taskType: type === 'analyze_series' ? 'analyze_books' : type })
    }
  })

  await t.test('tasks that cannot be started are refused', async (t) => {
    t.match(await begin({ type: 'export_series' }), { status: 422, json: { message: /analyze_book/ } })
    t.match(await begin({ type: 'export_series', exportId: 'e', userId: 'u' }), { status: 422, json: { message: /POST .*exports.series/ } })
    t.match(await begin({ type: 'poll_release_source', sourceId: 's' }), { status: 422, json: { message: /Release tracking is not part/ } })
    t.match(await begin({ type: 'constructor' }), { status: 422, json: { message: /no such task type/ } })
    t.match(await begin({ type: 'analyze_book' }), { status: 422, json: { message: /needs bookId/ } })
    t.match(await begin({ type: 'analyze_book', bookId: randomUUID() }), { status: 404 })
    t.match(await begin({ type: 'scan_library', libraryId }, { scheduledFor: '2999-01-01T00:00:00Z' }), { status: 422 })
    t.match(await begin({ type: 'find_duplicates' }, { scheduledFor: '2999-01-01T00:00:00Z' }), { status: 422 })
    t.match(await begin({ type: 'find_duplicates' }, { priority: -1 }), { status: 422 })
    const key = await ask<{ key: string }>('POST', 'api-keys', { name: 'tasks only', permissions: ['tasks-write'] })
    t.match(await begin({ type: 'find_duplicates' }, {}, key.json.key), { status: 403, json: { details: { permission: 'books-write' } } })
  })

  const later = new Date(Date.now() + 3_600_000).toISOString()
  const search = await begin({ type: 'find_duplicates' }, { scheduledFor: later })
  t.equal(search.status, (await begin({ type: 'find_duplicates' }, { scheduledFor: later })).status, 'none runs')
  t.match(
    await begin({ type: 'find_duplicates' }),
    { status: search.status, json: { taskId: search.json.taskId } },
    'it is brought forward',
  )
  t.match(await ended(search.json.taskId), { status: 'completed' })
  const waiting = await begin({ type: 'renumber_series', seriesId }, { scheduledFor: later, priority: 7 })
  t.match((await ask<TaskRecord>('GET', `tasks/${waiting.json.taskId}`)).json, { status: 'pending', priority: 7, scheduledFor: later })

  await t.test('whose node is gone is taken back, whose lives is not', async (t) => {
    t.match(await ask('POST', `tasks/${waiting.json.taskId}/unlock`), { status: 200, json: { message: /nothing to unlock/ } })
    t.equal((await ask('POST', `tasks/${randomUUID()}/unlock`)).status, 404)
    const [{ node_lock }] = await database('task_workers').select(database.raw('node_lock::text AS node_lock')).limit(1)
    const [{ id: taskId, worker }] = await addRunningTask(database, { type: 'export_series' }, 'node-9', node_lock)
    t.match(await ask('POST', `tasks/${taskId}/unlock`), { status: 409, json: { message: /node-9, which is alive/ } })
    await database('task_workers').where({ worker }).update({ node_lock: 1 })
    // The server looks for such tasks itself.
    t.match(await ask('POST', `tasks/${taskId}/unlock`), { status: 200, json: { message: /queued again|nothing to unlock/ } })
    t.match(await ended(taskId), { attempts: 1 }, 'and begins once more, which is its first try')
  })

  await t.test('what has ended is forgotten, of what one sees', async (t) => {
    const count = async () => (await ask<TaskRecord[]>('GET', 'tasks?status=completed&limit=1000')).json.length
    const before = await count()
    t.ok(before > 10)
    t.same((await ask('DELETE', 'tasks/purge?days=1')).json, { deleted: 0 })
    const [tag] = await database('sharing_tags').insert({ name: 'kept' }, 'id')
    await database('series_sharing_tags').insert({ series_id: seriesId, sharing_tag_id: tag.id })
    const walker = await addWalker({ database, services }, { role: 'maintainer', mode: 'deny', tagId: tag.id })
    const some = (await ask<{ deleted: number }>('DELETE', 'tasks/purge', undefined, walker.accessToken)).json.deleted
    const left = await count()
    t.ok(some > 0 && left > 0 && left < before, `${some} of ${before}`)
    t.equal((await ask('DELETE', 'tasks/nuke', undefined, walker.accessToken)).status, 403)
    t.ok((await ask<{ deleted: number }>('DELETE', 'tasks/purge')).json.deleted >= left)
    t.equal((await ask<TaskRecord>('GET', `tasks/${waiting.json.taskId}`)).json.status, 'pending', 'what waits stays')
  })

  await t.test('all tasks are deleted at once, also those of a type that is none any more', async (t) => {
    const left = { type: 'left_by_earlier_version', dedupe_key: 'left', priority: 50, max_attempts: 4 }
    const [{ id: leftId }] = await database('tasks').insert(left, 'id')
    const { status, json } = await ask<{ deleted: number }>('DELETE', 'tasks/nuke')
    t.equal(status, 200)
    t.ok(json.deleted >= 1)
    t.match((await ask('GET', 'tasks/stats')).json, { pending: 0, processing: 0 })
    for (const id of [waiting.json.taskId, leftId]) t.equal((await ask('GET', `tasks/${id}`)).status, 404)
  })
})
