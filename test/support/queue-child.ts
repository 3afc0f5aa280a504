/** A separate process that runs analyze_book tasks and records what it did; the test kills it in the middle. */
import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase } from '#core/database/database.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'

const database = openDatabase({ url: process.argv[2] as string, poolMax: 5, log: silentLog })
const queue = await openTaskQueue({ database, log: silentLog, nodeId: `child-${process.pid}` })
queue.handle('analyze_book', { concurrency: 2 }, async (run) => {
  // As for books: work that was finished but not reported when the process died counts as finished.
  if (await database('done').where('name', String(run.params.name)).first()) return
  // So long that a kill often meets a running task.
  await sleep(100)
  await database('done').insert({ name: run.params.name, attempt: run.attempt, pid: process.pid })
})
await queue.start()
