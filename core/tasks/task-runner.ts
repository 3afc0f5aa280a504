import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { duringWork } from '#core/foundation/current-work.ts'
import type { Log } from '#core/foundation/log.ts'
import { Register } from '#core/foundation/register.ts'
import { escapedText } from '#core/foundation/stranger-text.ts'
import { RunningTask } from '#core/tasks/running-task.ts'
import { StatementBatch } from '#core/tasks/statement-batch.ts'
import { FinalFailure, type TaskHandler, type TaskType } from '#core/tasks/task.ts'
import type { TaskAnnouncer } from '#core/tasks/task-announcer.ts'
import { attemptOf, backoffSeconds, type Ending, judgeEnding } from '#core/tasks/task-ending.ts'
import type { ClaimedJob } from '#core/tasks/task-lane.ts'
import {
  addJobs,
  type BegunTask,
  beginTasks,
  type Progress,
  recordProgress,
  resetJobs,
  type Settled,
  type SettledRun,
  settleRuns,
} from '#core/tasks/task-store.ts'

const RETRY_MS = 1_000

/** Thrown to graphile-worker, which retries the job later. */
class TryAgain extends Error {}

/** Runs the handlers of tasks on this node and stores their outcomes. While the database is unreachable, it keeps outcomes and stores them later. */
export class TaskRunner {
  readonly #database: Knex
  readonly #log: Log
  readonly #announcer: TaskAnnouncer
  readonly #running = new Register<RunningTask>()
  /** Tasks that are about to begin, each with whether it was canceled in the meantime. */
  readonly #beginning = new Register<boolean>()
  readonly #handedBack = new Set<string>()
  readonly #types = new Register<TaskType>()
  #progress = new Register<Progress>()
  #isStopping = false
  readonly #begins: StatementBatch<{ id: string; worker: string }, BegunTask | null>
  readonly #ends: StatementBatch<SettledRun, Settled>

  constructor({ database, log, announcer }: { database: Knex; log: Log; announcer: TaskAnnouncer }) {
    this.#database = database
    this.#log = log
    this.#announcer = announcer
    const retries = (error: unknown) => this.#awaitDatabase(error)
    this.#begins = new StatementBatch({ run: (requests) => beginTasks(database, requests), retries })
    this.#ends = new StatementBatch({ run: (ends) => settleRuns(database, ends), retries })
  }

  /** Runs the task of a job, unless it has ended or runs elsewhere: then the job is obsolete. @throws TryAgain */
  async perform(type: TaskType, job: ClaimedJob, handler: TaskHandler): Promise<void> {
    try {
      const task = await this.#begin(job)
      if (task) await this.#runBegun(type, { task, job, handler })
    } finally {
      this.#beginning.delete(job.taskId)
    }
  }

  async #runBegun(type: TaskType, { task, job, handler }: { task: BegunTask; job: ClaimedJob; handler: TaskHandler }): Promise<void> {
    for (;;) {
      const live = this.#running.get(task.id)
      if (!live) break
      if (!live.isCanceled && !live.isEnding) {
        // Another node considered this one dead while it was disconnected: the newer run decides the outcome.
        live.run = task.run
        return await live.done
      }
      await live.done
    }
    const running = new RunningTask(task)
    this.#running.set(task.id, running)
    this.#types.set(task.id, type)
    if (this.#beginning.get(task.id)) running.cancel()
    this.#beginning.delete(task.id)
    if (this.#isStopping) running.stop()
    this.#announcer.changed(type, [task.id])
    const work = this.#run(type, { task, job, running, handler })
    running.done = work.then(
      () => {},
      () => {},
    )
    await work
  }

  /** Aborts the run of a task, if it is on this node. */
  cancel(taskId: string): void {
    if (this.#beginning.has(taskId)) this.#beginning.set(taskId, true)
    this.#running.get(taskId)?.cancel()
  }

  /** Aborts all runs; a returned run does not count as a try. */
  stop(): void {
    this.#isStopping = true
    for (const running of this.#running.values()) running.stop()
  }

  /** Called after all runs have ended: returned tasks may begin at once, on other nodes. */
  async releaseHandedBack(): Promise<void> {
    await resetJobs(this.#database, [...this.#handedBack])
    this.#handedBack.clear()
  }

  async writeProgress(): Promise<void> {
    if (this.#progress.size === 0) return
    const all = [...this.#progress.values()]
    this.#progress = new Register()
    await recordProgress(this.#database, all)
    for (const { id } of all) {
      const type = this.#types.get(id)
      if (type) this.#announcer.changed(type, [id])
    }
  }

  async #begin(job: ClaimedJob): Promise<BegunTask | null> {
    if (this.#isStopping) {
      this.#handedBack.add(job.taskId)
      throw new TryAgain('The server is stopping')
    }
    this.#beginning.set(job.taskId, false)
    return await this.#begins.add({ id: job.taskId, worker: job.worker })
  }

  async #run(type: TaskType, run: { task: BegunTask; job: ClaimedJob; running: RunningTask; handler: TaskHandler }): Promise<void> {
    const { task, job, running, handler } = run
    const report = (progress: Progress) => {
      if (!running.isEnding) this.#progress.set(progress.id, progress)
    }
    const taskRun = running.describe(type, task, report)
    let ending: Ending
    try {
      ending = { result: await duringWork('task', `${type} ${task.id}`, () => handler(taskRun)) }
    } catch (error) {
      ending = { error, isCanceled: running.isCanceled, isStopping: this.#isStopping }
    }
    running.isEnding = true
    this.#progress.delete(task.id)
    try {
      this.#report(type, task, ending)
      await this.#settle(type, { task, job, running, ending })
    } finally {
      this.#running.delete(task.id)
      this.#types.delete(task.id)
    }
  }

  async #settle(
    type: TaskType,
    { task, job, running, ending }: { task: BegunTask; job: ClaimedJob; running: RunningTask; ending: Ending },
  ): Promise<void> {
    const verdict = judgeEnding(ending, attemptOf(task))
    const end = { ...verdict, id: task.id, run: running.run, delaySeconds: backoffSeconds(job.attempts) }
    const settled = await this.#write(end)
    this.#announcer.changed(type, [task.id])
    if (settled === 'lost') throw new TryAgain('Another node runs this task now')
    // The job of this run is done, however it ended: the next run gets a new one.
    if (settled === 'again') return await addJobs(this.#database, [task.id])
    if (verdict.isHandedBack) this.#handedBack.add(task.id)
    if (verdict.status === 'pending' && !running.isCanceled) throw new TryAgain(verdict.lastError ?? 'The server is stopping')
  }

  async #write(end: SettledRun): Promise<Settled> {
    try {
      return await this.#ends.add(end)
    } catch (error) {
      if (this.#isStopping) throw new TryAgain('The database is unreachable')
      this.#log.warn({ err: error, taskId: end.id }, 'Could not store the result of a task')
      const lastError = `Could not store its result: ${escapedText(error instanceof Error ? error.message : '')}`
      return await this.#ends.add({ ...end, status: 'failed', result: undefined, lastError, isFinal: true })
    }
  }

  #report(type: TaskType, task: BegunTask, ending: Ending): void {
    if ('result' in ending || ending.isCanceled || ending.isStopping || ending.error instanceof FinalFailure) return
    this.#log.warn({ err: ending.error, taskId: task.id, taskType: type, attempt: attemptOf(task) }, 'A task failed')
  }

  async #awaitDatabase(error: unknown): Promise<boolean> {
    if (this.#isStopping) return false
    this.#log.warn({ err: error }, 'The task queue cannot reach its database; it will retry')
    await sleep(RETRY_MS)
    return true
  }
}
