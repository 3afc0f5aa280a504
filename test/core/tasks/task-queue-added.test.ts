import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openQueues, task } from '#test/support/task-queues.ts'

t.setTimeout(60_000)

t.test('concurrent requests add the same tasks in any order without deadlock', async (t) => {
  const { queue } = await openQueues(t, 1)
  queue.handle('analyze_book', { concurrency: 1 }, async () => undefined)
  for (let round = 0; round < 10; round++) {
    const tasks = Array.from({ length: 500 }, (_, index) => task(`${round}-${index}`))
    const added = await Promise.all([tasks, tasks.toReversed(), tasks].map((some) => queue.addMany(some)))
    t.equal(
      added.reduce((sum, count) => sum + count),
      500,
    )
  }
})

t.test('a task that waits for a later time begins now when it is added again for now', async (t) => {
  const { queue, database } = await openQueues(t, 1)
  const ran: string[] = []
  queue.handle('analyze_book', { concurrency: 1 }, async ({ id }) => void ran.push(id))
  await queue.start()
  const scheduledFor = new Date(Date.now() + 20 * 86_400_000)
  const one = await queue.add({ ...task('one'), scheduledFor })
  const two = await queue.add({ ...task('two'), scheduledFor })
  t.same(await queue.add({ ...task('one'), scheduledFor: new Date(scheduledFor.getTime() + 1) }), { ...one, created: false })
  t.same(
    (await database('tasks').where('id', one.taskId).first('scheduled_for')).scheduled_for,
    scheduledFor,
    'a later time changes nothing',
  )
  t.same(ran, [])

  t.same(await queue.add({ ...task('one'), priority: 900 }), { taskId: one.taskId, created: false })
  t.equal((await database('tasks').where('id', one.taskId).first('priority')).priority, 900)
  t.equal(await queue.addMany([task('two')]), 1)
  for (let tries = 0; tries < 500 && ran.length < 2; tries++) await sleep(20)
  t.same(ran, [one.taskId, two.taskId])
})

t.test('statistics about jobs are updated when many were added, and seldom', async (t) => {
  const { database, queue } = await openQueues(t, 1)
  const countUpdates = async () => {
    const { rows } = await database.raw(`SELECT analyze_count::int AS count FROM pg_stat_user_tables WHERE relname = '_private_jobs'`)
    return rows[0].count
  }
  const before = await countUpdates()
  const add = async (from: number, count: number) =>
    await queue.addMany(Array.from({ length: count }, (_, index) => task(`${from + index}`)))
  await add(0, 900)
  t.equal(await countUpdates(), before)
  await add(900, 600)
  t.equal(await countUpdates(), before + 1)
  await add(0, 1_500)
  await add(1_500, 1_500)
  t.equal(await countUpdates(), before + 1, 'not for those that were waiting already, nor for as many again')
  await add(3_000, 1_000)
  t.equal(await countUpdates(), before + 2)
})
