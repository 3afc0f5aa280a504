import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import { REGULAR_JOBS, RegularJobs } from '#core/foundation/regular-jobs.ts'
import { sourcePaths } from '#test/support/architecture.ts'
import { openComposedServer } from '#test/support/composed-server.ts'
import { until } from '#test/support/library-fixture.ts'
import { addLibrary } from '#test/support/library-rows.ts'
import { addRunningTask } from '#test/support/task-queues.ts'

t.setTimeout(60_000)

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const ago = (ms: number) => new Date(Date.now() - ms)

/** A server whose jobs run when they are due, and when the test says so; one kind of its tasks waits until the test lets it go on. */
async function openWorld(t: Test) {
  const failures: string[] = []
  const jobs = new RegularJobs({ ...silentLog, warn: ({ err }: { err?: Error }, message) => failures.push(`${message}: ${err?.message}`) })
  const composed = await openComposedServer(t, { jobs, settings: { watch: true } })
  const going = Promise.withResolvers<void>()
  composed.services.tasks.handle('purge_deleted', { concurrency: 2 }, async (run) => {
    run.progress(3, 10, 'on the way')
    await going.promise
    return {}
  })
  await composed.start()
  const { id: userId } = await composed.database('users').first('id')
  const libraryId = await addLibrary(composed.database, { path: join(composed.folder, 'library') })
  return { ...composed, jobs, failures, goOn: going.resolve, userId, libraryId }
}

type World = Awaited<ReturnType<typeof openWorld>>

/** Tasks that ended so long ago. */
const addEnded = async ({ database }: World, type: string, ms: number) =>
  (
    await database('tasks').insert(
      { type, dedupe_key: randomUUID(), status: 'completed', priority: 1, max_attempts: 1, completed_at: ago(ms) },
      'id',
    )
  )[0].id as string
const metricsOf = (days: number) => ({
  ...{ task_type: 'analyze_book', hour: ago(days * DAY_MS), succeeded: 1, failed: 0, retried: 0, items: 1, duration_ms: 1 },
  ...{ duration_min_ms: 1, duration_max_ms: 1, wait_ms: 0, durations: [1] },
})
const addExportOf = ({ database, userId }: World, expiresAt: Date) =>
  database('series_exports').insert(
    {
      user_id: userId,
      format: 'json',
      export_type: 'series',
      library_ids: [],
      fields: [],
      book_fields: [],
      status: 'completed',
      expires_at: expiresAt,
    },
    'id',
  )

/** For each job: makes rows that it must act on, and others; returns what must hold after a run. */
const CASES: Record<keyof typeof REGULAR_JOBS, (world: World, t: Test) => Promise<() => unknown>> = {
  'start due tasks': async ({ database, services, libraryId }) => {
    const { taskId } = await services.tasks.add({ type: 'purge_deleted', dedupeKey: 'due', libraryId, scheduledFor: ago(-HOUR_MS) })
    await database('tasks')
      .where('id', taskId)
      .update({ scheduled_for: ago(1_000) })
    await database.raw(
      `SELECT graphile_worker.reschedule_jobs(ARRAY(SELECT id FROM graphile_worker.jobs WHERE key = ?), run_at := now())`,
      [taskId],
    )
    return () => until(async () => (await database('tasks').where('id', taskId).first('status')).status === 'processing')
  },
  'write the progress of tasks': async ({ database, services, libraryId }) => {
    const { taskId } = await services.tasks.add({ type: 'purge_deleted', dedupeKey: 'progress', libraryId })
    return () =>
      until(async () => (await database('tasks').where('id', taskId).first('progress_message')).progress_message === 'on the way')
  },
  'queue tasks of dead nodes again': async ({ database, libraryId }) => {
    const [{ id, worker }] = await addRunningTask(database, { type: 'find_duplicates', library_id: libraryId })
    return () => until(async () => (await database('tasks').where('id', id).first('worker')).worker !== worker)
  },
  'repair waiting tasks': async ({ database }) => {
    const [{ id }] = await database('tasks').insert({ type: 'find_duplicates', dedupe_key: 'no job', priority: 1, max_attempts: 1 }, 'id')
    return () => until(async () => (await database('tasks').where('id', id).first('status')).status !== 'pending')
  },
  'delete finished tasks': async (world, t) => {
    const old = [await addEnded(world, 'analyze_book', 3 * HOUR_MS), await addEnded(world, 'scan_library', 8 * DAY_MS)]
    const young = [await addEnded(world, 'analyze_book', HOUR_MS), await addEnded(world, 'scan_library', 6 * DAY_MS)]
    return async () =>
      t.same(
        (
          await world
            .database('tasks')
            .whereIn('id', [...old, ...young])
            .pluck('id')
        ).sort(),
        young.toSorted(),
      )
  },
  'write the metrics of tasks': async ({ database, goOn }) => {
    goOn()
    await until(async () => !(await database('tasks').where({ type: 'purge_deleted' }).whereNot('status', 'completed').first('id')))
    return () => until(async () => (await database('task_metrics').where('task_type', 'purge_deleted').first('succeeded'))?.succeeded >= 2)
  },
  'delete old metrics of tasks': async ({ database }, t) => {
    await database('task_metrics').insert([metricsOf(31), metricsOf(29)])
    return async () =>
      t.equal((await database('task_metrics').where('task_type', 'analyze_book').where('hour', '<', ago(DAY_MS))).length, 1)
  },
  'record when API keys and sessions were last used': async ({ database, services, url, adminToken }, t) => {
    const admin = await services.accounts.callers.ofToken(adminToken, 'token')
    const { id, key } = await services.accounts.createApiKey({ name: 'app' }, admin as NonNullable<typeof admin>)
    t.equal((await fetch(`${url}/api/v1/books`, { headers: { 'x-api-key': key } })).status, 200)
    const sessions = database('sessions').where('id', admin?.sessionId)
    await sessions.clone().update({ last_used_at: ago(HOUR_MS) })
    return async () => {
      t.type((await database('api_keys').where('id', id).first('last_used_at')).last_used_at, Date)
      t.ok((await sessions.clone().first('last_used_at')).last_used_at > ago(HOUR_MS / 2))
    }
  },
  'delete old sessions': async ({ database, userId }, t) => {
    const add = async (row: object) =>
      (await database('sessions').insert({ user_id: userId, expires_at: ago(-DAY_MS), ...row }, 'id'))[0].id as string
    const old = [await add({ expires_at: ago(25 * HOUR_MS) }), await add({ revoked_at: ago(25 * HOUR_MS) })]
    const young = [await add({ expires_at: ago(23 * HOUR_MS) }), await add({ revoked_at: ago(23 * HOUR_MS) }), await add({})]
    const token = (session: string, expires: Date) => ({ token_hash: Buffer.from(randomUUID()), session_id: session, expires_at: expires })
    await database('refresh_tokens').insert([token(young[2] as string, ago(25 * HOUR_MS)), token(young[2] as string, ago(HOUR_MS))])
    return async () => {
      t.same(
        (
          await database('sessions')
            .whereIn('id', [...old, ...young])
            .pluck('id')
        ).sort(),
        young.toSorted(),
      )
      t.equal((await database('refresh_tokens').where('session_id', young[2] as string)).length, 1)
    }
  },
  'delete old exports': async (world, t) => {
    const [[old], [young]] = [await addExportOf(world, ago(HOUR_MS)), await addExportOf(world, ago(-HOUR_MS))]
    const folder = join(world.folder, 'exports')
    mkdirSync(folder, { recursive: true })
    for (const id of [old.id, young.id, '11111111-1111-4111-8111-111111111111']) {
      writeFileSync(join(folder, `${id}.json`), '[]')
      utimesSync(join(folder, `${id}.json`), ago(8 * DAY_MS), ago(8 * DAY_MS))
    }
    return async () => {
      t.same(await world.database('series_exports').whereIn('id', [old.id, young.id]).pluck('id'), [young.id])
      t.same(readdirSync(folder), [`${young.id}.json`], 'also files without a row')
    }
  },
  'start due library jobs': async ({ database, libraryId }, t) => {
    const config = { type: 'metadata_refresh', provider: 'org.example.echo', fieldGroups: ['status'] }
    const due = { library_id: libraryId, type: config.type, name: 'due', cron: '0 3 * * *', config, next_run_at: ago(1_000) }
    const [{ id }] = await database('library_jobs').insert(due, 'id')
    return async () => t.equal((await database('tasks').where({ type: 'library_job', dedupe_key: id })).length, 1)
  },
  'start due scans': async ({ database, libraryId }, t) => {
    const scanning_config = { enabled: true, scanMode: 'normal', cronSchedule: '0 3 * * *' }
    await database('libraries')
      .where('id', libraryId)
      .update({ scanning_config, next_scan_at: ago(1_000) })
    return async () => t.equal((await database('scans').where('library_id', libraryId)).length, 1)
  },
  'watch libraries': async ({ database, libraryId }) => {
    const stateOf = async () => await database('library_watches').where('library_id', libraryId).first('problem')
    return () => until(async () => (await stateOf())?.problem)
  },
  'refresh plugin repositories': async ({ database }, t) => {
    const repository = { url: 'https://127.0.0.1:9/', name: 'Nowhere', public_key: Buffer.alloc(32).toString('base64') }
    const [{ id }] = await database('plugin_repositories').insert(repository, 'id')
    return async () => t.ok((await database('plugin_repositories').where('id', id).first('error')).error)
  },
}

t.test('each regular job of the server does its work with its real statements', async (t) => {
  const world = await openWorld(t)
  t.same([...world.jobs.started.keys()].sort(), Object.keys(REGULAR_JOBS).sort(), 'the server starts each of them')
  for (const [name, prepare] of Object.entries(CASES) as [keyof typeof REGULAR_JOBS, (typeof CASES)['start due tasks']][])
    await t.test(name, async (t) => {
      const check = await prepare(world, t)
      await world.jobs.started.get(name)?.now()
      await check()
      t.same(world.failures, [])
    })
})

/** Timers that repeat work on rows or files of nobody: they look after memory, connections, threads, processes and mounts of their own server. */
const OTHER_TIMERS = [
  ...[
    'api/garbage.ts',
    'api/http/connections.ts',
    'api/http/event-stream.ts',
    'api/http/open-answers.ts',
    'api/launch.mjs',
    'api/server.ts',
  ],
  ...[
    'core/embedded/data-folder-watch.ts',
    'core/embedded/data-folder.ts',
    'core/foundation/buffer-pool.ts',
    'core/foundation/disk-calls.ts',
    'core/foundation/loop-watch.ts',
    'core/scan/walk.ts',
    'core/scan/watch/folder-watch.ts',
  ],
  ...['api/cli/watchdog.ts', 'plugins/devkit/main.ts', 'plugins/host/live-isolates.ts', 'plugins/host/withdrawal-store.ts'],
  ...['plugins/runtime/runner/inspection.mjs', 'plugins/runtime/runner/sandbox.mjs', 'plugins/runtime/supervisor.ts'],
  ...['workers/formats/open-files.ts', 'workers/pool/child-pool.ts'],
]

t.test('nothing else repeats itself', async (t) => {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const repeating = sourcePaths(root).filter(
    (path) => /^(api|core|plugins|workers)\//.test(path) && readFileSync(join(root, path), 'utf8').includes('setInterval('),
  )
  t.same(repeating.sort(), OTHER_TIMERS.sort(), 'work on rows and files is a job of REGULAR_JOBS, with a case above')
})

t.test('a job that fails is logged and done again; a stopped one is neither', async (t) => {
  const said: string[] = []
  const jobs = new RegularJobs({ ...silentLog, warn: (_, message) => said.push(message) })
  let runs = 0
  const seen = Promise.withResolvers<void>()
  const job = jobs.start(
    'delete old exports',
    async () => {
      if (++runs === 3) seen.resolve()
      throw new Error('broken')
    },
    { everyMs: 1 },
  )
  // Timers of jobs keep no process running: this one does, until the third run.
  const held = setTimeout(() => {}, 60_000)
  await seen.promise
  clearTimeout(held)
  await job.stop()
  const before = runs
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.equal(runs, before)
  t.equal(said[0], 'Could not delete old exports; it will be tried again')
})
