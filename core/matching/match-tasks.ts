import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { eachId } from '#core/database/each-by-id.ts'
import type { Kind } from '#core/fields/record-kind.ts'
import type { Target } from '#core/matching/apply-proposal.ts'
import type { AutoMatch, Matched, Matching } from '#core/matching/matching.ts'
import { countPass, ofPass, type Pass } from '#core/matching/target-query.ts'
import { FinalFailure, type TaskRun } from '#core/tasks/task.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'

/** Options of matching in the background. */
type MatchOptions = {
  /** In this order: each provider fills in what is still missing. */
  pluginIds: string[]
  /** Fields that may change; null for all. */
  fields?: string[] | null
  /** Only looks up known identifiers, without searching. */
  existingIdsOnly?: boolean
}

/** The result for one record. */
interface MatchOutcome {
  recordId: string
  /** `matched`, or why it was not matched. */
  outcome: string
  message: string
  appliedFields: string[]
}

/** The result for many records. */
export interface MatchTally {
  processed: number
  matched: number
  /** Unmatched records by reason. */
  skipped: Record<string, number>
  fieldsApplied: number
  /** The first records that changed or failed. */
  results: MatchOutcome[]
}

/** After this many waits in a row, the provider counts as unavailable. */
const WAITS_MAX = 10
const WAIT_SECONDS_MAX = 300
/** Records per page of the list, so that a huge library is never in memory at once. */
const PAGE = 500
/** Single results that a task lists; the counts cover the rest. */
const RESULTS_MAX = 100
/** After this many failures in a row, continuing would only fill the log. */
const FAILURES_MAX = 20

interface MatchTaskDependencies {
  database: Knex
  tasks: TaskQueue
  matching: Matching
}

/** Matches records at providers in tasks. */
export class MatchTasks {
  readonly #dependencies: MatchTaskDependencies

  constructor(dependencies: MatchTaskDependencies) {
    this.#dependencies = dependencies
    for (const kind of ['series', 'book'] as const)
      dependencies.tasks.handle(`auto_match_${kind}`, { concurrency: 2 }, async (run) => {
        const id = (kind === 'series' ? run.seriesId : run.bookId) as string
        const one = await this.#matchOne({ kind, id }, optionsOf(run), run)
        // Retrying cannot find what does not exist, but a failing provider may recover.
        if (one.outcome === 'provider_failed') throw new Error(one.message)
        return one
      })
    dependencies.tasks.handle('auto_match_library', { concurrency: 1 }, (run) =>
      this.matchAll({ kind: 'series', libraryId: run.libraryId as string }, optionsOf(run), run),
    )
  }

  /** Waits as long as the provider requests, and retries. */
  async #patiently(target: Target, how: AutoMatch & { signal: AbortSignal }): Promise<Matched> {
    for (let waits = 0; ; waits++) {
      const matched = await this.#dependencies.matching.autoMatch(target, how)
      if (matched.retryAfterSeconds === null) return matched
      // Other records wait too, since the provider would refuse them as well.
      if (waits >= WAITS_MAX) throw new FinalFailure(matched.message)
      await sleep(Math.min(matched.retryAfterSeconds, WAIT_SECONDS_MAX) * 1000, undefined, { signal: how.signal })
    }
  }

  /** Uses one provider after the other. */
  async #matchOne(target: Target, options: MatchOptions, { signal }: Pick<TaskRun, 'signal'>): Promise<MatchOutcome> {
    const applied = new Set<string>()
    const messages: string[] = []
    let outcome: string = 'no_matching_targets'
    for (const [index, pluginId] of options.pluginIds.entries()) {
      signal.throwIfAborted()
      const how = {
        pluginId,
        userId: null,
        gapsOnly: index > 0 && outcome === 'matched',
        signal,
        fields: options.fields ?? null,
        existingIdsOnly: options.existingIdsOnly ?? false,
      }
      const matched = await this.#patiently(target, how)
      messages.push(matched.message)
      if (matched.success) outcome = 'matched'
      else if (outcome !== 'matched') outcome = matched.skipped ?? 'no_match'
      for (const { field, status } of matched.fields) if (matched.success && status === 'will_apply') applied.add(field)
    }
    return { recordId: target.id, outcome, message: messages.join(' '), appliedFields: [...applied] }
  }

  /** Matches many records one after the other, as the work of a task; also used by other tasks. */
  async matchAll(pass: Pass, options: MatchOptions, run: Pick<TaskRun, 'signal' | 'progress'>): Promise<MatchTally> {
    const total = await countPass(this.#dependencies.database, pass)
    const tally: MatchTally = { processed: 0, matched: 0, skipped: {}, fieldsApplied: 0, results: [] }
    let failures = 0
    // Records that leave the pass in the meantime have ids before the last one.
    for await (const ids of eachId(ofPass(this.#dependencies.database, pass), PAGE))
      for (const id of ids) {
        run.signal.throwIfAborted()
        const one = await this.#matchOne({ kind: pass.kind, id }, options, run)
        tally.processed += 1
        if (one.outcome === 'matched') tally.matched += 1
        else tally.skipped[one.outcome] = (tally.skipped[one.outcome] ?? 0) + 1
        tally.fieldsApplied += one.appliedFields.length
        if (tally.results.length < RESULTS_MAX && (one.appliedFields.length > 0 || one.outcome === 'provider_failed'))
          tally.results.push(one)
        failures = one.outcome === 'provider_failed' ? failures + 1 : 0
        if (failures >= FAILURES_MAX) throw new FinalFailure(`${failures} in a row failed; the last one: ${one.message}`)
        run.progress(tally.processed, Math.max(total, tally.processed), `${tally.matched} matched`)
      }
    return tally
  }

  /** Returns the ids of the tasks. */
  async enqueue(kind: Kind, ids: readonly string[], options: MatchOptions): Promise<string[]> {
    const taskIds: string[] = []
    for (const id of ids) {
      const reference = kind === 'series' ? { seriesId: id } : { bookId: id }
      const dedupeKey = `${id} ${JSON.stringify(options)}`
      const task = { id: randomUUID(), type: `auto_match_${kind}` as const, ...reference, params: { ...options }, dedupeKey }
      taskIds.push((await this.#dependencies.tasks.add(task)).taskId)
    }
    return taskIds
  }

  async enqueueLibrary(libraryId: string, options: MatchOptions): Promise<string> {
    const dedupeKey = `${libraryId} ${JSON.stringify(options)}`
    return (await this.#dependencies.tasks.add({ type: 'auto_match_library', libraryId, params: { ...options }, dedupeKey })).taskId
  }
}

const optionsOf = ({ params }: TaskRun): MatchOptions => params as MatchOptions
