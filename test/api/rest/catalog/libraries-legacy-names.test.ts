import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { libraryRoutes } from '#api/rest/catalog/libraries.ts'
import type { Library } from '#core/catalog/library.ts'
import { silentLog } from '#core/foundation/log.ts'
import { Scans } from '#core/scan/scans.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { openTestServer } from '#test/support/server.ts'
import { findRules } from '#test/support/supervisor.ts'

t.test('with legacyNames, the automatic layout has the name that older clients know, and send back', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-legacy-'))
  const shelf = join(folder, 'shelf')
  mkdirSync(shelf)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const {
    services,
    database,
    request,
    adminToken: token,
  } = await openTestServer(t, { routes: [...libraryRoutes], settings: { dataFolder: join(folder, 'data') } })
  const tasks = await openTaskQueue({ database, log: silentLog, nodeId: 'test' })
  t.teardown(() => tasks.stop())
  const scans = new Scans({
    database,
    tasks,
    rules: findRules(),
    log: silentLog,
    dataFolder: join(folder, 'data'),
    purgeAfterSeconds: 86_400,
  })
  Object.assign(services, { tasks, scans })
  const ask = <T>(method: string, path: string, body?: unknown) =>
    request<T>(method, `/api/v1${path}`, { token, ...(body === undefined ? {} : { body }) })
  const legacyNames = (is: boolean) => Object.assign(services, { settings: { ...services.settings, compatibility: { legacyNames: is } } })
  legacyNames(true)
  const made = (await ask<Library>('POST', '/libraries', { name: 'Shelf', path: shelf })).json
  const strategies = async () => [
    (await ask<{ data: Library[] }>('GET', '/libraries')).json.data[0]?.seriesStrategy,
    (await ask<Library>('GET', `/libraries/${made.id}`)).json.seriesStrategy,
    (await ask<Library>('PATCH', `/libraries/${made.id}`, { name: 'Other', seriesStrategy: made.seriesStrategy })).json.seriesStrategy,
    (await ask<Library>('PATCH', `/libraries/${made.id}?dryRun=true`, { seriesStrategy: made.seriesStrategy })).json.seriesStrategy,
  ]
  t.equal(made.seriesStrategy, 'series_volume')
  t.same(await strategies(), Array(4).fill('series_volume'))
  t.match(await database('libraries').first(), { series_strategy: 'auto', name: 'Other', arrange_due: false })
  legacyNames(false)
  t.equal((await ask<Library>('GET', `/libraries/${made.id}`)).json.seriesStrategy, 'auto')
  t.equal((await ask<Library>('PATCH', `/libraries/${made.id}`, { seriesStrategy: 'series_volume' })).json.seriesStrategy, 'series_volume')
})
