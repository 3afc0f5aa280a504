/**
 * The task queue under the load of a first scan: many small tasks with priorities, of which some are added twice, some are canceled and some report
 * progress; how soon a task begins; and how soon another process takes over the tasks of a killed one.
 * `npm run bench:tasks [-- --tasks 100000]`
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Test } from 'tap'
import { median } from '#bench/load.ts'
import { verdict } from '#bench/verdict.ts'
import { silentLog } from '#core/foundation/log.ts'
import { type NewTask, TASK_PRIORITY, type TaskType } from '#core/tasks/task.ts'
import { countTasks } from '#core/tasks/task-query.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { openTestDatabase } from '#test/support/database.ts'

const { values } = parseArgs({ options: { tasks: { type: 'string', default: '100000' } } })
const TASKS = Number(values.tasks)
const CONCURRENCY = 4
/** Every tenth task reports progress; every hundredth is urgent. */
const [PROGRESS_EVERY, URGENT_EVERY] = [10, 100]
const LATENCIES = 200
const LATENCIES_BEHIND = 20
const KILLED = 30
/** The figures of pg-boss with our own loops, for 100,000 tasks on two busy cores; see docs/architecture.md. */
const BARS = {
  ...{ addedPerSecond: 1_200, repeatedPerSecond: 1_500, donePerSecond: 190, canceledPerSecond: 4_500 },
  ...{ beginMs: 31, beginBehindMs: 250, abortMs: 1_000, takeOverMs: 10_000 },
}

const ends: (() => unknown)[] = []
const { database, url } = await openTestDatabase({ teardown: (end: () => unknown) => ends.unshift(end) } as unknown as Test, {
  poolMax: 10,
})
const queue = await openTaskQueue({ database, log: silentLog, nodeId: 'bench' })

const tasks: NewTask[] = Array.from({ length: TASKS }, (_, index) => ({
  type: 'analyze_book',
  dedupeKey: `book ${index}`,
  params: { index },
  ...(index % URGENT_EVERY === 0 && { priority: 900 }),
}))

async function timed<Result>(work: () => Promise<Result>): Promise<{ seconds: number; result: Result }> {
  const begun = performance.now()
  const result = await work()
  return { seconds: (performance.now() - begun) / 1000, result }
}

/** Milliseconds, the median. */
async function measureBegins(times: number): Promise<number> {
  const all: number[] = []
  for (let index = 0; index < times; index++) {
    const { seconds } = await timed(async () => {
      const begun = new Promise<void>((resolve) => {
        begunLate = resolve
      })
      await queue.add({ type: 'find_duplicates', dedupeKey: `${index}` })
      await begun
    })
    all.push(seconds * 1000)
  }
  return median(all)
}

const added = await timed(() => queue.addMany(tasks))
verdict('tasks added per second', added.result / added.seconds, { atLeast: BARS.addedPerSecond })
const repeated = await timed(() => queue.addMany(tasks))
if (repeated.result !== 0) throw new Error(`${repeated.result} tasks were added twice`)
verdict('duplicate tasks per second', TASKS / repeated.seconds, { atLeast: BARS.repeatedPerSecond })

let done = 0
let begunLate: (() => void) | null = null
const urgentPlaces: number[] = []
queue.handle('analyze_book', { concurrency: CONCURRENCY }, async (run) => {
  const index = run.params.index as number
  if (index % URGENT_EVERY === 0) urgentPlaces.push(done)
  if (index % PROGRESS_EVERY === 0) run.progress(1, 2, 'half')
  done += 1
})
queue.handle('find_duplicates', { concurrency: 1 }, async () => begunLate?.())
// All types of a server: the workers of each look for its own jobs.
const others = (Object.keys(TASK_PRIORITY) as TaskType[]).filter(
  (type) => !['analyze_book', 'find_duplicates', 'scan_library'].includes(type),
)
for (const type of others) queue.handle(type, { concurrency: 1 }, async () => {})
queue.handle('scan_library', { concurrency: 2 }, async (run) => {
  await new Promise((_, reject) => run.signal.addEventListener('abort', () => reject(run.signal.reason)))
})
await queue.start()
verdict('the same for a less urgent type, behind all other tasks', await measureBegins(LATENCIES_BEHIND), { atMost: BARS.beginBehindMs })
const before = done
const half = before + Math.floor((TASKS - before) / 2)
const worked = await timed(async () => {
  while (done < half) await sleep(5)
})
verdict('tasks done per second', (done - before) / worked.seconds, { atLeast: BARS.donePerSecond })
verdict('position of the last urgent task', urgentPlaces.at(-1) ?? 0, { atMost: TASKS / URGENT_EVERY + 500 })
const canceled = await timed(() => queue.cancelAll({ type: 'analyze_book', all: true }))
verdict('tasks canceled per second', canceled.result / canceled.seconds, { atLeast: BARS.canceledPerSecond })
let stats = await countTasks(database)
while (stats.pending + stats.processing > 0) {
  await sleep(100)
  stats = await countTasks(database)
}
if (stats.failed > 0 || stats.total !== TASKS + LATENCIES_BEHIND) throw new Error(`Tasks were lost or failed: ${JSON.stringify(stats)}`)

verdict('milliseconds from adding a task to its start', await measureBegins(LATENCIES), { atMost: BARS.beginMs })

const stopped = await queue.add({ type: 'scan_library', dedupeKey: 'endless' })
while ((await countTasks(database)).processing === 0) await sleep(5)
const abort = await timed(async () => {
  await queue.cancel(stopped.taskId)
  while ((await countTasks(database)).processing > 0) await sleep(1)
})
verdict('milliseconds until a canceled run has ended', abort.seconds * 1000, { atMost: BARS.abortMs })

await queue.stop()
await database.raw('CREATE TABLE done (name text, attempt int, pid int)')
const next = await openTaskQueue({ database, log: silentLog, nodeId: 'next' })
await next.addMany(
  Array.from({ length: KILLED }, (_, index) => ({ ...(tasks[0] as NewTask), dedupeKey: `k${index}`, params: { name: `k${index}` } })),
)
const child = spawn(process.execPath, [fileURLToPath(new URL('../test/support/queue-child.ts', import.meta.url)), url], {
  stdio: 'inherit',
})
const countDone = async () => Number((await database('done').count({ count: '*' }).first())?.['count'])
while ((await countDone()) < KILLED / 3) await sleep(10)
next.handle('analyze_book', { concurrency: 2 }, async (run) => {
  if (await database('done').where('name', String(run.params.name)).first()) return
  await database('done').insert({ name: run.params.name, attempt: run.attempt, pid: process.pid })
})
child.kill('SIGKILL')
await once(child, 'exit')
const takenOver = await timed(async () => {
  await next.start()
  while ((await countDone()) < KILLED) await sleep(10)
})
verdict('milliseconds until the tasks of a killed process were done', takenOver.seconds * 1000, { atMost: BARS.takeOverMs })
const names = await database('done').pluck('name')
if (new Set(names).size !== KILLED || names.length !== KILLED) throw new Error('A task ran twice or never')
await next.stop()
for (const end of ends) await end()
