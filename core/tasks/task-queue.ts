import { randomInt } from 'node:crypto'
import type { Knex } from 'knex'
import { PgBoss } from 'pg-boss'
import { type Announcer, silentAnnouncer } from '#core/events/announcer.ts'
import { duringWork } from '#core/foundation/current-work.ts'
import type { Log } from '#core/foundation/log.ts'
import type { Lane, Running } from '#core/tasks/lane.ts'
import { FinalFailure, TASK_PRIORITY, type TaskQueue, type TaskType, taskErrorMessage } from '#core/tasks/task.ts'
import { openTaskAnnouncer } from '#core/tasks/task-announcer.ts'
import { outputOf, type Payload, payloadOf, sendOptions, waitOf } from '#core/tasks/task-payload.ts'
import {
  bossDatabase,
  type Claim,
  cancelMatching,
  findTaskType,
  findWaiting,
  handBack,
  listRetrying,
  openPresence,
  type Presence,
  type Progress,
  prepareIndexes,
  QUEUE_SCHEMA,
  recordProgress,
  replaceRuns,
  requeue,
  restoreRuns,
  type Signal,
  sendSignal,
  spendTries,
  takeBackLost,
} from '#core/tasks/task-store.ts'

/** Further tries after the first. */
const RETRIES = 3
/** Tries wait about 2, 4 and 8 seconds: long enough for a disk that wakes up, short enough for a person who watches. */
const RETRY_DELAY_SECONDS = 2
/** The wait doubles with every claim, also with those that are no try of their own. */
const RETRY_DELAY_TIMES_MAX = 4
/** pg-boss ends a job that is active for longer; 24 hours is the most it takes, and no honest task needs it. */
const RUN_SECONDS_MAX = 24 * 3600
/** Finished analyses come by the hundred thousand: two hours of history. The rest is kept for a week. */
const ANALYSIS_KEPT_SECONDS = 2 * 3600
const KEPT_SECONDS = 7 * 24 * 3600
/** Signals wake the loops at once; this only finds retries that have come due and signals that were lost. */
const POLL_MS = 1_000
const SWEEP_MS = 5_000
const PROGRESS_MS = 300
/** Rows of one INSERT: enough to make the round trip cheap, few enough to keep the statement under a megabyte. */
const ADD_CHUNK = 500
/** What pg-boss does beside: deleting old tasks, once an hour. Its flows are not used, and its reindexing is autovacuum's business here. */
const MAINTENANCE = { supervise: true, maintenanceIntervalSeconds: 3600, flowIntervalSeconds: 3600, monitorVacuum: false, reindex: false }
const TYPES = Object.keys(TASK_PRIORITY) as TaskType[]

/**
 * Opens the task queue: pg-boss keeps the tasks, our own loops run them. The loops fetch as many as have room and again whenever one
 * ends, so a backlog never waits for a poll (pg-boss' own workers with one job a batch do 9 a second, 2,121 in batches of 100 that
 * all wait for their slowest).
 * @param options.nodeId shown to people as who runs a task
 * @param options.sweepMs between two looks for what nodes that are gone have left
 */
export async function openTaskQueue(options: {
  database: Knex
  log: Log
  nodeId: string
  /** Nobody is told where it is missing. */
  announcer?: Announcer
  retryDelaySeconds?: number
  sweepMs?: number
}): Promise<TaskQueue> {
  const { database, log, nodeId } = options
  const nodeLock = randomInt(1, 2 ** 48 - 1)
  const boss = new PgBoss({ db: bossDatabase(database), schema: QUEUE_SCHEMA, schedule: false, ...MAINTENANCE })
  boss.on('error', (error) => log.error({ err: error }, 'task queue'))
  boss.on('warning', (warning) => log.debug({ warning }, 'task queue'))
  await boss.start()
  await prepareIndexes(database)
  for (const type of TYPES) {
    const retryDelay = options.retryDelaySeconds ?? RETRY_DELAY_SECONDS
    const settings = {
      retryLimit: RETRIES,
      retryDelay,
      retryDelayMax: retryDelay * RETRY_DELAY_TIMES_MAX,
      retryBackoff: true,
      expireInSeconds: RUN_SECONDS_MAX,
      deleteAfterSeconds: type === 'analyze_book' ? ANALYSIS_KEPT_SECONDS : KEPT_SECONDS,
    }
    await boss.createQueue(type, { ...settings, policy: 'short' })
    await boss.updateQueue(type, settings)
  }

  const announcer = openTaskAnnouncer({ database, log, announcer: options.announcer ?? silentAnnouncer })
  const lanes = new Map<TaskType, Lane>()
  const progress = new Map<string, Progress>()
  const timers: NodeJS.Timeout[] = []
  let presence: Presence | null = null
  let started = false
  let stopping = false

  function pump(lane: Lane): Promise<void> {
    if (!started) return Promise.resolve()
    lane.again = true
    lane.pumping ??= turn(lane)
    return lane.pumping
  }

  /** Settles what has ended and fetches what has room, until neither is left. */
  async function turn(lane: Lane): Promise<void> {
    try {
      while (lane.again) {
        lane.again = false
        const settled = await settle(lane)
        const room = stopping ? 0 : lane.concurrency - lane.running.size
        lane.cancelled.clear()
        const jobs = room > 0 ? await boss.fetch<Payload>(lane.type, { batchSize: room, includeMetadata: true }) : []
        lane.claimed = jobs.map((job) => job.id)
        const ended = settled.filter((id) => !lane.running.has(id))
        if (ended.length > 0 || jobs.length > 0)
          await replaceRuns(database, { ended, begun: lane.claimed, type: lane.type, nodeId, nodeLock })
        announcer.changed(lane.type, [...settled, ...lane.claimed])
        for (const job of jobs)
          begin(lane, { id: job.id, retryCount: job.retryCount }, { data: job.data ?? {}, attempt: attemptOf(job), waitedMs: waitOf(job) })
      }
    } catch (error) {
      // The database is away: the next poll tries again, and what was claimed without a run is taken back by a sweep.
      log.error({ err: error, taskType: lane.type }, 'The task queue cannot reach its database')
    } finally {
      // In the same breath as the last look at `again`: a run that ends from here on begins a turn of its own.
      lane.pumping = null
      lane.claimed = []
    }
  }

  function begin(lane: Lane, claim: Claim, { data, attempt, waitedMs }: { data: Payload; attempt: number; waitedMs: number }): void {
    const live = lane.running.get(claim.id)
    if (live && !live.cancelled) {
      // Another node took it for lost while we were cut off: the run that lives settles the new claim.
      live.claim = claim
      return
    }
    if (live || lane.cancelled.has(claim.id)) {
      // Cancelled, so this changes nothing; unless it was retried since, then it waits for its turn and its predecessor's end.
      lane.ended.push({ claim, how: 'handed back' })
      return
    }
    const abort = new AbortController()
    const { params = {}, ...reference } = data
    const running: Running = { claim, abort, cancelled: false, done: Promise.resolve() }
    const run = {
      ...reference,
      id: claim.id,
      type: lane.type,
      params,
      attempt,
      waitedMs,
      signal: abort.signal,
      progress: (current: number, total: number, message?: string) => {
        progress.set(claim.id, { id: claim.id, current: Math.round(current), total: Math.round(total), message: message ?? '' })
      },
    }
    lane.running.set(claim.id, running)
    if (stopping) abort.abort(aborted('The server is stopping'))
    running.done = (async () => {
      try {
        const result = await duringWork('task', `${lane.type} ${claim.id}`, () => lane.handler(run))
        lane.ended.push({ claim: running.claim, how: 'completed', result })
      } catch (error) {
        if (running.cancelled) lane.ended.push({ claim: running.claim, how: 'cancelled' })
        else if (stopping) lane.ended.push({ claim: running.claim, how: 'handed back' })
        else lane.ended.push({ claim: running.claim, how: 'failed', error })
      } finally {
        lane.running.delete(claim.id)
        progress.delete(claim.id)
      }
      if (!stopping) pump(lane)
    })()
  }

  /** Tells pg-boss how runs ended; answers their ids. What cannot be told stays for the next turn. */
  async function settle(lane: Lane): Promise<string[]> {
    const ended = lane.ended.splice(0)
    if (ended.length === 0) return []
    try {
      const silent = ended.filter((end) => end.how === 'completed' && end.result === undefined).map((end) => end.claim)
      if (silent.length > 0) await boss.complete(lane.type, silent)
      const back = ended.filter((end) => end.how === 'handed back').map((end) => end.claim)
      if (back.length > 0) await handBack(database, lane.type, back)
      for (const end of ended) {
        if (end.how === 'completed' && end.result !== undefined) await boss.complete(lane.type, [end.claim], outputOf(end.result))
        if (end.how === 'failed') await fail(lane.type, end.claim, end.error)
      }
    } catch (error) {
      lane.ended.unshift(...ended)
      throw error
    }
    return ended.map((end) => end.claim.id)
  }

  async function fail(type: TaskType, claim: Claim, error: unknown): Promise<void> {
    const final = error instanceof FinalFailure
    if (final) await spendTries(database, type, claim)
    else log.warn({ err: error, taskId: claim.id, taskType: type, attempt: claim.retryCount + 1 }, 'A task failed')
    await boss.fail(type, [claim], { message: taskErrorMessage(error) })
  }

  function hear(signal: Signal): void {
    if ('wake' in signal) {
      const lane = lanes.get(signal.wake)
      if (lane && !stopping) pump(lane)
    } else for (const id of signal.cancel) abortRun(id)
  }

  function abortRun(id: string): void {
    for (const lane of lanes.values()) {
      const running = lane.running.get(id)
      if (!running) {
        if (lane.pumping) lane.cancelled.add(id)
        continue
      }
      running.cancelled = true
      running.abort.abort(aborted('The task was cancelled'))
    }
  }

  async function tellCancelled(type: TaskType, ids: string[]): Promise<void> {
    for (const id of ids) abortRun(id)
    announcer.changed(type, ids)
    // A notification carries 8,000 bytes at most.
    for (let at = 0; at < ids.length; at += 150) await sendSignal(database, { cancel: ids.slice(at, at + 150) })
  }

  async function wake(type: TaskType): Promise<void> {
    hear({ wake: type })
    await sendSignal(database, { wake: type })
  }

  async function sweep(): Promise<void> {
    const ids = [...lanes.values()].flatMap((lane) => [...lane.running.keys(), ...lane.claimed, ...lane.ended.map((end) => end.claim.id)])
    const count = await takeBackLost(database, TYPES, { nodeLock, ids })
    if (count > 0) log.info({ count }, 'Took back tasks of a node that is gone')
    for (const lane of lanes.values()) if (!stopping && count > 0) pump(lane)
  }

  /** The connection is back after a loss, during which signals were missed and our runs may have been forgotten. */
  function comeBack(): void {
    if (stopping) return
    const claims = [...lanes.values()].flatMap((lane) => [...lane.running.values()].map((running) => running.claim))
    restoreRuns(database, { claims, nodeId, nodeLock }).catch((error) => log.warn({ err: error }, 'What runs could not be noted again'))
    for (const lane of lanes.values()) pump(lane)
  }

  async function writeProgress(): Promise<void> {
    if (progress.size === 0) return
    const all = [...progress.values()]
    progress.clear()
    await recordProgress(database, all)
    for (const lane of lanes.values())
      announcer.changed(
        lane.type,
        all.map(({ id }) => id).filter((id) => lane.running.has(id)),
      )
  }

  function every(ms: number, work: () => Promise<void>): void {
    let busy = false
    const timer = setInterval(async () => {
      if (busy) return
      busy = true
      try {
        await work()
      } catch (error) {
        if (!stopping) log.warn({ err: error }, 'The task queue could not look after itself; it will try again')
      } finally {
        busy = false
      }
    }, ms)
    timers.push(timer)
  }

  return {
    async add(task) {
      for (;;) {
        const waiting = await findWaiting(database, task.type, task.dedupeKey)
        if (waiting !== null) return { taskId: waiting, created: false }
        const taskId = await boss.send({ name: task.type, data: payloadOf(task), options: sendOptions(task) })
        // Null: another one of this key came in between, and may have begun since.
        if (taskId === null) continue
        announcer.changed(task.type, [taskId])
        await wake(task.type)
        return { taskId, created: true }
      }
    },

    async addMany(tasks) {
      let added = 0
      // In one order: two statements that add the same keys in different orders would wait for each other for good.
      const inOrder = tasks.toSorted((a, b) => (a.dedupeKey < b.dedupeKey ? -1 : 1))
      for (const [type, ofType] of Map.groupBy(inOrder, (task) => task.type)) {
        for (let at = 0; at < ofType.length; at += ADD_CHUNK) {
          const chunk = ofType.slice(at, at + ADD_CHUNK)
          const retrying = await listRetrying(
            database,
            type,
            chunk.map((task) => task.dedupeKey),
          )
          const fresh = chunk.filter((task) => !retrying.has(task.dedupeKey))
          if (fresh.length === 0) continue
          const ids = await boss.insert(
            type,
            fresh.map((task) => ({ data: payloadOf(task), ...sendOptions(task) })),
            { returnId: true },
          )
          added += ids?.length ?? 0
          // Analyses by the hundred thousand are told when they begin.
          if (type !== 'analyze_book') announcer.changed(type, ids ?? [])
          await wake(type)
        }
      }
      return added
    },

    handle(type, { concurrency }, handler) {
      if (started) throw new Error(`The handler of ${type} came after start()`)
      const none = { running: new Map(), ended: [], claimed: [], cancelled: new Set<string>(), pumping: null, again: false }
      lanes.set(type, { type, concurrency, handler, ...none })
    },

    async start() {
      presence = await openPresence(database, {
        nodeLock,
        onSignal: hear,
        onReturn: comeBack,
        onLoss: (error) => log.warn({ err: error }, 'The task queue lost its connection; it will connect again'),
      })
      started = true
      await sweep()
      for (const lane of lanes.values()) pump(lane)
      every(POLL_MS, async () => {
        for (const lane of lanes.values()) if (!stopping) pump(lane)
      })
      every(options.sweepMs ?? SWEEP_MS, sweep)
      every(PROGRESS_MS, writeProgress)
    },

    async stop() {
      if (stopping) return
      stopping = true
      for (const timer of timers) clearInterval(timer)
      const all = [...lanes.values()]
      for (const lane of all) for (const running of lane.running.values()) running.abort.abort(aborted('The server is stopping'))
      // A fetch that was under way may still begin runs; begin() aborts those itself.
      await Promise.all(all.map((lane) => lane.pumping))
      await Promise.all(all.flatMap((lane) => [...lane.running.values()].map((running) => running.done)))
      await Promise.all(all.map((lane) => pump(lane)))
      await boss.stop({ graceful: false, close: false })
      await announcer.flush()
      await presence?.close()
    },

    async cancel(taskId) {
      const type = await findTaskType(database, taskId)
      if (type === null) return false
      // affected is missing from the types, which say only what the answer is not.
      const { affected } = (await boss.cancel(type, taskId)) as { affected: number }
      if (affected === 0) return false
      await tellCancelled(type, [taskId])
      return true
    },

    async cancelAll(which) {
      const ids = await cancelMatching(database, which)
      await tellCancelled(which.type, ids)
      return ids.length
    },

    async retry(taskId) {
      const type = await findTaskType(database, taskId)
      if (type === null || !(await requeue(database, type, { id: taskId, retries: RETRIES }))) return false
      announcer.changed(type, [taskId])
      await wake(type)
      return true
    },
  }
}

/** Which try this is, from 1. The limit goes up with every claim that is not to count: by the death of a node, by a person's retry. */
const attemptOf = (job: { retryCount: number; retryLimit: number }) => Math.max(1, RETRIES + 1 - (job.retryLimit - job.retryCount))

const aborted = (message: string) => new DOMException(message, 'AbortError')
