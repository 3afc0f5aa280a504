import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { isRestricted } from '#core/account/user-store.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { RegularJobs } from '#core/foundation/regular-jobs.ts'
import { startDue } from '#core/foundation/schedule.ts'
import { quotedText } from '#core/foundation/stranger-text.ts'
import type { TaskStatus } from '#core/foundation/task-status.ts'
import { type JobConfig, jobFieldsOf, type LibraryJob, nextRun } from '#core/matching/library-job.ts'
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
import type { Matched, Matching } from '#core/matching/matching.ts'
import { idKeyOf, type Provider, type ProviderClient } from '#core/matching/provider-client.ts'
import { countIdentified, countPass, type Pass, samplePass } from '#core/matching/target-query.ts'
import { FinalFailure, type TaskRun, taskErrorMessage } from '#core/tasks/task.ts'
import { getTask } from '#core/tasks/task-query.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'

/** The members of a job that a request gives; absent members stay, or have defaults. */
interface JobRequest {
  name?: string | null | undefined
  enabled?: boolean | undefined
  cronSchedule?: string | null | undefined
  timezone?: string | null | undefined
  config?: JobConfig | undefined
}

/** What a job would change on one series. */
interface JobDelta {
  seriesId: string
  seriesName: string
  changes: Record<string, { before: unknown; after: unknown }>
  skipped: { field: string; reason: string }[]
}

interface JobDryRun {
  /** Of the provider; null if there is none. */
  pluginId: string | null
  sample: JobDelta[]
  totalEligible: number
  estSkippedNoId: number
  estSkippedRecentlySynced: number
  /** Why the job cannot run at all. */
  planFailure: string | null
}

/** Jobs per library; each requests data about the whole library from a service. */
const JOBS_MAX = 20

interface LibraryJobDependencies {
  database: Knex
  tasks: TaskQueue
  providers: ProviderClient
  matching: Matching
  matchTasks: MatchTasks
  log: Log
  /** Those of the server; only tests have none. */
  jobs?: RegularJobs
}

/** Scheduled metadata jobs of libraries. */
export class LibraryJobs {
  readonly #dependencies: LibraryJobDependencies
  #looking: ReturnType<RegularJobs['start']> | undefined

  constructor(dependencies: LibraryJobDependencies) {
    this.#dependencies = dependencies
    dependencies.tasks.handle('library_job', { concurrency: 1 }, (run) => this.#run(run))
  }

  async #run(run: TaskRun): Promise<object> {
    const jobId = String(run.params['jobId'])
    const job = (await findJob(this.#dependencies.database, jobId)) ?? stop('The job was deleted.')
    const provider = await this.#providerOf(job.config)
    if ('failure' in provider) {
      await recordRun(this.#dependencies.database, job.id, { status: 'failed', message: provider.failure })
      return stop(provider.failure)
    }
    await recordRun(this.#dependencies.database, job.id, { status: 'processing', message: null, taskId: run.id })
    try {
      const tallies: Partial<Record<Pass['kind'], MatchTally>> = {}
      for (const kind of kindsOf(job.config.scope))
        tallies[kind] = await this.#dependencies.matchTasks.matchAll(
          passOf(job.libraryId, kind, provider, job.config),
          optionsOf(provider, kind, job.config),
          run,
        )
      const sum = (name: 'processed' | 'matched' | 'fieldsApplied') =>
        Object.values(tallies).reduce((total, tally) => total + tally[name], 0)
      const message = `${sum('processed')} processed, ${sum('matched')} matched, ${sum('fieldsApplied')} fields changed.`
      await recordRun(this.#dependencies.database, job.id, { status: 'completed', message })
      return { message, ...tallies }
    } catch (error) {
      // When the server stops, the task returns to the queue, and the next server continues it.
      if (!run.signal.aborted) await recordRun(this.#dependencies.database, job.id, { status: 'failed', message: taskErrorMessage(error) })
      else if ((await this.#statusOf(run.id)) === 'cancelled')
        await recordRun(this.#dependencies.database, job.id, { status: 'cancelled', message: 'The task was cancelled.' })
      throw error
    }
  }

  /** A run whose task ended without recording it, such as at the last try of a killed server, has ended. */
  async #settled(job: LibraryJob): Promise<LibraryJob> {
    if (job.lastRunStatus !== 'processing' || job.taskId === null) return job
    const status = await this.#statusOf(job.taskId)
    if (status === 'pending' || status === 'processing') return job
    const end =
      status === 'cancelled'
        ? ({ status, message: 'The task was cancelled.' } as const)
        : ({ status: 'failed', message: 'The server stopped while it ran.' } as const)
    await settleRun(this.#dependencies.database, job, end)
    return (await findJob(this.#dependencies.database, job.id)) ?? job
  }

  async #get(libraryId: string, jobId: string): Promise<LibraryJob> {
    const job = await findJob(this.#dependencies.database, jobId)
    return job !== null && job.libraryId === libraryId.toLowerCase()
      ? job
      : refuse('not_found', `There is no job ${jobId} of this library.`)
  }

  /** The provider of a job, or why it cannot be used. */
  async #providerOf({ provider: wanted, scope = 'series_only' }: JobConfig): Promise<Provider | { failure: string }> {
    const provider = (await this.#dependencies.providers.list()).find(({ id, key }) => key === wanted || id === wanted)
    if (provider === undefined) return { failure: `There is no plugin "${wanted}".` }
    if (provider.state !== 'enabled') return { failure: `${quotedText(provider.name)} is ${provider.state}.` }
    const missing = kindsOf(scope).find((kind) => !provider.methods.includes(`metadata.${kind}.get`))
    return missing === undefined
      ? provider
      : { failure: `${quotedText(provider.name)} has no metadata of ${missing === 'book' ? 'books' : 'series'}.` }
  }

  #enqueue({ id, libraryId }: LibraryJob) {
    return this.#dependencies.tasks.add({ type: 'library_job', libraryId, params: { jobId: id }, dedupeKey: id })
  }

  /** Queues jobs that are due; after `start` a timer does so. */
  async runDue(): Promise<void> {
    const { database, log } = this.#dependencies
    await startDue(await listDueJobs(database), {
      next: (job) => nextRun(job.cronSchedule, job.timezone, new Date()),
      // A waiting task with its key is the same one.
      start: async (job) => {
        const { taskId } = await this.#enqueue(job)
        log.info({ job: job.name, libraryId: job.libraryId, taskId }, `The job "${job.name}" was queued`)
        return true
      },
      advance: (job, next) => advanceJob(database, job, next),
      fail: (job, message) => recordRun(database, job.id, { status: 'failed', message }),
    })
  }

  /** Null for tasks that were deleted some time after their end. */
  async #statusOf(taskId: string): Promise<TaskStatus | null> {
    return await getTask(this.#dependencies.database, taskId).then(
      ({ status }) => status,
      () => null,
    )
  }

  async #isActive(taskId: string): Promise<boolean> {
    return ['pending', 'processing'].includes(String(await this.#statusOf(taskId)))
  }

  /** The jobs as the caller may see them: the counts of a run cover the whole library, and its errors may name any record. */
  async #viewsFor(by: Caller, jobs: LibraryJob[]): Promise<LibraryJob[]> {
    return (await isRestricted(this.#dependencies.database, by)) ? jobs.map((job) => ({ ...job, lastRunMessage: null })) : jobs
  }

  async #viewFor(by: Caller, job: LibraryJob): Promise<LibraryJob> {
    return (await this.#viewsFor(by, [job]))[0] ?? job
  }

  /** @param by as in `list`. @throws not_found, also for a job of another library */
  async get(libraryId: string, jobId: string, by: Caller): Promise<LibraryJob> {
    return await this.#viewFor(by, await this.#settled(await this.#get(libraryId, jobId)))
  }

  /** @param by the caller; the result of the last run is hidden from callers who may not see all its records */
  async list(libraryId: string, by: Caller): Promise<LibraryJob[]> {
    return await this.#viewsFor(
      by,
      await Promise.all((await listJobs(this.#dependencies.database, libraryId)).map((job) => this.#settled(job))),
    )
  }

  /** @throws invalid_value, conflict if the library has too many jobs */
  async add(
    libraryId: string,
    { name, enabled = true, cronSchedule = null, timezone, config }: JobRequest & { config: JobConfig },
  ): Promise<LibraryJob> {
    jobFieldsOf(config)
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
    return (
      (await addJob(this.#dependencies.database, given, JOBS_MAX)) ??
      refuse('conflict', `A library has ${JOBS_MAX} jobs at most; delete one first.`)
    )
  }

  /** @throws not_found, invalid_value */
  async edit(libraryId: string, jobId: string, request: JobRequest, by: Caller): Promise<LibraryJob> {
    const job = await this.#get(libraryId, jobId)
    if (request.config !== undefined) jobFieldsOf(request.config)
    const changed = await updateJob(this.#dependencies.database, job.id, (before) => {
      const cron = request.cronSchedule === undefined ? before.cronSchedule : request.cronSchedule
      const timezone = request.timezone ?? before.timezone
      return {
        ...(request.name && { name: request.name }),
        ...(request.enabled !== undefined && { enabled: request.enabled }),
        ...(request.config !== undefined && { config: request.config }),
        cron,
        timezone,
        nextRunAt: nextRun(cron, timezone, new Date()),
      }
    })
    return await this.#viewFor(by, changed ?? refuse('not_found', `There is no job ${jobId} of this library.`))
  }

  async remove(libraryId: string, jobId: string): Promise<void> {
    const job = await this.#get(libraryId, jobId)
    if (job.taskId !== null) await this.#dependencies.tasks.cancel(job.taskId)
    await deleteJob(this.#dependencies.database, job.id)
  }

  /** @throws conflict if it is waiting or running */
  async runNow(libraryId: string, jobId: string): Promise<string> {
    const job = await this.#get(libraryId, jobId)
    if (job.lastRunStatus === 'processing' && job.taskId !== null && (await this.#isActive(job.taskId)))
      refuse('conflict', `"${job.name}" is running.`)
    const { taskId, created } = await this.#enqueue(job)
    if (!created) refuse('conflict', `"${job.name}" is already queued.`)
    return taskId
  }

  /**
   * Previews a run for some series; changes nothing.
   * @param how.by the caller; hidden series are neither previewed nor counted
   * @throws not_found
   */
  async dryRun(
    libraryId: string,
    jobId: string,
    { by, sampleSize, config: override, signal }: { by: Caller; sampleSize: number; config?: JobConfig | undefined; signal?: AbortSignal },
  ): Promise<JobDryRun> {
    const job = await this.#get(libraryId, jobId)
    const config = override ?? job.config
    const fields = jobFieldsOf(config)
    const provider = await this.#providerOf({ ...config, scope: 'series_only' })
    if ('failure' in provider)
      return { pluginId: null, sample: [], totalEligible: 0, estSkippedNoId: 0, estSkippedRecentlySynced: 0, planFailure: provider.failure }
    const pass: Pass = { ...passOf(job.libraryId, 'series', provider, config), by }
    const everything: Pass = { kind: 'series', libraryId: job.libraryId, by }
    const [eligible, all, identified, sample] = await Promise.all([
      countPass(this.#dependencies.database, pass),
      countPass(this.#dependencies.database, everything),
      countIdentified(this.#dependencies.database, everything, idKeyOf(provider, 'series')),
      samplePass(this.#dependencies.database, pass, sampleSize),
    ])
    const how = {
      pluginId: provider.id,
      userId: null,
      fields,
      existingIdsOnly: config.existingSourceIdsOnly ?? false,
      dryRun: true,
      ...(signal && { signal }),
    }
    const deltas: JobDelta[] = []
    for (const series of sample)
      deltas.push(deltaOf(series, await this.#dependencies.matching.autoMatch({ kind: 'series', id: series.id }, how)))
    return {
      pluginId: provider.id,
      sample: deltas,
      totalEligible: eligible,
      estSkippedRecentlySynced: all - eligible,
      planFailure: null,
      estSkippedNoId: config.existingSourceIdsOnly ? all - identified : 0,
    }
  }

  start(): void {
    const { log, jobs = new RegularJobs(log) } = this.#dependencies
    this.#looking ??= jobs.start('start due library jobs', () => this.runDue())
  }

  async close(): Promise<void> {
    await this.#looking?.stop()
  }
}

const stop = (message: string): never => {
  throw new FinalFailure(message)
}

const kindsOf = (scope: JobConfig['scope']): Pass['kind'][] =>
  scope === 'series_and_books' ? ['series', 'book'] : [scope === 'books_only' ? 'book' : 'series']

function passOf(libraryId: string, kind: Pass['kind'], provider: Provider, { skipRecentlySyncedWithinS }: JobConfig): Pass {
  return {
    kind,
    libraryId,
    synced: skipRecentlySyncedWithinS ? { source: idKeyOf(provider, kind), withinSeconds: skipRecentlySyncedWithinS } : undefined,
  }
}

function optionsOf(provider: Provider, kind: Pass['kind'], config: JobConfig) {
  return {
    pluginIds: [provider.id],
    fields: jobFieldsOf(config, kind),
    existingIdsOnly: config.existingSourceIdsOnly ?? false,
  }
}

/** The result of a dry run for one series. */
function deltaOf({ id, title }: { id: string; title: string }, matched: Matched): JobDelta {
  const applied = matched.fields.filter(({ status }) => status === 'will_apply')
  const skipped = matched.fields.filter(({ status }) => status !== 'will_apply' && status !== 'not_provided')
  return {
    seriesId: id,
    seriesName: title,
    changes: Object.fromEntries(
      applied.map(({ field, currentValue, proposedValue }) => [field, { before: currentValue, after: proposedValue }]),
    ),
    skipped: matched.success
      ? skipped.map(({ field, reason }) => ({ field, reason: reason ?? 'It has this value already.' }))
      : [{ field: '*', reason: matched.message }],
  }
}
