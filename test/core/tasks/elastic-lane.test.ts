import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { countTasks } from '#core/tasks/task-query.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { openQueues, task, until } from '#test/support/task-queues.ts'

t.setTimeout(240_000)

const [CONCURRENCY, BURST] = [2, 10]

t.test('more tasks run at a time while they are short and many', async (t) => {
  const { database, queue } = await openQueues(t, 1)
  let running = 0
  const most = { short: 0, long: 0, late: 0 }
  queue.handle('analyze_book', { concurrency: CONCURRENCY, burst: BURST }, async ({ params }) => {
    const name = params.name as keyof typeof most
    running++
    most[name] = Math.max(most[name], running)
    await sleep(name === 'short' ? 5 : 600)
    running--
  })
  await queue.start()
  const add = async (name: keyof typeof most, count: number) =>
    await queue.addMany(Array.from({ length: count }, (_, index) => task(`${name} ${index}`, { params: { name } })))
  const workers = async () => (await database('task_workers')).length

  await add('short', 600)
  t.equal(await workers(), 1)
  await until(async () => (await countTasks(database)).completed === 600)
  t.ok(most.short > CONCURRENCY, `${most.short} at a time`)
  t.ok(most.short <= CONCURRENCY + BURST)
  await until(async () => (await workers()) === 1)
  t.pass('the further workers end when there is nothing to do')

  await add('long', 8)
  await until(async () => (await countTasks(database)).completed === 608)
  t.equal(most.long, CONCURRENCY, 'not more than usual of those that take longer')
})

t.test('of tasks that are not so short, fewer run at a time: each waits a second at most', onlyFull, async (t) => {
  const { database, queue } = await openQueues(t, 1)
  const [ms, burst] = [150, 40]
  let running = 0
  let most = 0
  queue.handle('analyze_book', { concurrency: CONCURRENCY, burst }, async () => {
    most = Math.max(most, ++running)
    // As if they shared processors.
    await sleep((ms * running) / CONCURRENCY)
    running--
  })
  await queue.start()
  await queue.addMany(Array.from({ length: 80 }, (_, index) => task(`${index}`)))
  await until(async () => (await countTasks(database)).completed === 80)
  t.ok(most > CONCURRENCY, `${most} at a time`)
  t.ok(most <= (1.5 * CONCURRENCY * 1_000) / ms)
})

t.test('more run when tasks become shorter: the first ones are often the longest', onlyFull, async (t) => {
  const { database, queue } = await openQueues(t, 1)
  const burst = 40
  let [started, running, most] = [0, 0, 0]
  queue.handle('analyze_book', { concurrency: CONCURRENCY, burst }, async () => {
    const ms = ++started <= 20 ? 150 : 5
    most = Math.max(most, ++running)
    await sleep(ms)
    running--
  })
  await queue.start()
  await queue.addMany(Array.from({ length: 4_000 }, (_, index) => task(`${index}`)))
  await until(async () => (await countTasks(database)).completed === 4_000)
  t.ok(most > (CONCURRENCY * 1_000) / 150, `${most} at a time`)
})

t.test('what the further workers have claimed is returned when the queue stops', async (t) => {
  const { database, queues } = await openQueues(t, 2)
  const [first, second] = queues as [(typeof queues)[0], (typeof queues)[0]]
  const done = new Map<string, number>()
  const handle = (queue: typeof first) =>
    queue.handle('analyze_book', { concurrency: CONCURRENCY, burst: BURST }, async (run) => {
      await sleep(5, undefined, { signal: run.signal })
      done.set(run.id, (done.get(run.id) ?? 0) + 1)
    })
  handle(first)
  handle(second)
  await first.addMany(Array.from({ length: 1_000 }, (_, index) => task(`${index}`)))
  await first.start()
  await until(async () => (await database('task_workers')).length === 2)
  await first.stop()
  t.match(await countTasks(database), { processing: 0, failed: 0 })
  t.equal((await database('task_workers')).length, 0)
  const { rows } = await database.raw('SELECT 1 FROM graphile_worker.jobs WHERE locked_at IS NOT NULL')
  t.same(rows, [], 'no job is locked')
  await second.start()
  await until(async () => (await countTasks(database)).completed === 1_000)
  t.ok([...done.values()].every((times) => times === 1) && done.size === 1_000, 'each was done once')
})
