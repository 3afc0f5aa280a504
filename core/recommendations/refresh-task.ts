import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { AppError } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { Semaphore } from '#core/foundation/semaphore.ts'
import { briefText } from '#core/foundation/stranger-text.ts'
import type { Recommendation } from '#core/matching/provider-answers.ts'
import type { Answered, PluginUser, ProviderClient, ProviderFailure } from '#core/matching/provider-client.ts'
import { type Dismissal, listDismissed, listUnreported, recordReported } from '#core/recommendations/dismissal-store.ts'
import { listKnownSeries } from '#core/recommendations/external-series-query.ts'
import { KEPT_MAX, keptItems } from '#core/recommendations/item-view.ts'
import { recordFailedRefresh, recordRecommendations } from '#core/recommendations/recommendation-store.ts'
import { FinalFailure, type TaskRun } from '#core/tasks/task.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'

export interface RefreshDependencies {
  database: Knex
  providers: ProviderClient
  tasks: TaskQueue
  log: Log
  /** For tests, which cannot wait as long as services request. */
  rateLimitSeconds?: number
}

/** Tasks that wait for a service cost nothing; fewer call a plugin at the same time. */
const CONCURRENCY = 16
/** A plugin may compute for 5 seconds, and there are few cores. */
const CALLS_MAX = 2
/** The wait if a service limits the rate and does not say how long to wait. */
const RATE_LIMIT_SECONDS = 30
/** Upper limit of repeated waits. */
const RATE_LIMIT_SECONDS_MAX = 300
/** After this many waits in a row, the service should not be called now. */
const WAITS_MAX = 10
/** The wait after a failure; twice as long after each further one. */
const BACK_OFF = { firstSeconds: 300, lastSeconds: 24 * 3600 }
/** How many dismissals are sent before a refresh; the rest follows before the next one. */
const REPORTED_MAX = 50
/** How many are passed to `get`; more than any list has. */
const EXCLUDED_MAX = 1_000
const ERROR_LENGTH_MAX = 1_000
const PROGRESS_LENGTH_MAX = 200

/** Notifies a provider of a dismissal, if it supports that. Returns whether the provider has received it; never throws. */
export async function reportDismissal(
  { database, providers, log }: Pick<RefreshDependencies, 'database' | 'providers' | 'log'>,
  user: PluginUser,
  dismissal: Dismissal,
  signal: AbortSignal,
): Promise<boolean> {
  const notReported = 'Could not notify a plugin of a dismissal'
  try {
    const answer = await providers.dismiss(user, dismissal, signal)
    if ('failure' in answer) {
      const { code, callId } = answer.failure
      log.debug({ code, callId, pluginId: user.pluginId }, notReported)
      return false
    }
    await recordReported(database, user, dismissal.externalId)
    return true
  } catch (error) {
    log.debug({ ...(error instanceof AppError ? { code: error.code } : { err: error }), pluginId: user.pluginId }, notReported)
    return false
  }
}

/** Registers the task that makes the lists. */
export function handleRefreshes(dependencies: RefreshDependencies): void {
  const task = new RefreshTask(dependencies)
  dependencies.tasks.handle('refresh_recommendations', { concurrency: CONCURRENCY }, (run) => task.run(run))
}

class RefreshTask {
  readonly #dependencies: RefreshDependencies
  readonly #calls = new Semaphore(CALLS_MAX)

  constructor(dependencies: RefreshDependencies) {
    this.#dependencies = dependencies
  }

  async run(run: TaskRun): Promise<object> {
    const user = { pluginId: String(run.params['pluginId']), userId: run.userId as string }
    if (!(await this.#dependencies.providers.isEnabledFor(user))) return { outcome: 'not_enabled' }
    run.progress(0, 100)
    let answered: Answered<readonly Recommendation[]>
    try {
      // Before the call: its result may be based on a series that is hidden while it runs. For the user alone, whatever key has asked: the list is the user's.
      const basedOn = await listKnownSeries(this.#dependencies.database, { userId: user.userId, narrowedBy: null })
      await this.#reportAll(user, run.signal)
      answered = await this.#request(user, run)
      run.signal.throwIfAborted()
      if ('answer' in answered) {
        const items = keptItems(answered.answer)
        if (!(await recordRecommendations(this.#dependencies.database, user, { items, basedOn }))) return { outcome: 'not_enabled' }
        run.progress(100, 100)
        return { outcome: 'refreshed', recommendations: items.length }
      }
      await this.#recordFailure(user, answered.failure)
    } catch (error) {
      // Canceled, or the server stops: that is not a failure.
      run.signal.throwIfAborted()
      // Nor is it one that the plugin may not run for the user any more.
      if (error instanceof AppError && error.code === 'conflict') return { outcome: 'not_enabled' }
      return await this.#fail(user, error)
    }
    // The queue would retry after two, four and eight seconds: no service recovers that fast.
    throw new FinalFailure(briefText(answered.failure.message, ERROR_LENGTH_MAX))
  }

  /** Calls the provider; waits and calls again when the service limits the rate. */
  async #request(user: PluginUser, run: TaskRun): Promise<Answered<readonly Recommendation[]>> {
    const dismissed = await listDismissed(this.#dependencies.database, user)
    const query = { limit: Math.min(KEPT_MAX + dismissed.length, 500), exclude: dismissed.slice(0, EXCLUDED_MAX) }
    const onProgress = (fraction: number, text: string | null) =>
      run.progress(fraction * 100, 100, text === null ? undefined : briefText(text, PROGRESS_LENGTH_MAX))
    for (let waits = 0; ; waits++) {
      const answered = await this.#calls.run(
        () => this.#dependencies.providers.recommend(user, query, { onProgress, signal: run.signal }),
        run.signal,
      )
      if ('answer' in answered) return answered
      run.signal.throwIfAborted()
      const { retryAfterSeconds } = answered.failure
      // The task does not wait that long: the next request after that time starts a new one.
      const seconds = retryAfterSeconds ?? (this.#dependencies.rateLimitSeconds ?? RATE_LIMIT_SECONDS) * 2 ** waits
      if (!isRateLimited(answered.failure) || waits >= WAITS_MAX || (retryAfterSeconds ?? 0) > RATE_LIMIT_SECONDS_MAX) return answered
      run.progress(0, 100, 'Waiting for the rate limit of the service')
      await sleep(Math.min(seconds, RATE_LIMIT_SECONDS_MAX) * 1000, undefined, { signal: run.signal })
    }
  }

  /** The list is made even if this fails: dismissed items are not shown, whatever the provider has received. */
  async #reportAll(user: PluginUser, signal: AbortSignal): Promise<void> {
    for (const dismissal of await listUnreported(this.#dependencies.database, user, REPORTED_MAX)) {
      const isReported = await reportDismissal(this.#dependencies, user, dismissal, signal)
      signal.throwIfAborted()
      if (!isReported) return
    }
  }

  /** Stores why there is no list, and when the next one may be requested. */
  async #recordFailure(user: PluginUser, failure: Pick<ProviderFailure, 'code' | 'message' | 'retryAfterSeconds'>) {
    const patience = failure.retryAfterSeconds ?? (isRateLimited(failure) ? RATE_LIMIT_SECONDS_MAX : undefined)
    const how = patience === undefined ? BACK_OFF : { retrySeconds: Math.min(patience, BACK_OFF.lastSeconds) }
    await recordFailedRefresh(
      this.#dependencies.database,
      user,
      { code: failure.code, message: briefText(failure.message, ERROR_LENGTH_MAX) },
      how,
    )
  }

  /** Errors before the provider was called, and errors of this server. */
  async #fail(user: PluginUser, error: unknown): Promise<never> {
    if (!(error instanceof AppError)) {
      await this.#recordFailure(user, { code: 'server', message: 'The server could not make the list.', retryAfterSeconds: null })
      throw error
    }
    await this.#recordFailure(user, { code: error.code, message: error.message, retryAfterSeconds: error.retryAfterSeconds ?? null })
    throw new FinalFailure(briefText(error.message, ERROR_LENGTH_MAX), { cause: error })
  }
}

const isRateLimited = ({ code }: Pick<ProviderFailure, 'code'>): boolean => code === 'rate_limited' || code === 'busy'
