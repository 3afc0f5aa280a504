/** A separate process that updates and rolls back one plugin forever; the test kills it in the middle. */

import { openPluginHost } from '#api/compose-plugin-host.ts'
import { openDatabase } from '#core/database/database.ts'
import { AppError } from '#core/foundation/errors.ts'
import { silentLog } from '#core/foundation/log.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'
import { updateOf } from '#test/support/plugins.ts'

const [url, firstVersion, secret] = process.argv.slice(2) as [string, string, string]
const database = openDatabase({ url, poolMax: 5, log: silentLog })
const supervisor = new Supervisor({ log: silentLog })
const host = openPluginHost({ database, supervisor, egress: new HttpsEgress(), log: silentLog, secrets: [secret] })
const [plugin] = await host.plugins.list()
if (plugin === undefined) throw new Error('There is no plugin to update.')
const ask = () =>
  host.pluginCalls.call({ pluginId: plugin.id, method: 'metadata.series.search', input: { query: 'x', limit: 1 }, userId: null })
for (let number = Number(firstVersion); ; number++) {
  try {
    await host.pluginLifecycle.consent(plugin.id, await host.pluginLifecycle.install(updateOf(number), { userId: null }))
    await ask()
    process.stdout.write('.')
    if (number % 2 === 1) await host.pluginLifecycle.rollBack(plugin.id)
    await ask()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    process.stdout.write(`${error.code}: ${error.message}\n`)
  }
}
