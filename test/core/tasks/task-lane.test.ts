import t from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import { TaskLane } from '#core/tasks/task-lane.ts'
import { addTasks } from '#core/tasks/task-store.ts'
import { openQueues, task, until } from '#test/support/task-queues.ts'

t.test('workers whose connection is lost while they start run tasks all the same', async (t) => {
  const { database } = await openQueues(t, 1)
  let runs = 0
  const lane = new TaskLane({
    type: 'analyze_book',
    concurrency: 1,
    database,
    log: silentLog,
    node: { nodeId: 'node', nodeLock: 1 },
    perform: async () => {
      runs += 1
    },
  })
  t.teardown(() => lane.stop())
  const lock = await database.transaction()
  // Workers ask for the ids of their types first of all, and wait for this lock.
  await lock.raw('LOCK TABLE graphile_worker._private_tasks IN ACCESS EXCLUSIVE MODE')
  lane.start()
  await until(async () => {
    const { rows } = await database.raw(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%_private_tasks as tasks%'`,
    )
    return rows.length > 0
  })
  await lock.rollback()
  await addTasks(database, 'analyze_book', [task('after')])
  await until(() => {
    lane.nudge()
    return runs === 1
  })
})
