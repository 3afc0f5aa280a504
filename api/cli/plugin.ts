import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { type Command, type CommandInput, CommandProblem } from '#api/cli/command.ts'
import { printable } from '#api/cli/library-report.ts'
import { type DatabaseUse, withDatabase } from '#api/cli/open-database.ts'
import { quoted, typed } from '#api/cli/typed.ts'
import { credentialKeys } from '#core/database/data-folder.ts'
import { CarrelError } from '#core/foundation/errors.ts'
import { didYouMean } from '#core/foundation/nearest-name.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import type { PluginHost } from '#plugins/host/plugin-host.ts'
import type { Permissions } from '#plugins/packages/permissions.ts'

/** Opens what the commands need; a running server sees every change with its next call of the plugin. */
export async function withPlugins(input: CommandInput, use: DatabaseUse, work: (host: PluginHost) => Promise<number>): Promise<number> {
  const { settings, log, stop } = input
  return await withDatabase({ settings, log, stop }, use, async (opened) => {
    const [{ openPluginHost }, { openSupervisor }, { openEgress }] = await Promise.all([
      import('#api/compose-plugin-host.ts'),
      import('#plugins/runtime/supervisor.ts'),
      import('#plugins/network/egress.ts'),
    ])
    const supervisor = openSupervisor({ log, spare: false })
    const host = openPluginHost({
      database: opened.database,
      supervisor,
      egress: openEgress(undefined, new Set(settings.plugins.allowLocal)),
      log,
      secrets: await credentialKeys(settings),
    })
    try {
      return await work(host)
    } catch (error) {
      // What is refused is told as it is over HTTP.
      if (error instanceof CarrelError) throw new CommandProblem(error.message, { cause: error })
      throw error
    } finally {
      host.close()
      supervisor.close()
    }
  })
}

/** The plugin that a person means by its name, the short one of those that come with the server, or its id. @throws CommandProblem when there is none */
export async function choosePlugin(host: PluginHost, word: string): Promise<InstalledPlugin> {
  const plugins = await host.list()
  const called = (fits: (plugin: InstalledPlugin) => boolean) => plugins.filter(fits)
  const found = called(({ key, id }) => key === word || id === word)
  const short = found.length > 0 ? found : called(({ key }) => key === `carrel.${word}`)
  const last = short.length > 0 ? short : called(({ key }) => key.endsWith(`.${word}`))
  if (last.length === 1) return last[0]!
  const names = plugins.map(({ key }) => key)
  if (last.length > 1) throw new CommandProblem(`More than one plugin is called "${word}": ${last.map(({ key }) => key).join(', ')}.`)
  const near =
    didYouMean(word, names) ||
    didYouMean(
      word,
      names.map((name) => name.slice(name.lastIndexOf('.') + 1)),
    )
  throw new CommandProblem(`There is no plugin "${printable(word)}".${near} All plugins: ${typed('plugin list')}`)
}

function describeDestination({ host, hostFromConfig, into }: NonNullable<Permissions['auth']>): string {
  const place = into === undefined ? '' : `, in its requests as ${into}`
  if (host !== null) return `, for ${host} alone${place}`
  return hostFromConfig === undefined ? '' : `, for the host alone that an administrator enters as ${hostFromConfig}${place}`
}

/** What a plugin asks for, a line each, in words for whoever has to agree. */
export function describePermissions(asked: Permissions): string[] {
  return [
    ...asked.network.map(({ host, methods, reason }) => `talks to ${host} (${methods.join(', ')}): ${reason}`),
    ...asked.networkFromConfig.map((key) => `talks to the host that an administrator enters as ${key}`),
    ...(asked.library.length > 0 ? [`reads of each reader's library: ${asked.library.join(', ')}`] : []),
    ...(asked.auth ? [`uses credentials of the ${asked.auth.scope}${describeDestination(asked.auth)}`] : []),
    ...(asked.auth?.loginHost ? [`sends readers to ${asked.auth.loginHost} to sign in, and redeems that at ${asked.auth.tokenHost}`] : []),
    ...(asked.storageKB > 0 ? [`keeps up to ${asked.storageKB} KB`] : []),
    `${asked.heapMB} MB of memory, ${asked.cpuMs} ms of computing and ${asked.wallMs / 1000} s a call`,
  ]
}

/** The package that is named: a file, or one that comes with the server. */
async function readGiven(word: string, cwd: string): Promise<Buffer> {
  const bundled = /[/\\]|\.plugin$/.test(word) ? [] : await (await import('#plugins/packages/bundled-plugins.ts')).bundledPlugins()
  const found = bundled.find(({ id, key }) => id === word || key === word)
  if (found) return found.bytes
  const file = path.resolve(cwd, word)
  return await readFile(file).catch((error: NodeJS.ErrnoException) => {
    const names = bundled.map(({ id }) => id)
    const others = names.length > 0 ? `${didYouMean(word, names)} With the server come: ${names.join(', ')}.` : ''
    throw new CommandProblem(`${file} cannot be read (${error.code}).${others}`, { cause: error })
  })
}

export const pluginInstall: Command = {
  name: 'plugin install',
  usage: '<file or name>',
  summary: 'installs a .plugin package or a bundled plugin',
  about:
    'Checks a .plugin package (a file, or the name of a bundled plugin, such as open-library), starts it once in its sandbox, and stores it. It runs after consent to what it asks for: with --yes at once, otherwise by plugin consent or over HTTP.',
  flags: [{ name: 'yes', isSwitch: true, repeatable: false, about: 'Consents to what the package asks for.' }],
  wordsMin: 1,
  wordsMax: 1,
  async run(input) {
    const { words, flag, cwd, out } = input
    const bytes = await readGiven(words[0] as string, cwd)
    const [{ readPackage }, { permissionsOf }] = await Promise.all([
      import('#plugins/packages/plugin-package.ts'),
      import('#plugins/packages/permissions.ts'),
    ])
    const { manifest, sha256, signedBy } = readPackage(bytes)
    return await withPlugins(input, 'make', async (host) => {
      const known = (await host.list()).find(({ key }) => key === manifest.id)
      const kept = known && (await host.versions(known.id)).find((version) => version.sha256 === sha256)
      const waits = { plugin: known as InstalledPlugin, waitsFor: known?.runningVersionId === kept?.id ? [] : ['was not agreed to yet'] }
      const { plugin, waitsFor } = kept ? waits : await host.install(bytes, { userId: null })
      out.line(`${printable(manifest.name)} ${manifest.version} (${manifest.id}), ${signedBy.length > 0 ? 'signed' : 'not signed'}. It`)
      for (const line of describePermissions(permissionsOf(manifest))) out.line(`  ${printable(line)}`)
      if (waitsFor.length === 0) {
        out.line('It asks for no more than was agreed to, and runs.')
        return 0
      }
      if (flag('yes') !== 'true') {
        out.line(
          `It waits for consent: it ${waitsFor.join(', ')}. Agree with: ${typed(`plugin install ${quoted(words[0] as string)} --yes`)}`,
        )
        return 0
      }
      await host.consent(plugin.id, { sha256 })
      out.line('You have agreed; it runs.')
      return 0
    })
  },
}
