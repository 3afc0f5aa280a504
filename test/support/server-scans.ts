import { silentLog } from '#core/foundation/log.ts'
import { Scans } from '#core/scan/scans.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import type { TestServer } from '#test/support/server.ts'
import { findRules } from '#test/support/supervisor.ts'

/** Adds a task queue and scans to a test server. The caller starts the queue if it must run, and stops it. */
export async function addScans({ database, services }: Pick<TestServer, 'database' | 'services'>) {
  const tasks = await openTaskQueue({ database, log: silentLog, nodeId: 'node-1' })
  const purgeAfterSeconds = 86_400
  const scans = new Scans({ database, tasks, rules: findRules(), log: silentLog, dataFolder: '/nonexistent', purgeAfterSeconds })
  Object.assign(services, { tasks, scans })
  return { tasks, scans }
}
