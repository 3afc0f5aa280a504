import type { PluginHostServices } from '#api/areas/plugins.ts'
import { type Command, type CommandInput, CommandProblem } from '#api/cli/command.ts'
import { readSecretLines } from '#api/cli/password-input.ts'
import { choosePlugin, withPlugins } from '#api/cli/plugin.ts'
import { describePrivateOrigins } from '#api/cli/plugin-consent.ts'
import { printNeeds } from '#api/cli/plugin-needs.ts'
import { typedOn } from '#api/cli/typed.ts'
import { didYouMean } from '#core/foundation/nearest-name.ts'
import { escapedText, strangerLines } from '#core/foundation/stranger-text.ts'
import { destinationOf } from '#plugins/credentials/plugin-auth.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { administratorFields } from '#plugins/host/plugin-needs.ts'
import { secretsOf } from '#plugins/packages/plugin-config.ts'

interface Member {
  type: string
  default?: unknown
}

const membersOf = ({ manifest }: Pick<InstalledPlugin, 'manifest'>): Record<string, Member> =>
  ((manifest.config ?? {}) as { properties?: Record<string, Member> }).properties ?? {}

/** A text of the command line as the type that the member has; the schema checks the rest. */
function readValue({ type }: Member, text: string): unknown {
  if (type === 'string') return text
  try {
    return JSON.parse(text)
  } catch {
    return type === 'array' ? text.split(',') : text
  }
}

/** The configuration after `key=value` words; `key=` takes a value away. @throws CommandProblem */
function changedConfig(input: Pick<CommandInput, 'settings'>, plugin: InstalledPlugin, words: readonly string[]): Record<string, unknown> {
  const members = membersOf(plugin)
  const secrets = secretsOf(plugin.manifest.config)
  const config = { ...plugin.config }
  for (const word of words) {
    const at = word.indexOf('=')
    const name = at === -1 ? word : word.slice(0, at)
    const member = Object.hasOwn(members, name) ? members[name] : undefined
    const known = Object.keys(members)
    if (member === undefined)
      throw new CommandProblem(
        `${plugin.key} has no setting "${escapedText(name)}".${didYouMean(name, known)} ${known.length === 0 ? 'It has none.' : `It has ${known.join(', ')}.`}`,
      )
    if (secrets.includes(name))
      throw new CommandProblem(
        `${name} is secret, and others can see the arguments of a command. Enter it with: ${typedOn(input.settings, `plugin credentials ${plugin.key}`)}`,
      )
    if (at === -1) throw new CommandProblem(`"${escapedText(word)}" has no value. Give it as ${name}=VALUE; ${name}= takes the value away.`)
    const text = word.slice(at + 1)
    if (text === '') delete config[name]
    else config[name] = readValue(member, text)
  }
  return config
}

async function printConfig({ out }: CommandInput, { pluginCredentials }: PluginHostServices, plugin: InstalledPlugin): Promise<void> {
  const secrets = secretsOf(plugin.manifest.config)
  const stored = (await pluginCredentials.stored({ userId: null, pluginId: plugin.id })).settings({ pluginId: plugin.id, userId: null })
  // The database keeps no order of members.
  const members = Object.entries(membersOf(plugin)).sort(([a], [b]) => (a < b ? -1 : 1))
  if (members.length === 0) out.line(`${plugin.key} has no settings.`)
  for (const [name, { default: value }] of members) {
    if (secrets.includes(name)) out.message(`${name} = ${stored.includes(name) ? '(secret, stored)' : '(secret, not set)'}`)
    // Entered by an administrator, but perhaps chosen among words of the author.
    else if (Object.hasOwn(plugin.config, name)) out.message(`${name} = ${JSON.stringify(plugin.config[name])}`)
    else if (value === undefined) out.message(`${name} = not set`)
    else if (typeof value === 'number' || typeof value === 'boolean') out.message(`${name} = ${value} (default)`)
    else {
      out.message(`${name} = (default)`)
      for (const line of strangerLines("the author's default is", typeof value === 'string' ? value : JSON.stringify(value))) out.line(line)
    }
  }
  for (const line of describePrivateOrigins(plugin)) out.message(line)
}

const config: Command = {
  name: 'plugin config',
  usage: '<name> [key=value…]',
  words: [1, 61],
  summary: 'shows or changes the configuration of a plugin',
  about:
    'Shows the settings of a plugin, or changes those that are given as key=value; the others stay. key= takes a value away. A list is given as JSON or with commas. Secret settings are entered with plugin credentials.',
  flags: [
    {
      name: 'private-hosts',
      isSwitch: true,
      about: 'The hosts that are given here, or without key=value all that are entered, may be in your own network, with http or a port.',
    },
  ],
  run: (input) => {
    const [, ...changes] = input.words
    const given = input.flag('private-hosts')
    const isChange = changes.length > 0 || given !== undefined
    return withPlugins(input, isChange ? 'change' : 'look', async (host) => {
      const before = await choosePlugin(host, input)
      // Of several, those that were entered before stay as they are.
      const granted = changes.length === 0 || changes.map((word) => word.split('=')[0] as string)
      const privateHosts = given === 'true' && granted
      const edit = {
        ...(changes.length > 0 && { config: changedConfig(input, before, changes) }),
        ...(given !== undefined && { privateHosts }),
      }
      const plugin = isChange ? await host.plugins.edit(before.id, edit) : before
      await printConfig(input, host, plugin)
      // Credentials are not decrypted by a command that only reads.
      if (isChange) await printNeeds(input, host, plugin)
      return 0
    })
  },
}

/** What each line of the input is for. @throws CommandProblem when an administrator enters nothing for the plugin */
function askedOf(input: Pick<CommandInput, 'settings'>, plugin: InstalledPlugin, fields: readonly string[]): string[] {
  const asked = [...fields, ...secretsOf(plugin.manifest.config)]
  if (asked.length > 0) return asked
  throw new CommandProblem(
    plugin.manifest.auth?.scope === 'user'
      ? `Every user enters their own credentials for ${plugin.key}, in the settings of their account.`
      : `${plugin.key} needs no credentials. Its settings: ${typedOn(input.settings, `plugin config ${plugin.key}`)}`,
  )
}

const credentials: Command = {
  name: 'plugin credentials',
  usage: '<name>',
  summary: 'asks for the credentials and secret settings of a plugin',
  about:
    'Asks for the credentials of a plugin for its service, and for its secret settings, without showing what you type. They are stored encrypted, and replace those before. An empty line leaves out what it asks for. Without a terminal it reads one line for each from its input. It does not test them.',
  flags: [{ name: 'delete', isSwitch: true, about: 'Deletes the stored credentials instead.' }],
  run: (input) =>
    withPlugins(input, 'change', async (host) => {
      const plugin = await choosePlugin(host, input)
      const auth = host.plugins.authOf(plugin)
      const fields = administratorFields(auth)
      const asked = askedOf(input, plugin, fields)
      if (input.flag('delete') === 'true') {
        await host.plugins.edit(plugin.id, { credentials: {} })
        input.out.line(`Deleted the credentials of ${plugin.key}.`)
        return 0
      }
      const destination = destinationOf(auth)
      if (destination !== null && fields.length > 0)
        input.out.message(`The server sends them to ${destination}, and the plugin does not see them.`)
      const given = await readSecretLines(asked, input.stop)
      const entered = Object.entries(given).filter(([, text]) => text !== '')
      if (entered.length === 0) throw new CommandProblem('Nothing was entered, so nothing is changed.')
      const of = (names: readonly string[]) => Object.fromEntries(entered.filter(([name]) => names.includes(name)))
      const secrets = of(asked.slice(fields.length))
      const own = of(fields)
      const after = await host.plugins.edit(plugin.id, {
        // The destination that was printed.
        ...(Object.keys(own).length > 0 && { credentials: own, ...(destination !== null && { credentialsHost: destination }) }),
        ...(Object.keys(secrets).length > 0 && { config: { ...plugin.config, ...secrets } }),
      })
      input.out.line(`Stored ${entered.map(([name]) => name).join(', ')} of ${plugin.key}.`)
      await printNeeds(input, host, after)
      return 0
    }),
}

const test: Command = {
  name: 'plugin test',
  usage: '<name>',
  summary: 'starts a plugin once, and says what it still needs',
  about: 'Starts a plugin beside its running instance, and runs its setup. Exits with 1 if it does not start.',
  flags: [],
  run: (input) =>
    withPlugins(input, 'change', async (host) => {
      const plugin = await choosePlugin(host, input)
      const { success, message, latencyMs } = await host.plugins.test(plugin.id)
      input.out.message(success ? `${message} ${latencyMs} ms.` : message)
      await printNeeds(input, host, plugin)
      return success ? 0 : 1
    }),
}

export const pluginSetupCommands: readonly Command[] = [config, credentials, test]
