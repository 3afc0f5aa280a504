import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Knex } from 'knex'
import type { PluginHostServices } from '#api/areas/plugins.ts'
import { type Command, type CommandInput, CommandProblem } from '#api/cli/command.ts'
import { type DatabaseUse, withDatabase } from '#api/cli/open-database.ts'
import {
  CONSENT_FLAGS,
  checkGiven,
  consentToShown,
  describePrivateOrigins,
  printConsented,
  printPauses,
  printReview,
} from '#api/cli/plugin-consent.ts'
import { printRunning } from '#api/cli/plugin-needs.ts'
import { typedOn } from '#api/cli/typed.ts'
import { credentialKeys, findHolder } from '#core/embedded/data-folder.ts'
import { AppError } from '#core/foundation/errors.ts'
import { didYouMean } from '#core/foundation/nearest-name.ts'
import { escapedText, messageLines } from '#core/foundation/stranger-text.ts'
import { localServices } from '#core/settings/local-hosts.ts'
import { describeRunning, type InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import type { Installation } from '#plugins/host/plugin-lifecycle.ts'
import type { HttpsEgress } from '#plugins/network/https-egress.ts'
import { withConfirmingFlags } from '#plugins/packages/identity.ts'

/** A command that only reads decrypts nothing and creates no key. */
const UNUSED_KEY = 'nothing is encrypted with this key'

/** Opens what the commands need; a running server applies every change at the next call of the plugin. */
export async function withPlugins(
  input: CommandInput,
  use: DatabaseUse,
  work: (host: PluginHostServices, beside: { database: Knex; egress: HttpsEgress }) => Promise<number>,
): Promise<number> {
  const { log, network } = input
  return await withDatabase(input, use, async ({ database, settings }) => {
    const [{ openPluginHost }, { Supervisor }, { HttpsEgress }] = await Promise.all([
      import('#api/compose-plugin-host.ts'),
      import('#plugins/runtime/supervisor.ts'),
      import('#plugins/network/https-egress.ts'),
    ])
    const supervisor = new Supervisor({ log, spare: false })
    // The server of this data folder may have been started for development.
    const server = await findHolder(settings.dataFolder)
    const { allowLocal = [], port = settings.port } = server?.purpose === 'server' ? server : {}
    const local = localServices([...settings.plugins.allowLocal, ...allowLocal], { host: settings.host, port })
    const egress = new HttpsEgress(network, local)
    const secrets = use === 'look' ? [UNUSED_KEY] : await credentialKeys(settings)
    const host = openPluginHost({ database, supervisor, egress, log, secrets, enabled: settings.plugins.enabled })
    try {
      return await work(host, { database, egress })
    } catch (error) {
      // Errors have the same text as over HTTP.
      if (error instanceof AppError)
        throw new CommandProblem(messageLines(withCommands(settings, withFlags(error.message))).join('\n'), { cause: error })
      throw error
    } finally {
      await host.pluginCalls.close()
      supervisor.close()
    }
  })
}

/** Errors name the parameters of a request that confirm something: here these are flags. */
const withFlags = (message: string) => withConfirmingFlags(message).replace('together with privateHosts', 'with --private-hosts')

/** Errors name the request that helps: here it is a command. */
const withCommands = (settings: CommandInput['settings'], message: string) =>
  message.replace(
    /POST \/api\/v1\/admin\/plugins\/([\w.-]+)\/(consent|rollback|reset)\b(?: with \{"sha256":"(\w+)"\})?/,
    (_, key: string, verb: string, sha256?: string) =>
      typedOn(settings, `plugin ${verb} ${key}${sha256 === undefined ? '' : ` ${sha256}`}`),
  )

/** The plugin with this name, this short name of a bundled one, or this id. */
export const findNamed = (plugins: readonly InstalledPlugin[], word: string): InstalledPlugin | undefined =>
  // Nobody else may have an id that begins with this word, so the short name is exact.
  plugins.find(({ key, id }) => key === word || id === word) ?? plugins.find(({ key }) => key === `carrel.${word}`)

/** The plugin that the first word names, as {@link findNamed}. @throws CommandProblem if there is none */
export async function choosePlugin(
  { plugins }: Pick<PluginHostServices, 'plugins'>,
  input: Pick<CommandInput, 'settings' | 'words'>,
): Promise<InstalledPlugin> {
  const word = input.words[0] as string
  const installed = await plugins.list()
  const chosen = findNamed(installed, word)
  if (chosen) return chosen
  const names = installed.map(({ key }) => key)
  const ends = names.map((name) => name.slice(name.lastIndexOf('.') + 1))
  const near = names.find((name) => name.endsWith(`.${word}`)) ?? word
  throw new CommandProblem(
    `There is no plugin "${escapedText(word)}".${didYouMean(near, names) || didYouMean(word, ends)} List all: ${typedOn(input.settings, 'plugin list')}`,
  )
}

/** Reads the given package: a file, or the name of a bundled plugin. */
export async function readGiven(word: string, cwd: string): Promise<Buffer> {
  const bundled = /[/\\]|\.plugin$/.test(word) ? [] : await (await import('#plugins/packages/bundled-plugins.ts')).bundledPlugins()
  const found = bundled.find(({ id, key }) => id === word || key === word)
  if (found) return found.bytes
  const file = path.resolve(cwd, word)
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    const names = bundled.map(({ id }) => id)
    const others = names.length > 0 ? `${didYouMean(word, names)} Bundled plugins: ${names.join(', ')}.` : ''
    const problem = error.code === 'ENOENT' ? 'does not exist' : `cannot be read (${error.code})`
    throw new CommandProblem(`${file} ${problem}.${others}`, { cause: error })
  })
  if (bytes.toString('latin1', 0, 2) !== 'PK')
    throw new CommandProblem(
      `${file} is not a ZIP file, and so not a package of a plugin. \`carrel-plugin pack\` makes one: a .plugin file.`,
    )
  return bytes
}

/** What a person confirms when a package has another signer or comes from elsewhere. */
export const ORIGIN_FLAGS = [
  {
    name: 'trust-key',
    value: 'fingerprint',
    about: 'Trusts another key for the plugin: SHA256: and its fingerprint, as its author states it elsewhere.',
  },
  {
    name: 'move-from',
    value: 'place',
    about: 'Moves the plugin to where this package comes from, and names where it belongs now: the address of a repository, or files.',
  },
] as const

export const readOriginFlags = (flag: CommandInput['flag']) => ({ trustKey: flag('trust-key'), moveFrom: flag('move-from') })

/** Who could sign a package before and who may sign the next one; its record says who signed it. */
function describeSignature({ signedBefore, mayFollow, remarks }: Installation['signature']): string[] {
  return [
    ...(signedBefore.length > 0 ? [`could be signed until now with ${signedBefore.join(', ')}`] : []),
    ...(mayFollow.length > 0 ? [`may be followed by a version that is signed with ${mayFollow.join(', ')}`] : []),
    ...remarks,
  ]
}

export const pluginInstall: Command = {
  name: 'plugin install',
  usage: '<file or name>',
  summary: 'installs a .plugin package or a bundled plugin',
  about:
    'Checks a .plugin package (a file, or the name of a bundled plugin, such as open-library), starts it once in its sandbox, and stores it. Then it prints what the package asks for, and its SHA-256. It runs after consent to that: on a terminal the command asks.',
  flags: [...CONSENT_FLAGS, ...ORIGIN_FLAGS],
  async run(input) {
    const { words, flag, cwd } = input
    const bytes = await readGiven(words[0] as string, cwd)
    const { readPackage } = await import('#plugins/packages/plugin-package.ts')
    const { manifest, sha256 } = readPackage(bytes)
    // Before it is stored: it may run without asking.
    checkGiven(flag, sha256)
    return await withPlugins(input, 'make', async (host) => {
      const known = (await host.plugins.list()).find(({ key }) => key === manifest.id)
      const isKept = known !== undefined && (await host.plugins.versions(known.id)).some((version) => version.sha256 === sha256)
      const installed = isKept ? null : await host.pluginLifecycle.install(bytes, { userId: null, ...readOriginFlags(flag) })
      const id = (installed?.plugin ?? (known as InstalledPlugin)).id
      return await consentToInstalled(input, host, { id, sha256, installed })
    })
  },
}

/**
 * Prints a stored package, and lets it run if it needs no consent or a person consents.
 * @param installed null when it was stored before
 * @returns the exit code
 */
export async function consentToInstalled(
  input: CommandInput,
  host: PluginHostServices,
  { id, sha256, installed }: { id: string; sha256: string; installed: Pick<Installation, 'signature' | 'pausedUsers'> | null },
): Promise<number> {
  const { out } = input
  const { plugin, version, review } = await host.plugins.review(id, sha256)
  const more = [...(installed === null ? [] : describeSignature(installed.signature)), ...describePrivateOrigins(plugin)]
  await printReview(out, review, version.manifest, more)
  checkGiven(input.flag, sha256)
  if (review.waitsFor.length === 0 && plugin.runningVersionId === version.id) {
    if (installed === null) out.message(`${plugin.key} ${plugin.version} is already installed, and ${describeRunning(plugin)}.`)
    else {
      await printRunning(input, host, plugin, 'It needs no new permissions, and')
      printPauses(out, installed)
    }
    return 0
  }
  out.message(`It waits for consent, because it ${review.waitsFor.join(', ') || 'does not run now'}.`)
  const after = await consentToShown(input, host, plugin, review)
  if (after !== null) await printConsented(input, host, after)
  return 0
}
