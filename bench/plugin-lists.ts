import { performance } from 'node:perf_hooks'
import type { Test } from 'tap'
import { printPlugins } from '#api/cli/plugin-list.ts'
import { openPluginHost } from '#api/compose-plugin-host.ts'
import { pluginViews } from '#api/views/plugin-view.ts'
import { median } from '#bench/load.ts'
import { silentLog } from '#core/foundation/log.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { fillPlugins } from '#test/support/plugin-rows.ts'

const ROUNDS = 30
const SECRETS = ['a-key-of-the-bench-that-is-at-least-thirty-two-bytes']
export const INSTALLED = { plugins: 100, versions: 10 }

/** Milliseconds of a list of many plugins with their older versions: of an answer of the API as JSON, and of `plugin list`. */
export async function measureLists(): Promise<{ answerMs: number; commandMs: number }> {
  const ends: (() => unknown)[] = []
  const { database } = await openTestDatabase({ teardown: (end: () => unknown) => ends.unshift(end) } as unknown as Test)
  const supervisor = new Supervisor({ log: silentLog, spare: false })
  const host = openPluginHost({ database, supervisor, egress: new HttpsEgress(), log: silentLog, secrets: SECRETS })
  try {
    await fillPlugins(database, INSTALLED)
    const medianOf = async (work: () => Promise<unknown>) => {
      const times: number[] = []
      for (let round = 0; round < ROUNDS; round++) {
        const begun = performance.now()
        await work()
        times.push(performance.now() - begun)
      }
      return median(times)
    }
    return {
      answerMs: await medianOf(async () => JSON.stringify(await pluginViews({ ...host, database }, await host.plugins.list()))),
      commandMs: await medianOf(() => printPlugins(database, { line: () => {}, message: () => {} }, { dataFolder: '/srv/carrel' })),
    }
  } finally {
    await host.pluginCalls.close()
    supervisor.close()
    for (const end of ends) await end()
  }
}
