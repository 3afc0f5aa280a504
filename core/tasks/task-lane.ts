import { AsyncLocalStorage } from 'node:async_hooks'
import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { Log } from '#core/foundation/log.ts'
import { Register } from '#core/foundation/register.ts'
import { type JobHelpers, runTaskList, type WorkerEvents, type WorkerPool } from '#core/tasks/graphile-worker.ts'
import type { TaskType } from '#core/tasks/task.ts'
import { registerWorkers, retireWorker } from '#core/tasks/task-worker-store.ts'
import { WORKER_SCHEMA, WorkerConnections } from '#core/tasks/worker-connections-store.ts'
import { workerLog } from '#core/tasks/worker-log.ts'

/**
 * The queue notifies workers of due tasks. On their own, workers poll rarely: before a worker finds that no job of its type is due, it has
 * scanned every job of a higher priority, 25 ms for a hundred thousand analyses.
 */
const POLL_MS = 300_000
/** After this time a claimed job without a free worker is returned. */
const LOCAL_TTL_MS = 2_000
/** Done jobs are deleted in batches, and failed ones recorded in batches; both also make a worker wait while the database is unreachable. */
const BATCH_MS = 5
const RETRY_MS = 1_000

/** A job that a worker of this node has claimed. */
export interface ClaimedJob {
  taskId: string
  worker: string
  /** As graphile-worker counts them, including this one. */
  attempts: number
}

interface LaneOptions {
  type: TaskType
  concurrency: number
  database: Knex
  log: Log
  node: { nodeId: string; nodeLock: number }
  /** Throws to have the job retried. */
  perform(job: ClaimedJob): Promise<void>
}

/** The workers of one type on this node: a pool of graphile-worker, replaced when it ends because the database was unreachable. */
export class TaskLane {
  readonly #options: LaneOptions
  /** Pools whose jobs may still be running; only the last one claims new jobs. */
  readonly #workers = new Set<string>()
  /** Escapes the context of the request that added a task: the task must not share the limits and the end of the request. */
  readonly #outside = AsyncLocalStorage.snapshot()
  readonly #running = new Register<Set<Promise<void>>>()
  #pool: WorkerPool | null = null
  #connections: WorkerConnections | null = null
  #ended: Promise<unknown> = Promise.resolve()
  #isStopping = false

  constructor(options: LaneOptions) {
    this.#options = options
  }

  get workers(): readonly string[] {
    return [...this.#workers]
  }

  /** Starts to claim jobs. */
  start(): void {
    const { type, concurrency, database, log } = this.#options
    let admit = () => {}
    const registered = new Promise<void>((resolve) => {
      admit = resolve
    })
    const connections = new WorkerConnections(database, registered)
    const events = new EventEmitter() as WorkerEvents
    // The pool ends and returns its jobs if the database answers; an error then would end this process. #retire returns them later.
    events.on('localQueue:setMode', ({ newMode }) => {
      if (newMode === 'RELEASED') connections.close()
    })
    const pool = runTaskList(
      {
        events,
        schema: WORKER_SCHEMA,
        logger: workerLog(log, () => this.#isStopping),
        noHandleSignals: true,
        // A plan of a claim that was made for a few jobs reads and sorts all jobs, of which there are a hundred thousand soon after.
        noPreparedStatements: true,
        concurrency,
        pollInterval: POLL_MS,
        preset: { worker: { completeJobBatchDelay: BATCH_MS, failJobBatchDelay: BATCH_MS, ...localQueueOf(concurrency) } },
      },
      { [type]: (payload: unknown, helpers: JobHelpers) => this.#perform(pool.id, payload as { taskId: string }, helpers) },
      connections.asPool(),
    )
    this.#pool = pool
    this.#connections = connections
    this.#workers.add(pool.id)
    void this.#register(pool.id).then(admit)
    const ended = pool.promise.then(
      () => this.#replace(pool.id, null),
      (error: unknown) => this.#replace(pool.id, error),
    )
    this.#ended = Promise.all([this.#ended, ended])
  }

  /** Makes idle workers look for jobs now. */
  nudge(): void {
    try {
      if (!this.#isStopping) this.#outside(() => this.#pool?.nudge(this.#options.concurrency))
    } catch {
      // The pool is ending; the next one polls when it starts.
    }
  }

  /** Stops claiming jobs, and resolves when none is running. The caller must abort the running ones. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#connections?.close()
    const pool = this.#pool
    this.#pool = null
    // Fails if the pool had ended by itself, which #replace has handled.
    await Promise.resolve(pool?.gracefulShutdown()).catch(() => {})
    await this.#ended
  }

  async #perform(worker: string, { taskId }: { taskId: string }, { job }: JobHelpers): Promise<void> {
    const done = this.#options.perform({ taskId, worker, attempts: job.attempts })
    const running = this.#running.get(worker) ?? new Set()
    this.#running.set(worker, running.add(done))
    try {
      await done
    } finally {
      running.delete(done)
    }
  }

  /** Registers this node before it claims jobs; otherwise no node could return them after a crash. */
  async #register(worker: string): Promise<void> {
    const { database, node, log, type } = this.#options
    while (!this.#isStopping) {
      try {
        return await registerWorkers(database, { ...node, workers: [worker] })
      } catch (error) {
        log.warn({ err: error, taskType: type }, 'A worker could not register; it will retry')
        await sleep(RETRY_MS)
      }
    }
  }

  /** A pool ends by itself if it could not report done jobs to the database. */
  async #replace(worker: string, error: unknown): Promise<void> {
    if (!this.#isStopping) {
      this.#options.log.warn({ err: error, taskType: this.#options.type }, 'A worker of the task queue ended; starting another one')
      await sleep(RETRY_MS)
      if (!this.#isStopping) this.start()
    }
    await this.#retire(worker)
  }

  /** Returns the jobs of a worker when none of them is running. */
  async #retire(worker: string): Promise<void> {
    await Promise.allSettled([...(this.#running.get(worker) ?? [])])
    this.#running.delete(worker)
    for (;;) {
      try {
        await retireWorker(this.#options.database, worker)
        break
      } catch {
        // The next node that checks for dead workers finds it.
        if (this.#isStopping) break
        await sleep(RETRY_MS)
      }
    }
    this.#workers.delete(worker)
  }
}

/**
 * For types with many concurrent tasks, one statement claims as many jobs as there is room for. Not more: they have no order, and a more urgent job
 * would wait behind them. Jobs of other types are claimed one at a time, so that a busy node does not take them from an idle one.
 */
const localQueueOf = (concurrency: number) => (concurrency > 2 ? { localQueue: { size: concurrency, ttl: LOCAL_TTL_MS } } : {})
