import t from 'tap'
import { taskRoutes } from '#api/rest/admin/tasks.ts'
import { libraryRoutes } from '#api/rest/catalog/libraries.ts'
import { seriesTitleRoutes } from '#api/rest/catalog/series-titles.ts'
import { silentLog } from '#core/foundation/log.ts'
import { handleReprocessing } from '#core/scan/reprocess-titles.ts'
import type { TaskRecord } from '#core/tasks/task-query.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { until } from '#test/support/library-fixture.ts'
import { addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'
import { findRules } from '#test/support/supervisor.ts'

const NOWHERE = '00000000-0000-4000-8000-000000000000'
interface Started {
  success: boolean
  taskIds: string[]
  tasksEnqueued: number
}

t.test('rules are checked where they are saved, and make titles again where somebody asks', async (t) => {
  const server = await openTestServer(t, { routes: [...seriesTitleRoutes, ...libraryRoutes, ...taskRoutes] })
  const { database, adminToken: token } = server
  const tasks = await openTaskQueue({ database, log: silentLog, nodeId: 'test' })
  Object.assign(server.services, { tasks })
  handleReprocessing({ database, tasks, rules: findRules() })
  t.teardown(() => tasks.stop())
  const library_id = await addLibrary(database)
  const elsewhere = await addLibrary(database, { path: '/elsewhere' })
  const one = await addSeries(database, { library_id, title: 'One [x]', path: 'One [x]' })
  const two = await addSeries(database, { library_id, title: 'Die Zeit [x]', path: 'Die Zeit [x]' })
  await database('series_metadata').insert({ series_id: two, language: 'de-DE' })
  const stranger = await addSeries(database, { library_id: elsewhere, title: 'Far [x]', path: 'Far [x]' })
  const ask = <T = never>(method: string, path: string, body: unknown, by = token) =>
    server.request<T>(method, `/api/v1/${path}`, { token: by, body })

  const save = async (titlePreprocessingRules: unknown) =>
    await ask<{ error: string; details: { path: string }[] }>('PATCH', `libraries/${library_id}`, { titlePreprocessingRules })
  const wrong: [rules: unknown, status: number, path: string][] = [
    [[{ pattern: 'a(', replacement: '' }], 422, '/titlePreprocessingRules/0/pattern'],
    [
      [
        { pattern: 'a', replacement: '' },
        { pattern: '(?=b)', replacement: '' },
      ],
      422,
      '/titlePreprocessingRules/1/pattern',
    ],
    [[{ pattern: '(a?){1000}', replacement: '' }], 422, '/titlePreprocessingRules/0/pattern'],
    [[{ pattern: 'a'.repeat(501), replacement: '' }], 422, '/titlePreprocessingRules/0/pattern'],
    [[{ pattern: '', replacement: '' }], 422, '/titlePreprocessingRules/0/pattern'],
    [Array.from({ length: 51 }, () => ({ pattern: 'a', replacement: '' })), 422, '/titlePreprocessingRules'],
    [[{ pattern: 'a', replacement: '\0' }], 400, '/titlePreprocessingRules/0/replacement'],
    [[{ pattern: 'a', replacement: '', odd: 1 }], 400, '/titlePreprocessingRules/0/odd'],
    [[{ pattern: 'a' }], 400, '/titlePreprocessingRules/0/replacement'],
    ['a', 400, '/titlePreprocessingRules'],
  ]
  for (const [rules, status, path] of wrong) {
    const answer = await save(rules)
    t.equal(answer.status, status, `${answer.status} ${answer.text}`)
    t.equal(answer.json.details?.[0]?.path, path, answer.text)
  }
  const rules = [{ pattern: ' \\[.\\]$', replacement: '', description: null, enabled: true }]
  t.match((await save(rules)).json, { titlePreprocessingRules: rules })

  // Nothing runs yet: what is asked for twice stands in line once.
  const first = await ask<Started>('POST', `series/${one}/title/reprocess`, {})
  t.match([first.status, first.json], [200, { success: true, tasksEnqueued: 1, taskIds: [String] }], first.text)
  t.match((await ask('POST', `series/${one.toUpperCase()}/title/reprocess`, { dryRun: false })).json, {
    tasksEnqueued: 0,
    taskIds: first.json.taskIds,
  })
  const bulk = await ask<{ taskId: string }>('POST', 'series/bulk/titles/reprocess', { seriesIds: [two, two] })
  t.equal(bulk.status, 200, bulk.text)
  const all = await ask<Started>('POST', 'series/titles/reprocess', { libraryId: library_id })
  t.match(all.json, { tasksEnqueued: 1, taskIds: [String] })
  t.match((await ask<Started>('POST', 'series/titles/reprocess', { seriesIds: [one], libraryId: library_id })).json, { tasksEnqueued: 1 })
  t.match((await ask<Started>('POST', `libraries/${library_id}/series/titles/reprocess`, { dryRun: true })).json, { tasksEnqueued: 1 })

  for (const [path, body, status] of [
    ['series/titles/reprocess', {}, 400],
    ['series/titles/reprocess', { libraryId: null, seriesIds: null }, 400],
    ['series/titles/reprocess', { libraryId: NOWHERE }, 404],
    ['series/titles/reprocess', { seriesIds: [one, NOWHERE] }, 404],
    ['series/titles/reprocess', { seriesIds: [one, stranger], libraryId: library_id }, 404],
    ['series/bulk/titles/reprocess', { seriesIds: [NOWHERE] }, 404],
    ['series/bulk/titles/reprocess', { seriesIds: [] }, 422],
    [`series/${NOWHERE}/title/reprocess`, {}, 404],
    [`libraries/${NOWHERE}/series/titles/reprocess`, {}, 404],
    [`series/${one}/title/reprocess`, { dryRun: 'no' }, 400],
  ] as const) {
    const answer = await ask('POST', path, body)
    t.equal(answer.status, status, `${path} ${answer.text}`)
  }

  const reader = await server.signUp({ username: 'reader' })
  t.equal((await ask('POST', `series/${one}/title/reprocess`, {}, reader.token)).status, 403)
  const maintainer = await server.signUp({ username: 'keeper', role: 'maintainer' })
  await shareSeries(database, { seriesId: two, caller: { userId: maintainer.id }, mode: 'deny' })
  t.equal((await ask('POST', `series/${two}/title/reprocess`, {}, maintainer.token)).status, 404)
  const seen = await ask<Started>('POST', 'series/titles/reprocess', { libraryId: library_id }, maintainer.token)
  const told = async (id: string, by: string) => (await server.request<TaskRecord>('GET', `/api/v1/tasks/${id}`, { token: by })).json
  t.same((await told(seen.json.taskIds[0] as string, token)).params, { seriesIds: [one] }, 'only what the asker may see')
  t.equal((await told(all.json.taskIds[0] as string, maintainer.token)).params, null, 'ids of hidden series are not told')

  await tasks.start()
  const result = await until(async () => {
    const task = await told(first.json.taskIds[0] as string, token)
    return task.status === 'completed' ? task.result : null
  })
  t.match(result, { processed: 1, changed: 1, results: [{ seriesId: one, originalTitle: 'One [x]', newTitle: 'One' }] })
  await until(async () => (await told(bulk.json.taskId, token)).status === 'completed')
  t.same(await database('series').orderBy('title').pluck('title'), ['Die Zeit', 'Far [x]', 'One'])
  t.match(await database('series').where('id', two).first(), { title_sort: 'Zeit, Die' }, 'sorted as its language does')
})
