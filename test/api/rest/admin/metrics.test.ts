import t from 'tap'
import { METRICS_KEPT_DAYS } from '#core/tasks/task-metrics.ts'
import { addWalker } from '#test/support/composed-server.ts'
import { comic, until } from '#test/support/library-fixture.ts'
import { openLibraryServer } from '#test/support/library-server.ts'

interface Report {
  summary: { totalExecuted: number }
  byType: { taskType: string; executed: number; failed: number; p95DurationMs: number; lastError: string | null }[]
}

t.setTimeout(60_000)
t.test('inventory and how tasks went', async (t) => {
  const server = await openLibraryServer(t, { 'One/1.cbz': comic('1', 2), 'One/2.cbz': comic('2', 3), 'Two/1.cbz': comic('3') })
  const { ask, database, services, libraryId } = server
  const books = await server.books()
  const [tag] = await database('sharing_tags').insert({ name: 'kept' }, 'id')
  await database('series_sharing_tags').insert({ series_id: books.get('Two/1.cbz')?.series_id, sharing_tag_id: tag.id })
  const walker = await addWalker({ database, services }, { role: 'reader', mode: 'deny', tagId: tag.id })

  t.match((await ask('GET', 'metrics/inventory')).json, {
    ...{ libraryCount: 1, seriesCount: 2, bookCount: 3, pageCount: 6, userCount: 2 },
    libraries: [{ id: libraryId, name: 'Shelf', bookCount: 3, seriesCount: 2 }],
  })
  t.ok((await ask<{ databaseSize: number }>('GET', 'metrics/inventory')).json.databaseSize > 1_000_000)
  t.match((await ask('GET', 'metrics/inventory', undefined, walker.accessToken)).json, {
    ...{ seriesCount: 1, bookCount: 2, pageCount: 5, databaseSize: 0, userCount: 0, libraries: [{ bookCount: 2 }] },
  })

  const report = async (token?: string) => (await ask<Report>('GET', 'metrics/tasks', undefined, token)).json
  const analyses = async () => (await report()).byType.find(({ taskType }) => taskType === 'analyze_book')
  t.match(await analyses(), { executed: 3, succeeded: 3, failed: 0, retried: 0, itemsProcessed: 3, errorRatePct: 0, lastError: null })
  t.match(await report(), { summary: { totalFailed: 0 }, queue: { pendingCount: 0 }, retention: '30' })
  t.match(await report(walker.accessToken), { summary: { totalExecuted: 0 }, byType: [] }, 'who does not see all is told nothing')

  const history = (await ask<{ points: { count: number }[] }>('GET', 'metrics/tasks/history?granularity=day&days=2&taskType=analyze_book'))
    .json
  t.match(history, { granularity: 'day', points: [{ taskType: 'analyze_book', failed: 0 }] })
  t.equal(
    history.points.reduce((sum, { count }) => sum + count, 0),
    3,
  )
  t.match(await ask('GET', 'metrics/tasks/history?days=31'), { status: 400 })
  t.match(await ask('GET', 'metrics/tasks/history', undefined, walker.accessToken), { status: 200, json: { points: [] } })

  await t.test('failures, and what is too old', async (t) => {
    const hour = new Date(Date.now() - (METRICS_KEPT_DAYS + 1) * 86_400_000)
    const durations = Array.from({ length: 48 }, (_, place) => (place === 20 ? 1 : 0))
    const failed = {
      succeeded: 0,
      failed: 1,
      retried: 3,
      items: 1,
      duration_ms: 1024,
      duration_min_ms: 1024,
      duration_max_ms: 1024,
      wait_ms: 0,
      durations,
    }
    // Ten seconds after its start the server deletes what is too old itself, which may be in between.
    const [found, cleaned] = await until(async () => {
      await database('task_metrics').insert({ task_type: 'export_series', hour, ...failed, last_error: 'It broke', last_error_at: hour })
      const shown = (await report()).byType.find(({ taskType }) => taskType === 'export_series')
      const { json } = await ask<{ deletedCount: number }>('POST', 'metrics/tasks/cleanup')
      return json.deletedCount > 0 && ([shown, json] as const)
    })
    t.match(found, { executed: 1, failed: 1, retried: 3, errorRatePct: 100, p95DurationMs: 1024, lastError: 'It broke' })
    t.match(cleaned, { deletedCount: 1, retentionDays: '30', oldestRemaining: /^20/ })
    t.ok((await ask<{ deletedCount: number }>('DELETE', 'metrics/tasks')).json.deletedCount > 0)
    t.match(await report(), { summary: { totalExecuted: 0 }, byType: [] })
    t.equal((await ask('DELETE', 'metrics/tasks', undefined, walker.accessToken)).status, 403)
  })
})
