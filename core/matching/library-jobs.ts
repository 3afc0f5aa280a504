import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { hasSharingGrants } from '#core/account/user-store.ts'
import { CarrelError, refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { idKeyOf } from '#core/matching/find-record.ts'
import { fieldsOf, type JobConfig, type LibraryJob, nextRun } from '#core/matching/library-job.ts'
import {
  addJob,
  advanceJob,
  deleteJob,
  findJob,
  listDueJobs,
  listJobs,
  recordRun,
  settleRun,
  updateJob,
} from '#core/matching/library-job-store.ts'
import type { MatchTally, MatchTasks } from '#core/matching/match-tasks.ts'
import type { Matching } from '#core/matching/matching.ts'
import type { Provider, ProviderClient } from '#core/matching/provider-client.ts'
import { countIdentified, countPass, type Pass, samplePass } from '#core/matching/target-query.ts'
import { FinalFailure, type TaskQueue, taskErrorMessage } from '#core/tasks/task.ts'
import { getTask, type TaskStatus } from '#core/tasks/task-query.ts'

export interface JobWish {
  name?: string | null | undefined
  enabled?: boolean | undefined
  cronSchedule?: string | null | undefined
  timezone?: string | null | undefined
  config?: JobConfig | undefined
}

/** What a job would do to one series. */
export interface JobDelta {
  seriesId: string
  seriesName: string
  changes: Record<string, { before: unknown; after: unknown }>
  skipped: { field: string; reason: string }[]
}

export interface JobRehearsal {
  sample: JobDelta[]
  totalEligible: number
  estSkippedNoId: number
  estSkippedRecentlySynced: number
  /** Why the job could not run at all. */
  planFailure: string | null
}

/** Work on the metadata of a library that is done by a timetable. */
export interface LibraryJobs {
  /** @param by who is told: what came of the last run is kept from those who may not see all that it went over */
  list(libraryId: string, by: Caller): Promise<LibraryJob[]>
  /** @param by as in `list`. @throws not_found, also for a job of another library */
  get(libraryId: string, jobId: string, by: Caller): Promise<LibraryJob>
  /** @throws invalid_value, conflict when the library has too many */
  add(libraryId: string, wish: JobWish & { config: JobConfig }): Promise<LibraryJob>
  /** @throws not_found, invalid_value */
  edit(libraryId: string, jobId: string, wish: JobWish, by: Caller): Promise<LibraryJob>
  remove(libraryId: string, jobId: string): Promise<void>
  /** @throws conflict when it waits or runs already */
  runNow(libraryId: string, jobId: string): Promise<string>
  /**
   * What a run would do, over some series; changes nothing.
   * @param how.by who is told: what they may not see is neither looked at nor counted
   * @throws not_found
   */
  rehearse(
    libraryId: string,
    jobId: string,
    how: { by: Caller; sampleSize: number; config?: JobConfig | undefined; signal?: AbortSignal },
  ): Promise<JobRehearsal>
  /** Puts in line what is due; after `start` the clock does so. */
  runDue(): Promise<void>
  start(): void
  close(): void
}

/** Of one library; each asks a service about everything in it. */
const JOBS_MAX = 20
/** A timetable counts minutes; half of one is soon enough. */
const LOOK_EVERY_MS = 30_000

export interface LibraryJobParts {
  database: Knex
  tasks: TaskQueue
  providers: ProviderClient
  matching: Matching
  matchTasks: MatchTasks
  log: Log
}

export function openLibraryJobs(parts: LibraryJobParts): LibraryJobs {
  const { database, tasks, providers, matching, matchTasks, log } = parts
  let timer: NodeJS.Timeout | undefined

  /** A run whose task has ended without a word, as where a server was killed at its last try, is over. */
  async function settled(job: LibraryJob): Promise<LibraryJob> {
    if (job.lastRunStatus !== 'running' || job.taskId === null) return job
    const status = await statusOf(job.taskId)
    if (status === 'pending' || status === 'processing') return job
    const end =
      status === 'cancelled'
        ? ({ status, message: 'The task was cancelled.' } as const)
        : ({ status: 'failed', message: 'The server stopped while it ran.' } as const)
    await settleRun(database, job, end)
    return (await findJob(database, job.id)) ?? job
  }

  async function get(libraryId: string, jobId: string): Promise<LibraryJob> {
    const job = await findJob(database, jobId)
    return job !== null && job.libraryId === libraryId.toLowerCase()
      ? job
      : refuse('not_found', `There is no job ${jobId} of this library.`)
  }

  /** The provider that a job asks, and why it cannot. */
  async function providerOf({ provider: wanted, scope = 'series_only' }: JobConfig): Promise<Provider | { failure: string }> {
    const provider = (await providers.list()).find(({ id, key }) => key === wanted || id === wanted)
    if (provider === undefined) return { failure: `There is no plugin "${wanted}".` }
    if (provider.state !== 'enabled') return { failure: `${provider.name} is ${provider.state}.` }
    const missing = kindsOf(scope).find((kind) => !provider.methods.includes(`metadata.${kind}.get`))
    return missing === undefined ? provider : { failure: `${provider.name} has no metadata of ${missing === 'book' ? 'books' : 'series'}.` }
  }

  const passOf = (libraryId: string, kind: Pass['kind'], provider: Provider, { skipRecentlySyncedWithinS }: JobConfig): Pass => ({
    ...{ kind, libraryId },
    synced: skipRecentlySyncedWithinS ? { source: idKeyOf(provider, kind), withinSeconds: skipRecentlySyncedWithinS } : undefined,
  })

  const wishOf = (provider: Provider, kind: Pass['kind'], config: JobConfig) => ({
    pluginIds: [provider.id],
    fields: fieldsOf(config, kind),
    existingIdsOnly: config.existingSourceIdsOnly ?? false,
  })

  const enqueue = ({ id, libraryId }: LibraryJob) => tasks.add({ type: 'library_job', libraryId, params: { jobId: id }, dedupeKey: id })

  /** What can be no timetable any more was one when it was entered. */
  const nextOf = ({ cronSchedule, timezone }: LibraryJob): Date | null | CarrelError => {
    try {
      return nextRun(cronSchedule, timezone, new Date())
    } catch (error) {
      if (error instanceof CarrelError) return error
      throw error
    }
  }

  async function runDue(): Promise<void> {
    for (const job of await listDueJobs(database)) {
      const next = nextOf(job)
      if (next instanceof CarrelError) {
        // It would be due for ever, and all behind it with it.
        if (await advanceJob(database, job, null)) await recordRun(database, job.id, { status: 'failed', message: next.message })
        continue
      }
      // Into the queue first: killed in between, the job is found due again, and a task that waits already is the same one.
      const { taskId } = await enqueue(job)
      if (await advanceJob(database, job, next))
        log.info({ job: job.name, libraryId: job.libraryId, taskId }, `The job "${job.name}" was put in line`)
    }
  }

  tasks.handle('library_job', { concurrency: 1 }, async (run) => {
    const jobId = String(run.params['jobId'])
    const job = (await findJob(database, jobId)) ?? stop('The job was deleted.')
    const provider = await providerOf(job.config)
    if ('failure' in provider) {
      await recordRun(database, job.id, { status: 'failed', message: provider.failure })
      return stop(provider.failure)
    }
    await recordRun(database, job.id, { status: 'running', message: null, taskId: run.id })
    try {
      const tallies: Partial<Record<Pass['kind'], MatchTally>> = {}
      for (const kind of kindsOf(job.config.scope))
        tallies[kind] = await matchTasks.matchAll(
          passOf(job.libraryId, kind, provider, job.config),
          wishOf(provider, kind, job.config),
          run,
        )
      const sum = (name: 'processed' | 'matched' | 'fieldsApplied') =>
        Object.values(tallies).reduce((total, tally) => total + tally[name], 0)
      const message = `${sum('processed')} looked at, ${sum('matched')} found, ${sum('fieldsApplied')} fields changed.`
      await recordRun(database, job.id, { status: 'completed', message })
      return { message, ...tallies }
    } catch (error) {
      // A server that stops gives the task back, and the next one goes on with it.
      if (!run.signal.aborted) await recordRun(database, job.id, { status: 'failed', message: taskErrorMessage(error) })
      else if ((await statusOf(run.id)) === 'cancelled')
        await recordRun(database, job.id, { status: 'cancelled', message: 'The task was cancelled.' })
      throw error
    }
  })

  /** Null of tasks that ended some time ago: they are forgotten. */
  const statusOf = async (taskId: string): Promise<TaskStatus | null> =>
    await getTask(database, taskId).then(
      ({ status }) => status,
      () => null,
    )
  const isActive = async (taskId: string): Promise<boolean> => ['pending', 'processing'].includes(String(await statusOf(taskId)))

  /** Its numbers count everything in the library, and what it failed at may name any of it. */
  const toldTo = async (by: Caller, jobs: LibraryJob[]): Promise<LibraryJob[]> =>
    (await hasSharingGrants(database, by.userId)) ? jobs.map((job) => ({ ...job, lastRunMessage: null })) : jobs
  const oneToldTo = async (by: Caller, job: LibraryJob): Promise<LibraryJob> => (await toldTo(by, [job]))[0] ?? job

  return {
    runDue,
    get: async (libraryId, jobId, by) => await oneToldTo(by, await settled(await get(libraryId, jobId))),
    list: async (libraryId, by) => await toldTo(by, await Promise.all((await listJobs(database, libraryId)).map(settled))),

    async add(libraryId, { name, enabled = true, cronSchedule = null, timezone, config }) {
      fieldsOf(config)
      const zone = timezone ?? 'UTC'
      const nextRunAt = nextRun(cronSchedule, zone, new Date())
      const given = {
        libraryId,
        name: name ?? `Metadata from ${config.provider}`,
        enabled,
        cron: cronSchedule,
        timezone: zone,
        config,
        nextRunAt,
      }
      return (await addJob(database, given, JOBS_MAX)) ?? refuse('conflict', `A library has ${JOBS_MAX} jobs at most; delete one first.`)
    },

    async edit(libraryId, jobId, wish, by) {
      const job = await get(libraryId, jobId)
      if (wish.config !== undefined) fieldsOf(wish.config)
      const changed = await updateJob(database, job.id, (before) => {
        const cron = wish.cronSchedule === undefined ? before.cronSchedule : wish.cronSchedule
        const timezone = wish.timezone ?? before.timezone
        return {
          ...(wish.name && { name: wish.name }),
          ...(wish.enabled !== undefined && { enabled: wish.enabled }),
          ...(wish.config !== undefined && { config: wish.config }),
          ...{ cron, timezone, nextRunAt: nextRun(cron, timezone, new Date()) },
        }
      })
      return await oneToldTo(by, changed ?? refuse('not_found', `There is no job ${jobId} of this library.`))
    },

    async remove(libraryId, jobId) {
      const job = await get(libraryId, jobId)
      if (job.taskId !== null) await tasks.cancel(job.taskId)
      await deleteJob(database, job.id)
    },

    async runNow(libraryId, jobId) {
      const job = await get(libraryId, jobId)
      if (job.lastRunStatus === 'running' && job.taskId !== null && (await isActive(job.taskId)))
        refuse('conflict', `"${job.name}" is running.`)
      const { taskId, created } = await enqueue(job)
      if (!created) refuse('conflict', `"${job.name}" waits for its turn already.`)
      return taskId
    },

    async rehearse(libraryId, jobId, { by, sampleSize, config: override, signal }) {
      const job = await get(libraryId, jobId)
      const config = override ?? job.config
      const wish = fieldsOf(config)
      const provider = await providerOf({ ...config, scope: 'series_only' })
      if ('failure' in provider)
        return { sample: [], totalEligible: 0, estSkippedNoId: 0, estSkippedRecentlySynced: 0, planFailure: provider.failure }
      const pass: Pass = { ...passOf(job.libraryId, 'series', provider, config), by }
      const everything: Pass = { kind: 'series', libraryId: job.libraryId, by }
      const [eligible, all, identified, sample] = await Promise.all([
        countPass(database, pass),
        countPass(database, everything),
        countIdentified(database, everything, idKeyOf(provider, 'series')),
        samplePass(database, pass, sampleSize),
      ])
      const deltas: JobDelta[] = []
      for (const { id, title } of sample) {
        const how = {
          pluginId: provider.id,
          userId: null,
          fields: wish,
          existingIdsOnly: config.existingSourceIdsOnly ?? false,
          dryRun: true,
        }
        const matched = await matching.autoMatch({ kind: 'series', id }, { ...how, ...(signal && { signal }) })
        const applied = matched.fields.filter(({ status }) => status === 'will_apply')
        const skipped = matched.fields.filter(({ status }) => status !== 'will_apply' && status !== 'not_provided')
        deltas.push({
          ...{ seriesId: id, seriesName: title },
          changes: Object.fromEntries(
            applied.map(({ field, currentValue, proposedValue }) => [field, { before: currentValue, after: proposedValue }]),
          ),
          skipped: matched.success
            ? skipped.map(({ field, reason }) => ({ field, reason: reason ?? 'It has this value already.' }))
            : [{ field: '*', reason: matched.message }],
        })
      }
      return {
        ...{ sample: deltas, totalEligible: eligible, estSkippedRecentlySynced: all - eligible, planFailure: null },
        estSkippedNoId: config.existingSourceIdsOnly ? all - identified : 0,
      }
    },

    start() {
      timer ??= setInterval(() => {
        runDue().catch((error: unknown) => log.error({ err: error }, 'The timetable of jobs could not be looked at'))
      }, LOOK_EVERY_MS)
      timer.unref()
    },
    close() {
      clearInterval(timer)
    },
  }
}

const stop = (message: string): never => {
  throw new FinalFailure(message)
}

const kindsOf = (scope: JobConfig['scope']): Pass['kind'][] =>
  scope === 'series_and_books' ? ['series', 'book'] : [scope === 'books_only' ? 'book' : 'series']
