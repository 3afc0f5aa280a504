import type { Knex } from 'knex'
import type { Command } from '#api/cli/command.ts'
import { withDatabase } from '#api/cli/open-database.ts'
import { describePrivateOrigins } from '#api/cli/plugin-consent.ts'
import type { Terminal } from '#api/cli/terminal.ts'
import { typedOn } from '#api/cli/typed.ts'
import { strangerLines } from '#core/foundation/stranger-text.ts'
import type { Settings } from '#core/settings/settings.ts'
import { listNewerVersions, listPlugins } from '#plugins/host/plugin-store.ts'
import { isLater } from '#plugins/packages/upgrade.ts'

/** Prints all plugins, by two statements however many there are. */
export async function printPlugins(
  database: Knex,
  out: Pick<Terminal, 'line' | 'message'>,
  settings: Pick<Settings, 'dataFolder'>,
): Promise<void> {
  const [plugins, newer] = await Promise.all([listPlugins(database), listNewerVersions(database)])
  for (const plugin of plugins) {
    const { id, key, version, state, stateReason, manifest } = plugin
    out.message(`${key} ${version}  ${state}  ${id}`)
    if (stateReason) for (const line of strangerLines('the reason', stateReason)) out.line(line)
    for (const line of strangerLines('the author says', manifest.summary)) out.line(line)
    for (const line of describePrivateOrigins(plugin)) out.line(`  ${line}`)
    const waiting = newer.get(id)
    if (!waiting) continue
    const isOlder = plugin.runningVersionId !== null && isLater(version, waiting.version)
    const why = isOlder ? 'is older; to run it' : waiting.rolledBackAt ? 'was rolled back; to run it again' : 'waits for consent'
    // Not wrapped: a command is pasted as it stands.
    out.line(`  ${waiting.version} ${why}: ${typedOn(settings, `plugin consent ${key} ${waiting.version}`)}`)
  }
  if (plugins.length === 0) out.line(`There is no plugin yet. Install one: ${typedOn(settings, 'plugin install FILE')}`)
}

export const pluginList: Command = {
  name: 'plugin list',
  usage: '',
  summary: 'lists the plugins, and versions that wait for consent',
  about:
    'Lists the plugins: name, version, whether they run, their UUID on this server, hosts in your own network that they may reach, and versions that wait for consent.',
  flags: [],
  run: (input) =>
    withDatabase(input, 'look', async ({ database }) => {
      await printPlugins(database, input.out, input.settings)
      return 0
    }),
}
