/** A separate process that refreshes recommendations; the test kills it in the middle. */

import { openPluginHost } from '#api/compose-plugin-host.ts'
import { openDatabase } from '#core/database/database.ts'
import { silentLog } from '#core/foundation/log.ts'
import { Recommendations } from '#core/recommendations/recommendations.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { PluginProviders } from '#plugins/host/provider-client.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'

const [url, secret] = process.argv.slice(2) as [string, string]
const database = openDatabase({ url, poolMax: 5, log: silentLog })
const supervisor = new Supervisor({ log: silentLog })
const host = openPluginHost({ database, supervisor, egress: new HttpsEgress(), log: silentLog, secrets: [secret] })
const tasks = await openTaskQueue({ database, log: silentLog, nodeId: `child-${process.pid}` })
new Recommendations({ database, providers: new PluginProviders({ ...host, database }), tasks, log: silentLog })
await tasks.start()
