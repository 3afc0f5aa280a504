import type { Knex } from 'knex'
import type { Channel } from '#core/cluster/channel-store.ts'
import { newNodeLock, openPresence } from '#core/cluster/presence-store.ts'
import { type Announcer, silentAnnouncer } from '#core/events/announcer.ts'
import type { Log } from '#core/foundation/log.ts'
import { REGULAR_JOBS, RegularJobs } from '#core/foundation/regular-jobs.ts'
import { makeWorkerUtils, type WorkerUtils } from '#core/tasks/graphile-worker.ts'
import type { NewTask, TaskAdder, TaskHandler, TasksOf, TaskType } from '#core/tasks/task.ts'
import { TaskAnnouncer } from '#core/tasks/task-announcer.ts'
import { TaskLane } from '#core/tasks/task-lane.ts'
import type { TaskMetrics } from '#core/tasks/task-metrics.ts'
import { TaskRunner } from '#core/tasks/task-runner.ts'
import {
  addMissingJobs,
  addTasks,
  analyzeJobs,
  cancelTasks,
  deleteOldTasks,
  findTaskType,
  findWaiting,
  listDueTypes,
  requeueTask,
  type Signal,
  sendTaskSignal,
} from '#core/tasks/task-store.ts'
import { registerWorkers, requeueLost } from '#core/tasks/task-worker-store.ts'
import { WORKER_SCHEMA, WorkerConnections } from '#core/tasks/worker-connections-store.ts'
import { workerLog } from '#core/tasks/worker-log.ts'

/** Finished analyses are kept for two hours, since there may be a hundred thousand; other tasks for a week. */
const ANALYSIS_KEPT_SECONDS = 2 * 3600
const KEPT_SECONDS = 7 * 24 * 3600
/** Rows per INSERT: enough to make the round trip cheap, few enough to keep the statement under a megabyte. */
const ADD_CHUNK = 500
/** After so many new jobs, statistics about jobs are updated; then after twice as many, while jobs are added. */
const ANALYZED_AFTER = 1_000
/** Statistics of this age may be about the jobs of other work. */
const ANALYZED_MS = 60_000
/** Each attempt fails only if another task with the key began and ended between two statements. */
const ADD_TRIES_MAX = 100

interface QueueOptions {
  database: Knex
  log: Log
  /** Shown to users as the node that runs a task. */
  nodeId: string
  /** Without it nothing is announced. */
  announcer?: Announcer
  /** Measures the handlers; without it nothing is measured. */
  metrics?: Pick<TaskMetrics, 'timed'>
  /** Those of the server; only tests have none. */
  jobs?: RegularJobs
  /** Interval of checks for tasks of dead nodes. */
  sweepMs?: number
}

/** Opens the task queue; its tables must exist. */
export async function openTaskQueue(options: QueueOptions): Promise<TaskQueue> {
  // Migrates the tables of graphile-worker if its version is newer than the migration that created them.
  const worker = await makeWorkerUtils({
    schema: WORKER_SCHEMA,
    logger: workerLog(options.log),
    pgPool: new WorkerConnections(options.database).asPool(),
  })
  return new TaskQueue(options, worker)
}

/** Tasks are rows of our own table; graphile-worker hands out due jobs and schedules retries. */
export class TaskQueue implements TaskAdder {
  readonly #database: Knex
  readonly #log: Log
  readonly #regular: RegularJobs
  readonly #metrics: Pick<TaskMetrics, 'timed'> | undefined
  readonly #sweepMs: number
  readonly #node: { nodeId: string; nodeLock: number }
  readonly #worker: WorkerUtils
  readonly #announcer: TaskAnnouncer
  readonly #runner: TaskRunner
  readonly #lanes = new Map<TaskType, TaskLane>()
  #jobs: ReturnType<RegularJobs['start']>[] = []
  #statistics = { added: 0, after: ANALYZED_AFTER, at: 0 }
  #presence: Channel | null = null
  #isStarted = false
  #stopped: Promise<void> | null = null

  constructor({ database, log, nodeId, announcer, metrics, jobs, sweepMs }: QueueOptions, worker: WorkerUtils) {
    this.#database = database
    this.#log = log
    this.#metrics = metrics
    this.#regular = jobs ?? new RegularJobs(log)
    this.#sweepMs = sweepMs ?? REGULAR_JOBS['queue tasks of dead nodes again'].everyMs
    this.#node = { nodeId, nodeLock: newNodeLock() }
    this.#worker = worker
    this.#announcer = new TaskAnnouncer({ database, log, announcer: announcer ?? silentAnnouncer })
    this.#runner = new TaskRunner({ database, log, announcer: this.#announcer })
  }

  /** Identifies this node, see core/cluster/presence-store.ts. */
  get nodeLock(): number {
    return this.#node.nodeLock
  }

  async add(task: NewTask): Promise<{ taskId: string; created: boolean }> {
    for (let tries = 0; tries < ADD_TRIES_MAX; tries++) {
      const { added, advanced } = await addTasks(this.#database, task.type, [task])
      const taskId = added[0] ?? advanced[0]
      if (taskId !== undefined) {
        this.#announcer.changed(task.type, [taskId])
        await this.#wake(task.type)
        return { taskId, created: added.length > 0 }
      }
      const waiting = await findWaiting(this.#database, task.type, task.dedupeKey)
      if (waiting !== null) return { taskId: waiting, created: false }
      // The task with the key began in between.
    }
    throw new Error(`The task ${task.type} with the key ${task.dedupeKey} can neither be added nor found`)
  }

  async addMany(tasks: readonly NewTask[]): Promise<number> {
    let added = 0
    // In one order: two statements that add the same keys in different orders would deadlock.
    const inOrder = tasks.toSorted((a, b) => (a.dedupeKey < b.dedupeKey ? -1 : 1))
    for (const [type, ofType] of Map.groupBy(inOrder, (task) => task.type)) {
      for (let at = 0; at < ofType.length; at += ADD_CHUNK) {
        const chunk = await addTasks(this.#database, type, ofType.slice(at, at + ADD_CHUNK))
        const ids = [...chunk.added, ...chunk.advanced]
        if (ids.length === 0) continue
        added += ids.length
        await this.#updateStatistics(ids.length)
        // Analyses are announced only when they begin: there may be a hundred thousand.
        if (type !== 'analyze_book') this.#announcer.changed(type, ids)
        await this.#wake(type)
      }
    }
    return added
  }

  /** Registers the handler of a type, of which `concurrency` tasks run at a time on this node. Call before start(). */
  handle(type: TaskType, { concurrency }: { concurrency: number }, given: TaskHandler): void {
    if (this.#isStarted) throw new Error(`The handler of ${type} was registered after start()`)
    const { nodeId, nodeLock } = this.#node
    const handler = this.#metrics?.timed(given) ?? given
    this.#lanes.set(
      type,
      new TaskLane({
        type,
        concurrency,
        database: this.#database,
        log: this.#log,
        node: { nodeId, nodeLock },
        perform: (job) => this.#runner.perform(type, job, handler),
      }),
    )
  }

  async start(): Promise<void> {
    this.#presence = await openPresence(this.#database, {
      nodeLock: this.#node.nodeLock,
      onSignal: (signal) => this.#receive(signal as Signal),
      onReturn: () => this.#registerAgain(),
      onLoss: (error) => this.#log.warn({ err: error }, 'The task queue lost its connection; it will reconnect'),
    })
    this.#isStarted = true
    await this.#sweep()
    await addMissingJobs(this.#database)
    for (const lane of this.#lanes.values()) lane.start()
    this.#jobs = [
      this.#regular.start('start due tasks', () => this.#nudgeDue()),
      this.#regular.start('queue tasks of dead nodes again', () => this.#sweep(), { everyMs: this.#sweepMs }),
      this.#regular.start('repair waiting tasks', () => this.#repair(), {
        everyMs: Math.max(REGULAR_JOBS['repair waiting tasks'].everyMs, this.#sweepMs),
      }),
      this.#regular.start('delete finished tasks', () => this.#clean()),
      this.#regular.start('write the progress of tasks', () => this.#runner.writeProgress()),
    ]
  }

  /** Claims no new tasks, aborts running ones, returns them to the queue, and resolves when none is running. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  /** Cancels a waiting or running task: its signal aborts at once, on any node. False if it has ended or does not exist. */
  async cancel(taskId: string): Promise<boolean> {
    const type = await findTaskType(this.#database, taskId)
    if (type === null) return false
    return (await this.#cancel(type, { id: taskId })) > 0
  }

  /** Cancels all of these tasks that are waiting or running; returns how many there were. */
  async cancelAll(which: TasksOf): Promise<number> {
    return await this.#cancel(which.type, which)
  }

  /** Queues a failed or canceled task again. False if it is neither. */
  async retry(taskId: string): Promise<boolean> {
    const type = await requeueTask(this.#database, taskId)
    if (type === null) return false
    this.#announcer.changed(type, [taskId])
    await this.#wake(type)
    return true
  }

  async #cancel(type: TaskType, which: TasksOf | { id: string }): Promise<number> {
    const canceled = await cancelTasks(this.#database, which)
    const running = canceled.filter(({ isRunning }) => isRunning).map(({ id }) => id)
    for (const id of running) this.#runner.cancel(id)
    this.#announcer.changed(
      type,
      canceled.map(({ id }) => id),
    )
    if (running.length > 0) await sendTaskSignal(this.#database, { cancel: running })
    return canceled.length
  }

  async #stop(): Promise<void> {
    const jobs = this.#jobs.map((job) => job.stop())
    this.#runner.stop()
    if (this.#isStarted) {
      await Promise.all([...this.#lanes.values()].map((lane) => lane.stop()))
      // If the database is unreachable, the next node that checks for dead workers finds them.
      await this.#runner.releaseHandedBack().catch((error) => this.#log.warn({ err: error }, 'Returned tasks wait for their next try'))
    }
    await Promise.all(jobs)
    await this.#worker.release()
    await this.#announcer.flush()
    await this.#presence?.close()
  }

  async #updateStatistics(added: number): Promise<void> {
    const statistics = this.#statistics
    if (performance.now() - statistics.at > ANALYZED_MS) statistics.after = ANALYZED_AFTER
    statistics.added += added
    if (statistics.added < statistics.after) return
    this.#statistics = { added: 0, after: statistics.after * 2, at: performance.now() }
    try {
      await analyzeJobs(this.#database)
    } catch (error) {
      this.#log.debug({ err: error }, 'Could not update the statistics about jobs')
    }
  }

  async #wake(type: TaskType): Promise<void> {
    this.#lanes.get(type)?.nudge()
    await sendTaskSignal(this.#database, { wake: type })
  }

  #receive(signal: Signal): void {
    if ('wake' in signal) this.#lanes.get(signal.wake)?.nudge()
    else for (const id of signal.cancel) this.#runner.cancel(id)
  }

  #workers(): string[] {
    return [...this.#lanes.values()].flatMap((lane) => lane.workers)
  }

  async #sweep(): Promise<void> {
    const count = await requeueLost(this.#database, this.#workers())
    if (count === 0) return
    this.#log.info({ count }, 'Queued tasks of a dead node again')
    this.#nudgeAll()
  }

  async #repair(): Promise<void> {
    const count = await addMissingJobs(this.#database)
    if (count === 0) return
    this.#log.info({ count }, 'Repaired waiting tasks that had no job')
    this.#nudgeAll()
  }

  async #clean(): Promise<void> {
    await deleteOldTasks(this.#database, { type: 'analyze_book', seconds: ANALYSIS_KEPT_SECONDS, otherSeconds: KEPT_SECONDS })
    await this.#worker.cleanup({ tasks: ['DELETE_PERMAFAILED_JOBS'] })
  }

  async #nudgeDue(): Promise<void> {
    for (const type of await listDueTypes(this.#database, [...this.#lanes.keys()])) this.#lanes.get(type)?.nudge()
  }

  #nudgeAll(): void {
    for (const lane of this.#lanes.values()) lane.nudge()
  }

  /** The connection is restored after a loss, during which signals were missed and other nodes may have considered this node dead. */
  #registerAgain(): void {
    if (this.#stopped) return
    registerWorkers(this.#database, { ...this.#node, workers: this.#workers() })
      .then(() => this.#nudgeAll())
      .catch((error) => this.#log.warn({ err: error }, 'Could not register the workers of this node again'))
  }
}
