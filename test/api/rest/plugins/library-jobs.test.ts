import t from 'tap'
import type { LibraryJob } from '#core/matching/library-job.ts'
import { addLibrary, shareSeries } from '#test/support/library-rows.ts'
import { NOWHERE, openMatchingServer, PROVIDER, PROVIDER_MANIFEST } from '#test/support/matching-server.ts'
import { until } from '#test/support/user-plugin-server.ts'

t.setTimeout(240_000)

interface DryRunShown {
  totalEligible: number
  estSkippedNoId: number
  estSkippedRecentlySynced: number
  planFailure: string | null
  sample: {
    seriesId: string
    seriesName: string
    changes: Record<string, { before: unknown; after: unknown }>
    skipped: { field: string; reason: string }[]
  }[]
}

const PROVIDER_KEY = 'org.example.echo'
const config = { type: 'metadata_refresh', provider: PROVIDER_KEY }

t.test('a job is added, changed, and taken away', async (t) => {
  const { ask, libraryId, database } = await openMatchingServer(t)
  const path = `libraries/${libraryId}/jobs`
  t.same((await ask('GET', path)).json, { jobs: [] })
  const groups = (await ask<{ id: string; label: string; fields: string[] }[]>('GET', 'library-jobs/metadata-refresh/field-groups')).json
  t.match(
    groups.find(({ id }) => id === 'status'),
    { label: String, fields: ['status', 'year', 'month', 'day'] },
  )

  const added = await ask<LibraryJob>('POST', path, { config })
  t.match(added, {
    status: 201,
    json: { libraryId, enabled: true, timezone: 'UTC', cronSchedule: null, nextRunAt: null, lastRunAt: null, name: /org\.example\.echo/ },
  })
  t.same(added.json.config, config)
  const one = `${path}/${added.json.id}`
  t.same((await ask('GET', one)).json, added.json)
  t.same((await ask('GET', path)).json, { jobs: [added.json] })

  const timed = { name: 'Nightly', cronSchedule: '30 3 * * *', timezone: 'Europe/Berlin', config: { ...config, fieldGroups: ['status'] } }
  const { json: changed } = await ask<LibraryJob>('PATCH', one, timed)
  t.match(changed, timed)
  t.match(changed.nextRunAt, /T0[12]:30:00/, 'half past three in Berlin')
  t.match((await ask<LibraryJob>('PATCH', one, { enabled: false })).json, { ...timed, enabled: false }, 'the rest stays')
  t.match((await ask<LibraryJob>('PATCH', one, { cronSchedule: null })).json, { cronSchedule: null, nextRunAt: null })

  t.match(await ask('DELETE', one), { status: 204, text: '' })
  for (const [method, way] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/run-now'],
    ['POST', '/dry-run'],
  ] as const)
    t.match(
      await ask(method, one + way, method === 'PATCH' || way === '/dry-run' ? {} : undefined),
      { status: 404, json: { error: 'not_found' } },
      `${method} ${way} of none`,
    )
  const added20 = await Promise.all(Array.from({ length: 25 }, () => ask('POST', path, { config })))
  t.equal(added20.filter(({ status }) => status === 201).length, 20, 'no more than twenty, however fast somebody asks')
  t.match(
    added20.find(({ status }) => status !== 201),
    { status: 409, json: { error: 'conflict', message: /20 jobs/ } },
  )
  t.equal((await database('library_jobs')).length, 20)
})

t.test('a job runs when somebody says so, once at a time', async (t) => {
  const { ask, libraryId, add, tasks, ended, adminToken } = await openMatchingServer(t)
  const { seriesId } = await add('Berserk')
  await add('Unknown')
  const path = `libraries/${libraryId}/jobs`
  const { json: job } = await ask<LibraryJob>('POST', path, { name: 'Years', config: { ...config, fieldGroups: ['status'] } })
  const one = `${path}/${job.id}`
  const run = await ask<{ taskId: string }>('POST', `${one}/run-now`)
  t.equal(run.status, 202)
  t.match(await ask('POST', `${one}/run-now`), { status: 409, json: { error: 'conflict', message: /Years/ } }, 'it is already queued')
  t.match((await ask('GET', `tasks/${run.json.taskId}`, undefined, adminToken)).json, {
    taskType: 'library_job',
    status: 'pending',
    libraryId,
  })
  await tasks.start()
  t.match(await ended(run.json.taskId), {
    status: 'completed',
    result: { message: /2 processed, 1 matched/, series: { processed: 2, matched: 1 } },
  })
  t.match((await ask<LibraryJob>('GET', one)).json, {
    ...{ lastRunStatus: 'completed', lastRunMessage: /2 processed, 1 matched/, lastRunAt: String, taskId: run.json.taskId },
  })
  const { json: series } = await ask('GET', `series/${seriesId}?full=true`)
  t.match(series, { metadata: { year: 1989, status: 'ongoing', publisher: null }, genres: [] }, 'its groups of fields only')

  for (let index = 0; index < 10; index++) await add(`Berserk ${index} lazy`)
  const { taskId } = (await ask<{ taskId: string }>('POST', `${one}/run-now`)).json
  const running = async () => (await ask<LibraryJob>('GET', one)).json.lastRunStatus === 'processing'
  await until(running, 'the job to run')
  t.match(await ask('POST', `${one}/run-now`), { status: 409, json: { error: 'conflict', message: /is running/ } })
  t.equal(await tasks.cancel(taskId), true)
  await until(async () => (await ask<LibraryJob>('GET', one)).json.lastRunStatus === 'cancelled', 'the job to stop')
  const last = (await ask<{ taskId: string }>('POST', `${one}/run-now`)).json
  await until(running, 'the job to run once more')
  t.match(await ask('DELETE', one), { status: 204 })
  t.match(await ended(last.taskId), { status: 'cancelled' }, 'whoever takes it away stops it')
})

t.test('a dry run says what would be, to whoever asks', async (t) => {
  const { ask, libraryId, add, pluginId, signUp, services, database, ended, tasks } = await openMatchingServer(t)
  const { seriesId } = await add('Berserk')
  const hidden = await add('Berserk in secret')
  const mira = await signUp({ username: 'mira', role: 'maintainer' })
  await shareSeries(database, { seriesId: hidden.seriesId, caller: { userId: mira.id }, mode: 'deny' })
  const path = `libraries/${libraryId}/jobs`
  const { json: job } = await ask<LibraryJob>('POST', path, { config })
  const dryRun = async (body: object, token?: string) => (await ask<DryRunShown>('POST', `${path}/${job.id}/dry-run`, body, token)).json
  const before = (await ask('GET', `series/${seriesId}?full=true`)).text
  const all = await dryRun({})
  t.match(all, { totalEligible: 2, estSkippedNoId: 0, estSkippedRecentlySynced: 0, planFailure: null })
  t.same(all.sample.map(({ seriesName }) => seriesName).toSorted(), ['Berserk', 'Berserk in secret'])
  t.match(all.sample.find((one) => one.seriesId === seriesId)?.changes, {
    year: { before: null, after: 1989 },
    genres: { before: [], after: ['Dark Fantasy'] },
  })
  t.equal((await ask('GET', `series/${seriesId}?full=true`)).text, before, 'and nothing is changed')
  t.equal((await dryRun({ sampleSize: 1 })).sample.length, 1)

  const apart = await dryRun({ sampleSize: 20 }, mira.token)
  t.match(apart, { totalEligible: 1, sample: [{ seriesId }] })
  t.equal(apart.sample.length, 1)
  const known = { ...config, existingSourceIdsOnly: true, skipRecentlySyncedWithinS: 3_600 }
  t.match(await dryRun({ configOverride: known }), { estSkippedNoId: 2, sample: [{ changes: {}, skipped: [{ field: '*' }] }] })
  t.match(await dryRun({ configOverride: known }, mira.token), { estSkippedNoId: 1 })
  const took = { pluginId, externalId: 'b1' }
  t.match(await ask('POST', `series/${hidden.seriesId}/metadata/apply`, took), { json: { success: true } })
  t.match(await dryRun({ configOverride: known }), { totalEligible: 1, estSkippedNoId: 1, estSkippedRecentlySynced: 1 })
  t.match(await dryRun({ configOverride: known }, mira.token), { totalEligible: 1, estSkippedNoId: 1, estSkippedRecentlySynced: 0 })

  const { taskId } = (await ask<{ taskId: string }>('POST', `${path}/${job.id}/run-now`, undefined, mira.token)).json
  await tasks.start()
  t.match((await ended(taskId)).result, { series: { processed: 2 } })
  t.match((await ask<LibraryJob>('GET', `${path}/${job.id}`)).json, { lastRunMessage: /2 processed/ })
  for (const asked of [`${path}/${job.id}`, path, `tasks/${taskId}`]) {
    const { status, text } = await ask('GET', asked, undefined, mira.token)
    t.equal(status, 200)
    t.notMatch(text, /looked at|secret|processed/, 'what came of all is not for who may not see all')
  }
  t.match((await ask<LibraryJob>('PATCH', `${path}/${job.id}`, { name: 'Other' }, mira.token)).json, { lastRunMessage: null })

  const others: [config: object, failure: RegExp][] = [
    [{ ...config, provider: 'org.example.nobody' }, /no plugin "org\.example\.nobody"/],
    [{ ...config, provider: NOWHERE }, /no plugin/],
  ]
  for (const [configOverride, planFailure] of others)
    t.match(await dryRun({ configOverride }), { planFailure, sample: [], totalEligible: 0 })
  await services.pluginLifecycle.setEnabled(pluginId, false)
  t.match(await dryRun({}), { planFailure: /disabled/ })
})

t.test('a job whose provider is gone fails, and says so', async (t) => {
  const { ask, libraryId, install, ended, tasks } = await openMatchingServer(t)
  const path = `libraries/${libraryId}/jobs`
  await install(PROVIDER, {
    ...PROVIDER_MANIFEST,
    id: 'org.example.series',
    capabilities: { 'metadata.series': { methods: ['search', 'get'] } },
  })
  await tasks.start()
  for (const [provider, scope, message] of [
    ['org.example.nobody', 'series_only', /There is no plugin/],
    ['org.example.series', 'series_and_books', /no metadata of books/],
  ] as const) {
    const { json: job } = await ask<LibraryJob>('POST', path, { config: { ...config, provider, scope } })
    const { taskId } = (await ask<{ taskId: string }>('POST', `${path}/${job.id}/run-now`)).json
    t.match(await ended(taskId), { status: 'failed', lastError: message })
    t.match((await ask<LibraryJob>('GET', `${path}/${job.id}`)).json, { lastRunStatus: 'failed', lastRunMessage: message })
  }
})

t.test('who may not, what is not there, and what makes no sense', async (t) => {
  const { ask, libraryId, signUp, database } = await openMatchingServer(t)
  const path = `libraries/${libraryId}/jobs`
  const { json: job } = await ask<LibraryJob>('POST', path, { config })
  const reader = await signUp({ username: 'rita' })
  for (const [method, way, body] of [
    ['GET', path, undefined],
    ['POST', path, { config }],
    ['GET', `${path}/${job.id}`, undefined],
    ['PATCH', `${path}/${job.id}`, { enabled: false }],
    ['DELETE', `${path}/${job.id}`, undefined],
    ['POST', `${path}/${job.id}/run-now`, undefined],
    ['POST', `${path}/${job.id}/dry-run`, {}],
  ] as const) {
    t.match(await ask(method, way, body, reader.token), { status: 403, json: { error: 'forbidden' } }, `${method} ${way} as a reader`)
    t.equal((await ask(method, way.replace(libraryId, NOWHERE), body)).status, 404, `${method} ${way} of no library`)
  }
  t.equal((await ask('GET', 'library-jobs/metadata-refresh/field-groups', undefined, reader.token)).status, 200)
  const other = await addLibrary(database)
  t.match(await ask('GET', `libraries/${other}/jobs/${job.id}`), { status: 404 }, 'of another library')
  t.match(await ask('DELETE', `libraries/${other}/jobs/${job.id}`), { status: 404 })

  for (const [status, body, where] of [
    [400, {}, '/config'],
    [400, { config: { type: 'metadata_refresh' } }, '/config/provider'],
    [400, { config: { ...config, overwrite: true } }, '/config/overwrite'],
    [400, { config, owner: 'me' }, '/owner'],
    [422, { config: { ...config, type: 'purge' } }, '/config/type'],
    [422, { config: { ...config, fieldGroups: ['everything'] } }, '/config/fieldGroups/0'],
    [422, { config: { ...config, extraFields: ['passwords'] } }, '/config/extraFields'],
    [422, { config: { ...config, skipRecentlySyncedWithinS: -1 } }, '/config/skipRecentlySyncedWithinS'],
    [422, { config, cronSchedule: 'daily' }, '/cronSchedule'],
    [422, { config, cronSchedule: '* * * * *' }, '/cronSchedule'],
    [422, { config, cronSchedule: '0 3 * * *', timezone: 'Middle/Earth' }, '/timezone'],
    [422, { config, name: '' }, '/name'],
  ] as const) {
    const answer = await ask<{ details: { path: string }[] }>('POST', path, body)
    t.match(answer, { status, json: { details: [{ path: where }] } }, JSON.stringify(body).replaceAll('*', '.'))
  }
  for (const sampleSize of [0, 21]) t.equal((await ask('POST', `${path}/${job.id}/dry-run`, { sampleSize })).status, 422)
  t.match(await ask('PATCH', `${path}/${job.id}`, { cronSchedule: '61 * * * *' }), { status: 422 })
  t.same((await ask('GET', path)).json, { jobs: [job] }, 'nothing was changed by any of it')
})
