import { randomUUID } from 'node:crypto'
import t from 'tap'
import { taskRoutes } from '#api/rest/admin/tasks.ts'
import type { TaskRecord, TaskStats } from '#core/tasks/task-query.ts'
import { until } from '#test/support/library-fixture.ts'
import { addBook, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'
import { addScans } from '#test/support/server-scans.ts'

t.test('tasks are listed, read and canceled over HTTP', async (t) => {
  const server = await openTestServer(t, { routes: taskRoutes })
  const { database, adminToken: token } = server
  const { tasks, scans } = await addScans(server)
  t.teardown(() => tasks.stop())
  const ask = <T = never>(method: string, path: string) => server.request<T>(method, `/api/v1${path}`, { token })

  t.same((await ask('GET', '/tasks')).json, [])
  t.match((await ask('GET', '/tasks/stats')).json, { pending: 0, processing: 0, completed: 0, failed: 0, stale: 0, total: 0, byType: {} })

  const libraryId = await addLibrary(database, { name: 'Shelf' })
  const seriesId = await addSeries(database, { library_id: libraryId, title: 'Saga' })
  const bookId = await addBook(database, { library_id: libraryId, series_id: seriesId, title: 'Saga 1' })
  const one = await tasks.add({ type: 'analyze_book', libraryId, bookId, dedupeKey: 'one', params: { outcome: 'good' } })
  const two = await tasks.add({ type: 'analyze_book', libraryId, dedupeKey: 'two', params: { outcome: 'bad' }, priority: 900 })

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
  // It runs: the message depends on whether it has stopped by the time of the answer.
  t.match(await ask('POST', `/tasks/${one.taskId}/cancel`), { status: 200, json: { message: /^The task (was|is being) cancelled/ } })
  await until(async () => (await ask<TaskRecord>('GET', `/tasks/${one.taskId}`)).json.status === 'cancelled')
  t.equal((await ask('POST', `/tasks/${one.taskId}/cancel`)).status, 409)
  t.match(await ask('POST', `/tasks/${one.taskId}/retry`), { status: 200, json: { message: 'The task is queued again.' } })
  await until(async () => (await ask<TaskRecord>('GET', `/tasks/${one.taskId}`)).json.progress)
  finish()
  await until(async () => (await ask<TaskRecord>('GET', `/tasks/${one.taskId}`)).json.status === 'completed')
  t.match((await ask('GET', `/tasks/${one.taskId}`)).json, { result: { pages: 9 }, completedAt: /^20/ })
  t.match((await ask('GET', '/tasks?status=completed')).json, [{ id: one.taskId }])
  // It waits for its next try, or on a slow machine is having it now, or had its last one.
  const other = await until(async () => {
    const { json } = await ask<TaskRecord>('GET', `/tasks/${two.taskId}`)
    return json.status !== 'processing' && json
  })
  t.match(other, { status: /^(pending|failed)$/, lastError: 'bad luck', maxAttempts: 4 })

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
  for (const query of ['page=0', 'pageSize=x', 'libraryId=7', 'from=yesterday', 'until=2024-02-30T00:00:00Z'])
    t.equal((await ask('GET', `/tasks?${query}`)).status, 400, query)
})

t.test('tasks are listed by page, library and time', async (t) => {
  const server = await openTestServer(t, { routes: taskRoutes })
  const { database, adminToken: token } = server
  const maintainer = await server.signUp({ username: 'mia', role: 'maintainer' })
  const [libraryId, other] = [await addLibrary(database), await addLibrary(database, { name: 'Other' })]
  const seriesId = await addSeries(database, { library_id: libraryId, title: 'Saga' })
  const bookId = await addBook(database, { library_id: libraryId, series_id: seriesId, title: 'Saga 1' })
  const add = async (hour: number, of: Record<string, string>) => {
    const row = { type: 'analyze_book', priority: 1, max_attempts: 1, created_at: `2024-01-01T0${hour}:00:00Z` }
    const [{ id }] = await database('tasks').insert({ ...row, dedupe_key: String(hour), ...of }, 'id')
    return id as string
  }
  const ids = [
    await add(0, { library_id: libraryId }),
    await add(1, { series_id: seriesId }),
    await add(2, { book_id: bookId }),
    await add(3, { library_id: other }),
    await add(4, {}),
  ]
  const get = async (query: string, as = token) =>
    (
      await server.request<{ data: TaskRecord[]; total: number; links: { next: string | null } }>('GET', `/api/v1/tasks?${query}`, {
        token: as,
      })
    ).json
  const walked: string[] = []
  for (let next: string | null = `/api/v1/tasks?pageSize=2&taskType=analyze_book`; next; ) {
    const page = await get(next.split('?')[1] as string)
    t.equal(page.total, 5)
    walked.push(...page.data.map(({ id }) => id))
    next = page.links.next
  }
  t.same(walked, ids.toReversed(), 'each once, newest first')
  const listed = async (query: string, as = token) => (await get(`page=1&${query}`, as)).data.map(({ id }) => ids.indexOf(id))
  t.same(await listed(`libraryId=${libraryId}`), [2, 1, 0], 'also tasks that name only a series or a book')
  t.same(await listed('from=2024-01-01T01:00:00Z&until=2024-01-01T03:00:00Z'), [2, 1])
  t.same(await listed(`libraryId=${randomUUID()}`), [])
  t.match(await get('page=9'), { data: [], total: 5 })
  t.match(await get(`libraryId=${other}`), [{ id: ids[3] }], 'without a page still a plain list')
  const { id: userId } = await database('users').where('username', 'mia').first('id')
  await shareSeries(database, { seriesId, caller: { userId }, mode: 'deny' })
  t.same(await listed(`libraryId=${libraryId}`, maintainer.token), [0])
  t.equal((await get('page=1', maintainer.token)).total, 3, 'hidden tasks do not count')
})

t.test('canceling the task of a scan cancels the scan', async (t) => {
  const server = await openTestServer(t, { routes: taskRoutes })
  const { database, adminToken: token } = server
  const { tasks, scans } = await addScans(server)
  t.teardown(() => tasks.stop())
  const libraryId = await addLibrary(database)
  const { taskId } = await scans.start(libraryId)
  t.equal((await server.request('POST', `/api/v1/tasks/${taskId}/cancel`, { token })).status, 200)
  t.match(await scans.getStatus(libraryId), { status: 'cancelled' })
  t.match(await scans.start(libraryId), { status: 'pending' }, 'and the next can be asked for')
})

t.test('who may not see a series sees none of its tasks', async (t) => {
  const server = await openTestServer(t, { routes: taskRoutes })
  const { database } = server
  const { tasks, scans } = await addScans(server)
  t.teardown(() => tasks.stop())
  const denied = await server.signUp({ username: 'denied', role: 'maintainer' })
  const allowed = await server.signUp({ username: 'allowed', role: 'maintainer' })
  const callerOf = async (token: string) => (await server.accounts.callers.ofToken(token, 'token'))!
  const free = await server.signUp({ username: 'free', role: 'maintainer' })

  const libraryId = await addLibrary(database, { name: 'Shelf' })
  const [open, hidden] = [
    await addSeries(database, { library_id: libraryId, title: 'Open Saga' }),
    await addSeries(database, { library_id: libraryId, title: 'Hidden Saga' }),
  ]
  await shareSeries(database, { seriesId: hidden, caller: await callerOf(denied.token), mode: 'deny' })
  await shareSeries(database, { seriesId: open, caller: await callerOf(allowed.token), mode: 'allow' })
  const add = async (name: string, of: object) =>
    (await tasks.add({ type: 'analyze_book', libraryId, dedupeKey: name, params: { name }, ...of })).taskId
  const openBook = await addBook(database, { library_id: libraryId, series_id: open, title: 'Open 1' })
  const hiddenBook = await addBook(database, { library_id: libraryId, series_id: hidden, title: 'Hidden 1' })
  const purged = randomUUID()
  const seen = { book: await add('open book', { bookId: openBook }), series: await add('open series', { seriesId: open }) }
  const unseen = {
    book: await add('hidden book', { bookId: hiddenBook }),
    series: await add('hidden series', { seriesId: hidden }),
    both: await add('hidden both', { seriesId: open, bookId: hiddenBook }),
    purged: await add('purged book', { bookId: purged }),
  }
  // A scan that fails names the first file that it could not read.
  const scan = await scans.start(libraryId)
  await database('tasks').where('id', scan.taskId).update({ status: 'failed', last_error: '"Hidden Saga/1.cbz" is damaged' })

  for (const { token } of [denied, allowed]) {
    const ask = <T = never>(path: string, method = 'GET') => server.request<T>(method, `/api/v1/tasks${path}`, { token })
    const list = await ask<TaskRecord[]>('')
    t.same(list.json.map(({ id }) => id).sort(), [seen.book, seen.series, scan.taskId].sort())
    t.notMatch(list.text, /hidden/i)
    t.notMatch(list.text, hiddenBook)
    t.match(await ask('?limit=1&status=pending&taskType=analyze_book'), { json: [{ id: seen.series, seriesTitle: 'Open Saga' }] })
    t.match((await ask(`/${seen.book}`)).json, { bookId: openBook, bookTitle: 'Open 1', seriesTitle: 'Open Saga' })
    t.match((await ask(`/${scan.taskId}`)).json, { status: 'failed', libraryName: 'Shelf', lastError: null })
    for (const [what, id] of Object.entries(unseen)) {
      t.equal((await ask(`/${id}`)).status, 404, what)
      t.equal((await ask(`/${id}/cancel`, 'POST')).status, 404, `${what} cannot be canceled`)
      t.equal((await ask(`/${id}/retry`, 'POST')).status, 404, `${what} cannot be retried`)
    }
  }
  const all = await server.request<TaskRecord[]>('GET', '/api/v1/tasks', { token: free.token })
  t.equal(all.json.length, 7)
  t.match(
    all.json.find(({ id }) => id === unseen.book),
    { status: 'pending', bookTitle: 'Hidden 1', seriesTitle: 'Hidden Saga' },
  )
  t.match(
    all.json.find(({ id }) => id === unseen.purged),
    { bookId: purged, bookTitle: null },
  )
  t.match(
    all.json.find(({ id }) => id === scan.taskId),
    { lastError: '"Hidden Saga/1.cbz" is damaged' },
  )
  t.equal((await server.request('POST', `/api/v1/tasks/${unseen.book}/cancel`, { token: free.token })).status, 200)
})
