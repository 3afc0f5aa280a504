import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import { Proposals } from '#core/matching/apply-proposal.ts'
import { LibraryJobs } from '#core/matching/library-jobs.ts'
import { MatchTasks } from '#core/matching/match-tasks.ts'
import { Matching } from '#core/matching/matching.ts'
import { readRecords } from '#core/metadata/metadata-record-store.ts'
import { getTask } from '#core/tasks/task-query.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { PluginProviders } from '#plugins/host/provider-client.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { openTemplates } from '#plugins/templates/templates.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { fine, openPictures, openTestHost } from '#test/support/plugin-hosts.ts'
import { openLoopback, pluginOf } from '#test/support/plugins.ts'
import { findRules, findSupervisor } from '#test/support/supervisor.ts'

t.setTimeout(240_000)

/** Knows every series whose title begins with "Known"; requests a wait the first time, and is slow for series called slow. */
const PROVIDER = `
let asked = 0
export default { metadata: { series: {
  async search({ query }, ctx) {
    if (query === 'Known limited' && asked++ === 0) throw Object.assign(new Error('wait'), { code: 'rate_limited' })
    if (query.endsWith('slow')) await ctx.sleep(700)
    return { results: query.startsWith('Known') ? [{ externalId: query, title: query, relevance: 1 }] : [] }
  },
  get: ({ externalId }) => ({ externalId, title: externalId, year: 2001, genres: ['Found'] }) } } }`
const MANIFEST = { capabilities: { 'metadata.series': { methods: ['search', 'get'], idSource: 'known' } } }

async function openJobs(t: Test) {
  const supervisor = findSupervisor()
  const { database, host, run } = await openTestHost(t, fine, { supervisor })
  const { id: pluginId } = await run(PROVIDER, MANIFEST)
  const tasks = await openTaskQueue({ database, log: silentLog, nodeId: 'test' })
  const downloads = new HttpsEgress(await openLoopback(t, (_request, response) => response.end()))
  const providers = new PluginProviders({ ...host, database })
  const proposals = new Proposals({
    ...{ database, providers, log: silentLog, settings: { dataFolder: t.testdir() } },
    downloadCover: openPictures(database, host, downloads).download,
    drawCover: async () => ({ refused: 'kind' }),
  })
  const matching = new Matching({
    database,
    providers,
    proposals,
    settings: { dataFolder: t.testdir() },
    render: openTemplates(supervisor).renderMany,
    rules: findRules(),
  })
  const matchTasks = new MatchTasks({ database, tasks, matching })
  const jobs = new LibraryJobs({ database, tasks, providers, matching, matchTasks, log: silentLog })
  t.teardown(async () => {
    await jobs.close()
    await tasks.stop()
  })
  const libraryId = await addLibrary(database)
  const add = (title: string) => addSeries(database, { library_id: libraryId, title })
  const ended = async (taskId: string) => {
    for (;;) {
      const task = await getTask(database, taskId)
      if (task.status !== 'pending' && task.status !== 'processing') return task
      await sleep(50)
    }
  }
  const yearOf = async (id: string) => (await readRecords(database, 'series', [id])).get(id)?.values['year']
  const caller = await addCaller(database, { role: 'maintainer' })
  return { database, host, pluginId, tasks, matchTasks, jobs, libraryId, add, ended, yearOf, caller }
}

t.test('a library is matched as one task, which reports its progress and its result', async (t) => {
  const { tasks, matchTasks, libraryId, pluginId, add, ended, yearOf } = await openJobs(t)
  const [known, unknown] = [await add('Known one'), await add('Nobody')]
  await tasks.start()
  const task = await ended(await matchTasks.enqueueLibrary(libraryId, { pluginIds: [pluginId] }))
  t.match(task, { status: 'completed', result: { processed: 2, matched: 1, skipped: { no_match: 1 }, fieldsApplied: Number } })
  t.equal(await yearOf(known), 2001)
  t.equal(await yearOf(unknown), undefined)
})

t.test('a canceled task stops', async (t) => {
  const { tasks, matchTasks, libraryId, pluginId, add, ended } = await openJobs(t)
  for (let index = 0; index < 80; index++) await add(`Known ${index} slow`)
  await tasks.start()
  const taskId = await matchTasks.enqueueLibrary(libraryId, { pluginIds: [pluginId] })
  // The task is within the 80 titles, which take a minute.
  await sleep(1_500)
  t.equal(await tasks.cancel(taskId), true)
  const begun = performance.now()
  t.match(await ended(taskId), { status: 'cancelled' })
  t.ok(performance.now() - begun < 20_000, 'soon, not at the end of the task, which takes a minute')
})

t.test('a job runs once when it is due, and reports what it did', async (t) => {
  const { database, jobs, tasks, libraryId, add, ended, yearOf, caller } = await openJobs(t)
  const series = await add('Known one')
  const config = { type: 'metadata_refresh', provider: 'org.example.echo', fieldGroups: ['status'] } as const
  const job = await jobs.add(libraryId, { cronSchedule: '0 3 * * *', config: { ...config, fieldGroups: [...config.fieldGroups] } })
  t.match(job, { enabled: true, timezone: 'UTC', lastRunAt: null, nextRunAt: /T03:00:00/ })
  await jobs.runDue()
  t.equal((await database('tasks').where('type', 'library_job')).length, 0, 'not yet')
  await database('library_jobs').update({ next_run_at: new Date(Date.now() - 1_000) })
  await Promise.all([jobs.runDue(), jobs.runDue()])
  const waiting = await database('tasks').where('type', 'library_job')
  t.equal(waiting.length, 1, 'two concurrent checks add one task')
  await tasks.start()
  await ended(waiting[0].id)
  t.match(await jobs.get(libraryId, job.id, caller), {
    lastRunStatus: 'completed',
    lastRunMessage: /1 processed, 1 matched/,
    nextRunAt: /T03:00:00/,
  })
  t.equal(await yearOf(series), 2001)
  const genres = await database('series_genres')
  t.same(genres, [], 'only the requested group')
})

t.test('a dry run over a sample changes nothing, and counts the skipped series', async (t) => {
  const { database, jobs, libraryId, add, yearOf, host, pluginId, caller } = await openJobs(t)
  const known = await add('Known one')
  await add('Nobody')
  const job = await jobs.add(libraryId, { config: { type: 'metadata_refresh', provider: pluginId } })
  const outcome = await jobs.dryRun(libraryId, job.id, { by: caller, sampleSize: 5 })
  t.match(outcome, { totalEligible: 2, estSkippedNoId: 0, planFailure: null })
  t.match(
    outcome.sample.find(({ seriesId }) => seriesId === known),
    { changes: { year: { before: null, after: 2001 } } },
  )
  t.equal(await yearOf(known), undefined)
  const only = await jobs.dryRun(libraryId, job.id, {
    by: caller,
    sampleSize: 5,
    config: { type: 'metadata_refresh', provider: pluginId, existingSourceIdsOnly: true },
  })
  t.match(only, { estSkippedNoId: 2 })
  await shareSeries(database, { seriesId: known, caller, mode: 'deny' })
  const apart = await jobs.dryRun(libraryId, job.id, {
    by: caller,
    sampleSize: 5,
    config: { ...job.config, existingSourceIdsOnly: true },
  })
  t.match(apart, { totalEligible: 1, estSkippedNoId: 1 }, 'hidden series are not counted')
  t.notMatch(JSON.stringify(apart), /Known/)
  await database('library_jobs').update({ last_run_message: '2 looked at' })
  const [told] = await jobs.list(libraryId, caller)
  t.equal(told?.lastRunMessage, null)
  t.match(await jobs.get(libraryId, job.id, await addCaller(database)), { lastRunMessage: '2 looked at' })
  await host.pluginLifecycle.setEnabled(pluginId, false)
  t.match(await jobs.dryRun(libraryId, job.id, { by: caller, sampleSize: 5 }), { planFailure: /disabled/, sample: [] })
})

t.test('a job can be run now, but not twice at the same time; jobs of other libraries are not found', async (t) => {
  const { database, jobs, libraryId, pluginId, caller } = await openJobs(t)
  const job = await jobs.add(libraryId, { config: { type: 'metadata_refresh', provider: pluginId } })
  await jobs.runNow(libraryId, job.id)
  await t.rejects(jobs.runNow(libraryId, job.id), { code: 'conflict' })
  const other = await addLibrary(database)
  await t.rejects(jobs.get(other, job.id, caller), { code: 'not_found' })
  await t.rejects(jobs.edit(libraryId, job.id, { cronSchedule: 'never' }, caller), { code: 'invalid_value' })
  await jobs.remove(libraryId, job.id)
  t.same(await jobs.list(libraryId, caller), [])
})

t.test('concurrent changes of different members of a job are both stored', async (t) => {
  const { jobs, libraryId, pluginId, caller } = await openJobs(t)
  const { id } = await jobs.add(libraryId, { cronSchedule: '0 3 * * *', config: { type: 'metadata_refresh', provider: pluginId } })
  for (const [at, hour] of [4, 5, 6, 7, 8].entries()) {
    await Promise.all([
      jobs.edit(libraryId, id, { cronSchedule: `0 ${hour} * * *` }, caller),
      jobs.edit(libraryId, id, { name: `Name ${at}` }, caller),
      jobs.edit(libraryId, id, { timezone: hour % 2 ? 'UTC' : 'Asia/Tokyo' }, caller),
    ])
    const { name, cronSchedule, timezone } = await jobs.get(libraryId, id, caller)
    t.same([name, cronSchedule, timezone], [`Name ${at}`, `0 ${hour} * * *`, hour % 2 ? 'UTC' : 'Asia/Tokyo'])
  }
})

t.test('messages of the database are not sent to users', async (t) => {
  const { database, jobs, tasks, libraryId, add, pluginId, caller } = await openJobs(t)
  await add('Known one')
  const { id } = await jobs.add(libraryId, { config: { type: 'metadata_refresh', provider: pluginId } })
  await database.raw('ALTER TABLE metadata_applications RENAME TO away')
  const taskId = await jobs.runNow(libraryId, id)
  await tasks.start()
  let lastError: string | null = null
  while (lastError === null) {
    await sleep(50)
    lastError = (await getTask(database, taskId)).lastError
  }
  const { lastRunStatus, lastRunMessage } = await jobs.get(libraryId, id, caller)
  t.equal(lastRunStatus, 'failed')
  for (const told of [lastRunMessage, lastError]) {
    t.match(told, /log/, 'but where the log has it')
    t.notMatch(told, /metadata_applications|insert|select/i)
  }
})

t.test('a run whose task ended without a result does not stay running', async (t) => {
  const { database, jobs, tasks, libraryId, pluginId, caller } = await openJobs(t)
  const { id } = await jobs.add(libraryId, { config: { type: 'metadata_refresh', provider: pluginId } })
  const taskId = await jobs.runNow(libraryId, id)
  const left = () => database('library_jobs').update({ last_run_status: 'processing', task_id: taskId, last_run_message: null })
  await left()
  t.match(await jobs.get(libraryId, id, caller), { lastRunStatus: 'processing' }, 'its task waits for another try')
  await tasks.cancel(taskId)
  t.match(await jobs.get(libraryId, id, caller), { lastRunStatus: 'cancelled' })
  await left()
  await database('tasks').where({ id: taskId }).delete()
  t.match(await jobs.list(libraryId, caller), [{ lastRunStatus: 'failed', lastRunMessage: /stopped/ }])
})

t.test('a job with an invalid schedule does not block other jobs', async (t) => {
  const { database, jobs, libraryId, pluginId, caller } = await openJobs(t)
  const config = { type: 'metadata_refresh', provider: pluginId } as const
  const lost = await jobs.add(libraryId, { cronSchedule: '0 3 * * *', config })
  const good = await jobs.add(libraryId, { cronSchedule: '0 4 * * *', config })
  // As if the list of time zones had changed.
  await database('library_jobs')
    .where('id', lost.id)
    .update({ timezone: 'Europe/Atlantis', next_run_at: new Date(1_000) })
  await database('library_jobs')
    .where('id', good.id)
    .update({ next_run_at: new Date(2_000) })
  await jobs.runDue()
  const waiting = await database('tasks').where('type', 'library_job').pluck('dedupe_key')
  t.same(waiting, [good.id])
  t.match(await jobs.get(libraryId, good.id, caller), { nextRunAt: /T04:00:00/ })
  t.match(await jobs.get(libraryId, lost.id, caller), { nextRunAt: null, lastRunStatus: 'failed', lastRunMessage: /Atlantis/ })
})

t.test('a provider that requests too many waits ends the task', onlyFull, async (t) => {
  const { database: db, host, jobs, tasks, libraryId, add, pluginId, ended } = await openJobs(t)
  for (const title of ['Known a', 'Known b', 'Known c']) await add(title)
  const waits = PROVIDER.replace('let asked = 0', '').replace(
    /async search[\s\S]*?\n {2}\},/,
    `async search() { throw Object.assign(new Error('wait'), { code: 'rate_limited', retryAfterSeconds: 0.01 }) },`,
  )
  await host.pluginLifecycle.install(pluginOf(waits, { ...MANIFEST, version: '2.0.0' }), { userId: null })
  const { id } = await jobs.add(libraryId, { config: { type: 'metadata_refresh', provider: pluginId } })
  await tasks.start()
  const task = await ended(await jobs.runNow(libraryId, id))
  t.match(task, { status: 'failed', attempts: 1, lastError: /wait/ })
  t.ok((await db('plugin_failures')).length <= 11, 'and is not called again for each series')
})
