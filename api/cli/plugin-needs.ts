import type { PluginHostServices } from '#api/areas/plugins.ts'
import type { CommandInput } from '#api/cli/command.ts'
import { typedOn } from '#api/cli/typed.ts'
import { describeRunning, type InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { needsOf, type PluginNeeds } from '#plugins/host/plugin-needs.ts'

type Input = Pick<CommandInput, 'out' | 'settings'>
type Host = Pick<PluginHostServices, 'plugins'>

/** Says that a plugin runs, or what a person must still enter for that. @param begin of the sentence, before its verb */
export async function printRunning(input: Input, { plugins }: Host, plugin: InstalledPlugin, begin: string): Promise<void> {
  const needs = await needsOf(plugins, plugin)
  const isReady = needs.config.length === 0 && needs.addresses.length === 0 && needs.credentialsFor === undefined
  input.out.line(`${begin} ${isReady ? describeRunning(plugin) : `is ${plugin.state}`}.`)
  printEach(input, plugin, needs)
}

/** Says what a person must still enter, with the commands for it. */
export async function printNeeds(input: Input, { plugins }: Host, plugin: InstalledPlugin): Promise<void> {
  printEach(input, plugin, await needsOf(plugins, plugin))
}

function printEach({ out, settings }: Input, { key }: InstalledPlugin, { config, addresses, credentialsFor }: PluginNeeds): void {
  // A command is not wrapped: it is pasted as it stands.
  if (config.length > 0) {
    out.message(`It still needs ${config.join(', ')}:`)
    out.line(`  ${typedOn(settings, `plugin config ${key} ${config.map((name) => `${name}=VALUE`).join(' ')}`)}`)
  }
  for (const problem of addresses) out.message(problem)
  if (credentialsFor !== undefined) {
    out.message(`It still needs credentials for ${credentialsFor ?? 'its service'}:`)
    out.line(`  ${typedOn(settings, `plugin credentials ${key}`)}`)
  }
}
