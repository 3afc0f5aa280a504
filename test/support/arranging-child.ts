/** A separate process that moves the books of libraries to their series; the test kills it in the middle. */
import { openDatabase } from '#core/database/database.ts'
import { silentLog } from '#core/foundation/log.ts'
import { handleArranging } from '#core/scan/layouts/arrange-library.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'
import { openRules } from '#plugins/templates/rules.ts'

const database = openDatabase({ url: process.argv[2] as string, poolMax: 5, log: silentLog })
const tasks = await openTaskQueue({ database, log: silentLog, nodeId: `child-${process.pid}` })
handleArranging({ database, tasks, rules: openRules(new Supervisor({ log: silentLog, spare: false, residentMbMax: 256 })) })
await tasks.start()
