import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { CarrelError } from '#core/errors.ts'
import type { Log } from '#core/log.ts'
import { findUserPlugin, type PluginReader, updateUserPlugin } from '#core/plugin/user-plugin-store.ts'
import { type Dismissal, listDismissed, listUntold, recordTold } from '#core/recommendation/dismissal-store.ts'
import { listKnownSeries } from '#core/recommendation/external-series-query.ts'
import { recordFailedRefresh, recordRecommendations } from '#core/recommendation/recommendation-store.ts'
import { FinalFailure, type TaskQueue, type TaskRun } from '#core/task/task.ts'
import { pluginFault } from '#plugins/host/plugin-calls.ts'
import type { PluginHost } from '#plugins/host/plugin-host.ts'
import { type Item, KEPT_MAX, keptItems } from '#plugins/recommendation/shown-items.ts'

export interface RefreshParts {
  database: Knex
  plugins: PluginHost
  tasks: TaskQueue
  log: Log
  /** For tests, which cannot wait as long as services ask to. */
  rateLimitSeconds?: number
}

/** Those that wait for a service cost nothing; of those that call a plugin there are fewer. */
const CONCURRENCY = 16
/** A plugin may compute for 5 seconds, and there are few cores. */
const CALLS_MAX = 2
/** Where a service asks to wait and nobody says how long. */
const RATE_LIMIT_SECONDS = 30
/** Longer waits grow to this. */
const RATE_LIMIT_SECONDS_MAX = 300
/** A service that asks to wait so often does not want to be asked now. */
const WAITS_MAX = 10
/** After a failure; twice as long after each further one. */
const BACK_OFF = { firstSeconds: 300, lastSeconds: 24 * 3600 }
/** Told before a refresh; the rest is told before the next one. */
const TELL_MAX = 50
/** Given along to `get`; more than any list has. */
const EXCLUDED_MAX = 1_000
const ERROR_LENGTH_MAX = 1_000
const PROGRESS_LENGTH_MAX = 200

/** Tells a plugin of what was dismissed, as far as it wants to know. */
export type Tell = (reader: PluginReader, dismissal: Dismissal, signal: AbortSignal) => Promise<void>

export function openTelling({ database, plugins }: Pick<RefreshParts, 'database' | 'plugins'>): Tell {
  return async (reader, { externalId, reason }, signal) => {
    const { pluginId, userId } = reader
    const { manifest } = await plugins.get(pluginId)
    if (manifest.capabilities.recommendations?.methods.includes('dismiss'))
      await plugins.call({ pluginId, userId, method: 'recommendations.dismiss', input: { externalId, reason }, signal })
    await recordTold(database, reader, externalId)
  }
}

/** Registers what makes the lists. */
export function openRefreshTask(parts: RefreshParts): void {
  const { database, plugins, tasks, log, rateLimitSeconds = RATE_LIMIT_SECONDS } = parts
  const tell = openTelling(parts)
  const turns = openTurns(CALLS_MAX)

  /** One call; again after a while where the service asks to wait. */
  async function ask(reader: PluginReader, run: TaskRun): Promise<Item[]> {
    const { pluginId, userId } = reader
    const { manifest } = await plugins.get(pluginId)
    const dismissed = await listDismissed(database, reader)
    const methods = manifest.capabilities.recommendations?.methods ?? []
    const limit = Math.min(KEPT_MAX + dismissed.length, 500)
    const call = methods.includes('refresh')
      ? { method: 'recommendations.refresh', input: { limit } }
      : { method: 'recommendations.get', input: { limit, exclude: dismissed.slice(0, EXCLUDED_MAX) } }
    const onProgress = (fraction: number, text: string | null) =>
      run.progress(fraction * 100, 100, text === null ? undefined : lineOf(text))
    for (let waits = 0; ; waits++) {
      try {
        const work = () => plugins.call({ pluginId, userId, ...call, onProgress, signal: run.signal })
        const { result } = await turns(work, run.signal)
        return (result as { recommendations: Item[] }).recommendations
      } catch (error) {
        run.signal.throwIfAborted()
        // Longer waits are not sat out: the one who asks after that starts anew.
        const seconds = waitOf(error) ?? rateLimitSeconds * 2 ** waits
        if (!isRateLimited(error) || waits >= WAITS_MAX || (waitOf(error) ?? 0) > RATE_LIMIT_SECONDS_MAX) throw error
        run.progress(0, 100, 'The service asks to wait')
        await sleep(Math.min(seconds, RATE_LIMIT_SECONDS_MAX) * 1000, undefined, { signal: run.signal })
      }
    }
  }

  async function tellAll(reader: PluginReader, signal: AbortSignal): Promise<void> {
    for (const dismissal of await listUntold(database, reader, TELL_MAX)) {
      try {
        await tell(reader, dismissal, signal)
      } catch (error) {
        signal.throwIfAborted()
        // The list is made nevertheless: what was dismissed is not shown, whatever the plugin knows.
        log.debug({ err: error, pluginId: reader.pluginId }, 'A plugin could not be told what was dismissed')
        return
      }
    }
  }

  /** The connection is broken, not the plugin; and where there is none, nothing was refused. */
  async function markRefused(reader: PluginReader): Promise<void> {
    const status = await plugins.authStatus(await plugins.get(reader.pluginId), reader.userId)
    if (status !== 'missing' && status !== 'none') await updateUserPlugin(database, reader, { authFailedAt: new Date() })
  }

  async function fail(reader: PluginReader, error: unknown): Promise<never> {
    const isKnown = error instanceof CarrelError
    const message = isKnown ? error.message : 'The server could not do this.'
    if (codeOf(error) === 'auth') await markRefused(reader)
    const patience = waitOf(error) ?? (isRateLimited(error) ? RATE_LIMIT_SECONDS_MAX : undefined)
    const how = patience === undefined ? BACK_OFF : { retrySeconds: Math.min(patience, BACK_OFF.lastSeconds) }
    const code = isKnown ? (pluginFault(error) ?? error.code) : 'server'
    await recordFailedRefresh(database, reader, { code, message: lineOf(message, ERROR_LENGTH_MAX) }, how)
    // The queue would try again in two seconds, four and eight: no service recovers by that.
    if (isKnown) throw new FinalFailure(lineOf(message, ERROR_LENGTH_MAX), { cause: error })
    throw error
  }

  tasks.handle('refresh_recommendations', { concurrency: CONCURRENCY }, async (run) => {
    const reader = { pluginId: String(run.params['pluginId']), userId: run.userId as string }
    const own = await findUserPlugin(database, reader)
    if (own === null || !own.enabled) return { outcome: 'not_enabled' }
    run.progress(0, 100)
    try {
      // Before the plugin looks: what is hidden while it does may stand in what it says.
      const basedOn = await listKnownSeries(database, reader)
      await tellAll(reader, run.signal)
      const items = keptItems(await ask(reader, run))
      run.signal.throwIfAborted()
      if (!(await recordRecommendations(database, reader, { items, basedOn }))) return { outcome: 'not_enabled' }
      await updateUserPlugin(database, reader, { authFailedAt: null, lastSuccessAt: new Date() })
      run.progress(100, 100)
      return { outcome: 'refreshed', recommendations: items.length }
    } catch (error) {
      // Cancelled, or the server stops: nobody has failed.
      run.signal.throwIfAborted()
      return await fail(reader, error)
    }
  })
}

/** Words of a plugin as they can be shown and kept. */
const lineOf = (text: string, length = PROGRESS_LENGTH_MAX): string =>
  text
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, ' ')
    .slice(0, length)
    .toWellFormed()

const codeOf = (error: unknown): string | undefined =>
  error instanceof CarrelError ? (error.details as { code?: string } | undefined)?.code : undefined
/** What a service asks for, or a plugin that is left alone. */
const waitOf = (error: unknown): number | undefined => (error instanceof CarrelError ? error.retryAfterSeconds : undefined)
const isRateLimited = (error: unknown): boolean => codeOf(error) === 'rate_limited' || codeOf(error) === 'busy'

/** Lets so many work at a time; whoever gives up leaves the line. */
function openTurns(max: number): <Value>(work: () => Promise<Value>, signal: AbortSignal) => Promise<Value> {
  let busy = 0
  const line: (() => void)[] = []
  const next = () => {
    while (busy < max && line.length > 0) {
      busy += 1
      line.shift()?.()
    }
  }
  return async (work, signal) => {
    await new Promise<void>((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const leave = () => {
        line.splice(line.indexOf(enter), 1)
        reject(signal.reason)
      }
      signal.throwIfAborted()
      signal.addEventListener('abort', leave, { once: true })
      line.push(enter)
      next()
    })
    try {
      return await work()
    } finally {
      busy -= 1
      next()
    }
  }
}
