import { AsyncLocalStorage } from 'node:async_hooks'
import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { Log } from '#core/foundation/log.ts'
import { type JobHelpers, runTaskList, type WorkerEvents, type WorkerPool } from '#core/tasks/graphile-worker.ts'
import type { TaskType } from '#core/tasks/task.ts'
import { registerWorkers, retireWorkers } from '#core/tasks/task-worker-store.ts'
import { WORKER_SCHEMA, WorkerConnections } from '#core/tasks/worker-connections-store.ts'
import { workerLog } from '#core/tasks/worker-log.ts'

/**
 * The queue nudges workers whose tasks are due. By itself a worker looks rarely: before it knows that nothing of its type is due it has passed every
 * job of a higher priority, 25 ms for a hundred thousand analyses.
 */
const POLL_MS = 300_000
/** Given back after this time to those who have room. */
const LOCAL_TTL_MS = 2_000
/** Done jobs are deleted together, and failed ones told; both also make a worker wait for a database that is away. */
const BATCH_MS = 5
const RETRY_MS = 1_000

/** A job that a worker of this node has taken. */
export interface TakenJob {
  taskId: string
  worker: string
  /** As graphile-worker counts them, this one included. */
  attempts: number
}

interface LaneOptions {
  type: TaskType
  concurrency: number
  database: Knex
  log: Log
  node: { nodeId: string; nodeLock: number }
  /** Throws to have the job tried again. */
  perform(job: TakenJob): Promise<void>
}

/** The workers of one type on this node: a pool of graphile-worker, and the next one when it ends because the database was away. */
export class TaskLane {
  readonly #options: LaneOptions
  /** Whose jobs may still run, one of which takes new ones. */
  readonly #workers = new Set<string>()
  /** Runs outside of the request that has added a task: it must not share its limits and end. */
  readonly #outside = AsyncLocalStorage.snapshot()
  readonly #running = new Map<string, Set<Promise<void>>>()
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

  /** Begins to take jobs. */
  start(): void {
    const { type, concurrency, database, log } = this.#options
    let admit = () => {}
    const registered = new Promise<void>((resolve) => {
      admit = resolve
    })
    const connections = new WorkerConnections(database, registered)
    const events = new EventEmitter() as WorkerEvents
    // It ends, and gives back what it holds where the database still answers; what fails then would end this process. #retire gives it back later.
    events.on('localQueue:setMode', ({ newMode }) => {
      if (newMode === 'RELEASED') connections.close()
    })
    const pool = runTaskList(
      {
        events,
        schema: WORKER_SCHEMA,
        logger: workerLog(log),
        noHandleSignals: true,
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

  /** Has idle workers look for jobs now. */
  nudge(): void {
    try {
      if (!this.#isStopping) this.#outside(() => this.#pool?.nudge(this.#options.concurrency))
    } catch {
      // It is ending; the next one looks by itself.
    }
  }

  /** Takes no new jobs, and returns when nothing runs any more. What runs must be told to end by who performs it. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#connections?.close()
    const pool = this.#pool
    this.#pool = null
    // It fails where the pool had ended by itself, which #replace has seen.
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

  /** Until it is known which node works here nothing is taken: nobody could give it back. */
  async #register(worker: string): Promise<void> {
    const { database, node, log, type } = this.#options
    while (!this.#isStopping) {
      try {
        return await registerWorkers(database, { ...node, workers: [worker] })
      } catch (error) {
        log.warn({ err: error, taskType: type }, 'A worker could not register; it will try again')
        await sleep(RETRY_MS)
      }
    }
  }

  /** A pool that nobody has stopped ends where it could not tell its database what was done. */
  async #replace(worker: string, error: unknown): Promise<void> {
    if (!this.#isStopping) {
      this.#options.log.warn({ err: error, taskType: this.#options.type }, 'A worker of the task queue ended; another one begins')
      await sleep(RETRY_MS)
      if (!this.#isStopping) this.start()
    }
    await this.#retire(worker)
  }

  /** Gives back what the worker had taken, when nothing of it runs any more. */
  async #retire(worker: string): Promise<void> {
    await Promise.allSettled([...(this.#running.get(worker) ?? [])])
    this.#running.delete(worker)
    for (;;) {
      try {
        await retireWorkers(this.#options.database, [worker])
        break
      } catch {
        // The next node that looks finds it.
        if (this.#isStopping) break
        await sleep(RETRY_MS)
      }
    }
    this.#workers.delete(worker)
  }
}

/**
 * Of a type of which many run, as many jobs as have room are taken by one statement. No more: they come in no order, and one that is more urgent would
 * wait for them. Of the others jobs are taken one by one, or a node that is busy would keep them from one that is not.
 */
const localQueueOf = (concurrency: number) => (concurrency > 2 ? { localQueue: { size: concurrency, ttl: LOCAL_TTL_MS } } : {})
