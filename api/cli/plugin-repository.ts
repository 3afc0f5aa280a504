import type { PluginHostServices } from '#api/areas/plugins.ts'
import { type Command, type CommandInput, CommandProblem } from '#api/cli/command.ts'
import { count } from '#api/cli/library-report.ts'
import type { DatabaseUse } from '#api/cli/open-database.ts'
import { consentToInstalled, ORIGIN_FLAGS, readOriginFlags, withPlugins } from '#api/cli/plugin.ts'
import { CONSENT_FLAGS, givenHash } from '#api/cli/plugin-consent.ts'
import type { Terminal } from '#api/cli/terminal.ts'
import { typedOn } from '#api/cli/typed.ts'
import { NAME, VERSION } from '#api/http/version.ts'
import { didYouMean } from '#core/foundation/nearest-name.ts'
import { messageLines, remarksOnLetters, strangerLines } from '#core/foundation/stranger-text.ts'
import type { Installation } from '#plugins/host/plugin-lifecycle.ts'
import type { Repositories, Repository } from '#plugins/repositories/repositories.ts'

interface Opened {
  host: PluginHostServices
  repositories: Repositories<Installation>
}

/** Opens the repositories as well. */
async function withRepositories(input: CommandInput, use: DatabaseUse, work: (opened: Opened) => Promise<number>): Promise<number> {
  const { log, stop } = input
  return await withPlugins(input, use, async (host, { database, egress }) => {
    const [{ downloadThrough }, { Repositories }] = await Promise.all([
      import('#plugins/repositories/download.ts'),
      import('#plugins/repositories/repositories.ts'),
    ])
    const repositories = new Repositories({
      database,
      log,
      download: downloadThrough(egress, { userAgent: `${NAME}/${VERSION}` }),
      serverVersion: VERSION,
      local: egress.local,
      install: (bytes, options) => host.pluginLifecycle.install(bytes, options),
      onRevoked: () => host.pluginLifecycle.applyRevocations(),
    })
    const end = () => void repositories.close()
    stop.addEventListener('abort', end, { once: true })
    try {
      return await work({ host, repositories })
    } finally {
      stop.removeEventListener('abort', end)
      await repositories.close()
    }
  })
}

/** Finds the repository that the first word names by address or id; its name is what somebody else has chosen, and may be the address of another. @throws CommandProblem if there is none */
async function chooseRepository(repositories: Repositories<unknown>, input: Pick<CommandInput, 'settings' | 'words'>): Promise<Repository> {
  const word = input.words[0] as string
  const all = await repositories.list()
  const found = all.find(({ id, url }) => id === word || url === word || url === `${word}/`)
  if (found) return found
  const names = all.map(({ url }) => url)
  throw new CommandProblem(
    `There is no plugin repository "${word}".${didYouMean(word, names)} List all: ${typedOn(input.settings, 'plugin repository list')}`,
  )
}

function printName(out: Terminal, { name }: { name: string }): void {
  for (const line of strangerLines('it names itself', name)) out.line(line)
  for (const remark of remarksOnLetters(name)) out.line(`  Note: the name ${remark}.`)
}

const day = (date: Date | null) => date?.toISOString().slice(0, 10) ?? 'never'

async function addRepository(input: CommandInput, { repositories }: Opened): Promise<number> {
  const { words, flag, out } = input
  const url = words[0] as string
  const publicKey = flag('key')
  if (publicKey !== undefined) {
    const added = await repositories.add({ url, publicKey })
    out.message(`Added ${added.url}: ${count(added.plugins, 'plugin')}.`)
    printName(out, added)
    return 0
  }
  const offer = await repositories.preview(url)
  // The command needs what this one needed.
  const allowed = input.settings.plugins.allowLocal.map((place) => ` --plugin-allow-local ${place}`).join('')
  out.message(`${offer.url}: ${count(offer.plugins, 'plugin')}. Fingerprint of the key that signs it:`)
  out.line(`  ${offer.fingerprint}`)
  printName(out, offer)
  out.line(
    `If its publisher states the same fingerprint elsewhere: ${typedOn(input.settings, `plugin repository add ${offer.url} --key ${offer.publicKey}${allowed}`)}`,
  )
  return 0
}

const addCommand: Command = {
  name: 'plugin repository add',
  usage: '<address>',
  summary: 'adds a plugin repository, after you confirm its key',
  about:
    'Fetches the index of a repository and shows the fingerprint of the key that signs it. Compare the fingerprint with the one that the publisher states elsewhere, and confirm the key with --key: from then on the server accepts only what this key has signed.',
  flags: [{ name: 'key', value: 'text', about: 'The key that you have compared.' }],
  run: (input) => withRepositories(input, 'make', (opened) => addRepository(input, opened)),
}

const listCommand: Command = {
  name: 'plugin repository list',
  usage: '',
  summary: 'lists the plugin repositories',
  about: 'Lists the repositories: address, name, number of plugins, when the index was fetched and when it expires.',
  flags: [],
  run: (input) =>
    withRepositories(input, 'look', async ({ repositories }) => {
      const all = await repositories.list()
      for (const { url, name, plugins, fetchedAt, expiresAt, enabled, error } of all) {
        const state = enabled ? `fetched ${day(fetchedAt)}, expires ${day(expiresAt)}` : 'disabled'
        input.out.message(`${url}  ${count(plugins, 'plugin')}  ${state}`)
        printName(input.out, { name })
        if (error !== null) for (const line of strangerLines('the last attempt failed', error)) input.out.line(line)
      }
      if (all.length === 0)
        input.out.line(`There is no plugin repository yet. Add one: ${typedOn(input.settings, 'plugin repository add ADDRESS')}`)
      return 0
    }),
}

const refreshCommand: Command = {
  name: 'plugin repository refresh',
  usage: '<address>',
  summary: 'fetches the index of a repository',
  about: 'Fetches the index of a repository. If this fails, the last index stays valid until it expires.',
  flags: [],
  run: (input) =>
    withRepositories(input, 'change', async ({ repositories }) => {
      const { id } = await chooseRepository(repositories, input)
      const { url, plugins, error } = await repositories.refresh(id)
      if (error !== null) throw new CommandProblem(messageLines(`Could not refresh it: ${error}`).join('\n'))
      input.out.message(`${url}: ${count(plugins, 'plugin')}.`)
      return 0
    }),
}

const removeCommand: Command = {
  name: 'plugin repository remove',
  usage: '<address>',
  summary: 'removes a plugin repository',
  about: 'Removes a repository. Plugins installed from it stay, and so do its revocations.',
  flags: [],
  run: (input) =>
    withRepositories(input, 'change', async ({ repositories }) => {
      const { id, url } = await chooseRepository(repositories, input)
      await repositories.remove(id)
      input.out.message(`Removed ${url}.`)
      return 0
    }),
}

async function installPlugin(input: CommandInput, { host, repositories }: Opened): Promise<number> {
  const { words, flag, out } = input
  const { id } = await chooseRepository(repositories, input)
  // Before it is stored: it may run without asking.
  const sha256Given = givenHash(flag)
  const request = {
    repositoryId: id,
    pluginId: words[1] as string,
    version: words[2],
    sha256: sha256Given,
    userId: null,
    ...readOriginFlags(flag),
  }
  const installed = await repositories.install(request)
  const { plugin, version, sha256 } = installed
  out.message(`${plugin.key} ${version} is installed.`)
  return await consentToInstalled(input, host, { id: plugin.id, sha256, installed })
}

const installCommand: Command = {
  name: 'plugin repository install',
  usage: '<address> <plugin> [version]',
  summary: 'installs or updates a plugin from a repository',
  about:
    'Fetches a package from a repository, checks it, starts it once in its sandbox, and stores it: the newest version that can be installed, unless you give another. Then it prints what the package asks for, and its SHA-256. It runs after consent to that: on a terminal the command asks.',
  flags: [...CONSENT_FLAGS, ...ORIGIN_FLAGS],
  run: (input) => withRepositories(input, 'change', (opened) => installPlugin(input, opened)),
}

export const pluginRepositoryCommands: readonly Command[] = [addCommand, listCommand, refreshCommand, removeCommand, installCommand]
