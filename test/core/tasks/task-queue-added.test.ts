import t from 'tap'
import { openQueues, task } from '#test/support/task-queues.ts'

t.setTimeout(120_000)

t.test('the same tasks are added by several at once, in whatever order', async (t) => {
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
