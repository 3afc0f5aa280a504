/** A separate process that runs exports; the test kills it in the middle. */
import { openDatabase } from '#core/database/database.ts'
import { openExports } from '#core/exports/series-exports.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'

const [url, dataFolder] = process.argv.slice(2) as [string, string]
const database = openDatabase({ url, poolMax: 5, log: silentLog })
const tasks = await openTaskQueue({ database, log: silentLog, nodeId: `child-${process.pid}` })
await openExports({ database, tasks, dataFolder, log: silentLog })
await tasks.start()
