/** A process of its own that looks for recommendations; killed by the test in the middle. */
import { openDatabase } from '#core/database/database.ts'
import { silentLog } from '#core/log.ts'
import { openTaskQueue } from '#core/task/task-queue.ts'
import { openEgress } from '#plugins/egress/egress.ts'
import { openPluginHost } from '#plugins/host/plugin-host.ts'
import { openProviderClient } from '#plugins/host/provider-client.ts'
import { openSupervisor } from '#plugins/isolate/supervisor.ts'
import { openRecommendations } from '#plugins/recommendation/recommendations.ts'

const [url, secret] = process.argv.slice(2) as [string, string]
const database = openDatabase({ url, poolMax: 5, log: silentLog })
const supervisor = openSupervisor({ log: silentLog })
const plugins = openPluginHost({ database, supervisor, egress: openEgress(), log: silentLog, secrets: [secret] })
const tasks = await openTaskQueue({ database, log: silentLog, nodeId: `child-${process.pid}` })
openRecommendations({ database, providers: openProviderClient({ database, plugins }), tasks, log: silentLog })
await tasks.start()
