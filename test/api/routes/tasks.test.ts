import { randomUUID } from 'node:crypto'
import t from 'tap'
import { taskRoutes } from '#api/routes/tasks.ts'
import { openScans } from '#core/library/scans.ts'
import { silentLog } from '#core/log.ts'
import type { TaskRecord, TaskStats } from '#core/task/task-query.ts'
import { openTaskQueue } from '#core/task/task-queue.ts'
import { until } from '#test/support/house.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'

t.test('tasks over HTTP', { timeout: 60_000 }, async (t) => {
  const server = await openTestServer(t, { routes: taskRoutes })
  const { database, adminToken: token } = server
  const tasks = await openTaskQueue({ database, log: silentLog, nodeId: 'node-1', retryDelaySeconds: 1 })
  const scans = await openScans({ database, tasks, log: silentLog, dataFolder: '/nonexistent' })
  Object.assign(server.services, { tasks, scans })
  t.teardown(() => tasks.stop())
  const ask = <T = never>(method: string, path: string) => server.request<T>(method, `/api/v1${path}`, { token })

  t.same((await ask('GET', '/tasks')).json, [])
  t.match((await ask('GET', '/tasks/stats')).json, { pending: 0, processing: 0, completed: 0, failed: 0, stale: 0, total: 0, byType: {} })

  const libraryId = await addLibrary(database, { name: 'Shelf' })
  const seriesId = await addSeries(database, { library_id: libraryId, title: 'Saga' })
  const bookId = await addBook(database, { library_id: libraryId, series_id: seriesId, title: 'Saga 1' })
  const one = await tasks.add({ type: 'analyze_book', libraryId, bookId, dedupeKey: 'one', params: { outcome: 'good' } })
  await tasks.add({ type: 'analyze_book', libraryId, dedupeKey: 'two', params: { outcome: 'bad' }, priority: 900 })

  t.match((await ask<TaskRecord[]>('GET', '/tasks?status=pending&taskType=analyze_book&limit=1')).json, [
    { status: 'pending', params: { outcome: 'bad' } },
  ])
  t.match((await ask('GET', `/tasks/${one.taskId}`)).json, {
    id: one.taskId,
    taskType: 'analyze_book',
    status: 'pending',
    priority: 800,
    attempts: 0,
    maxAttempts: 4,
    libraryId,
    libraryName: 'Shelf',
    bookId,
    bookTitle: 'Saga 1',
    seriesTitle: 'Saga',
    lastError: null,
    lockedBy: null,
    startedAt: null,
    completedAt: null,
    createdAt: /^20.*Z$/,
    scheduledFor: /^20.*Z$/,
  })

  let finish = () => {}
  tasks.handle('analyze_book', { concurrency: 1 }, async (run) => {
    if (run.params.outcome === 'bad') throw new Error('bad luck')
    run.progress(3, 9, 'page 3')
    await new Promise<void>((resolve, reject) => {
      finish = resolve
      run.signal.addEventListener('abort', () => reject(run.signal.reason))
    })
    return { pages: 9 }
  })
  await tasks.start()
  await until(async () => (await ask<TaskRecord>('GET', `/tasks/${one.taskId}`)).json.progress)
  t.match((await ask('GET', `/tasks/${one.taskId}`)).json, {
    status: 'processing',
    attempts: 1,
    lockedBy: 'node-1',
    progress: { current: 3, total: 9, message: 'page 3' },
  })
  t.match((await ask<TaskStats>('GET', '/tasks/stats')).json, { processing: 1, total: 2, byType: { analyze_book: { processing: 1 } } })
  t.match(await ask('POST', `/tasks/${one.taskId}/retry`), { status: 409, json: { message: /only failed and cancelled/i } })
  t.match(await ask('POST', `/tasks/${one.taskId}/cancel`), { status: 200, json: { message: 'The task was cancelled.' } })
  t.match((await ask('GET', `/tasks/${one.taskId}`)).json, { status: 'cancelled' })
  t.equal((await ask('POST', `/tasks/${one.taskId}/cancel`)).status, 409)
  t.match(await ask('POST', `/tasks/${one.taskId}/retry`), { status: 200, json: { message: 'The task is back in line.' } })
  await until(async () => (await ask<TaskRecord>('GET', `/tasks/${one.taskId}`)).json.progress)
  finish()
  await until(async () => (await ask<TaskRecord>('GET', `/tasks/${one.taskId}`)).json.status === 'completed')
  t.match((await ask('GET', `/tasks/${one.taskId}`)).json, { result: { pages: 9 }, completedAt: /^20/ })
  t.match((await ask('GET', '/tasks?status=completed')).json, [{ id: one.taskId }])
  const [waiting] = (await ask<TaskRecord[]>('GET', '/tasks?status=pending')).json
  t.match(waiting, { lastError: 'bad luck', maxAttempts: 4 })

  const scan = await scans.start(libraryId)
  await until(async () => (await ask<TaskRecord>('GET', `/tasks/${scan.taskId}`)).json.status === 'failed')
  t.match(await ask('POST', `/tasks/${scan.taskId}/retry`), { status: 409, json: { message: /start a new one/ } })

  const unknown = randomUUID()
  t.equal((await ask('GET', `/tasks/${unknown}`)).status, 404)
  t.equal((await ask('POST', `/tasks/${unknown}/cancel`)).status, 404)
  t.equal((await ask('POST', `/tasks/${unknown}/retry`)).status, 404)
  t.equal((await ask('GET', '/tasks/nonsense')).status, 400)
  t.equal((await ask('GET', '/tasks?status=sleeping')).status, 400)
  t.equal((await ask('GET', '/tasks?limit=0')).status, 400)
  t.equal((await ask('GET', '/tasks?limit=100000')).status, 200)
})

t.test('cancelling the task of a scan cancels the scan', { timeout: 60_000 }, async (t) => {
  const server = await openTestServer(t, { routes: taskRoutes })
  const { database, adminToken: token } = server
  const tasks = await openTaskQueue({ database, log: silentLog, nodeId: 'node-1' })
  const scans = await openScans({ database, tasks, log: silentLog, dataFolder: '/nonexistent' })
  Object.assign(server.services, { tasks, scans })
  t.teardown(() => tasks.stop())
  const libraryId = await addLibrary(database)
  const { taskId } = await scans.start(libraryId)
  t.equal((await server.request('POST', `/api/v1/tasks/${taskId}/cancel`, { token })).status, 200)
  t.match(await scans.getStatus(libraryId), { status: 'cancelled' })
  t.match(await scans.start(libraryId), { status: 'pending' }, 'and the next can be asked for')
})
