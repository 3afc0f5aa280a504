import { type Command, CommandProblem } from '#api/cli/command.ts'
import { choosePlugin, withPlugins } from '#api/cli/plugin.ts'
import {
  CONSENT_FLAGS,
  consentToShown,
  describePrivateOrigins,
  printConsented,
  printPauses,
  printReview,
  WOULD_ASK,
} from '#api/cli/plugin-consent.ts'
import { pluginList } from '#api/cli/plugin-list.ts'
import { typedOn } from '#api/cli/typed.ts'
import { didYouMean } from '#core/foundation/nearest-name.ts'
import { escapedText } from '#core/foundation/stranger-text.ts'
import type { VersionRow } from '#plugins/host/plugin-store.ts'
import { isLater } from '#plugins/packages/upgrade.ts'

const switching = (verb: 'enable' | 'disable'): Command => ({
  name: `plugin ${verb}`,
  usage: '<name>',
  summary: verb === 'enable' ? 'enables a plugin' : 'disables a plugin; its data stays',
  about:
    verb === 'enable'
      ? 'Enables a disabled plugin. A quarantined plugin must be reset first.'
      : 'Disables a plugin. Its data stays until it is enabled again.',
  flags: [],
  run: (input) =>
    withPlugins(input, 'change', async (host) => {
      const { id, key, granted } = await choosePlugin(host, input)
      if (verb === 'enable' && granted === null)
        throw new CommandProblem(
          `${key} waits for consent. To see what it asks for, and to consent: ${typedOn(input.settings, `plugin consent ${key}`)}`,
        )
      const plugin = await host.pluginLifecycle.setEnabled(id, verb === 'enable')
      input.out.line(`${plugin.key} is ${plugin.state}.`)
      return 0
    }),
})

/** @throws CommandProblem if there is no such version */
function chooseVersion(versions: readonly VersionRow[], word: string): VersionRow {
  const found = versions.find(({ version, sha256 }) => version === word || sha256 === word)
  if (found) return found
  const names = versions.map(({ version }) => version)
  throw new CommandProblem(`There is no version "${escapedText(word)}".${didYouMean(word, names)} The versions are ${names.join(', ')}.`)
}

const consent: Command = {
  name: 'plugin consent',
  usage: '<name> [version]',
  summary: 'shows what a plugin asks for, asks you, and runs it',
  about: `Prints what a version asks for, what differs from what was agreed to, and its SHA-256. On a terminal it asks then. Otherwise it consents only with one of the flags, and exits with ${WOULD_ASK} without them. Without a version: the newest one.`,
  flags: CONSENT_FLAGS,
  run: (input) =>
    withPlugins(input, 'change', async (host) => {
      const { id } = await choosePlugin(host, input)
      const word = input.words[1]
      const sha256 = word === undefined ? undefined : chooseVersion(await host.plugins.versions(id), word).sha256
      const { plugin, version, review } = await host.plugins.review(id, sha256)
      const isAgreed = review.waitsFor.length === 0 && review.agreed?.consentedAt && plugin.runningVersionId === version.id
      if (isAgreed) throw new CommandProblem(`No version of ${plugin.key} waits for consent; ${plugin.version} is ${plugin.state}.`)
      await printReview(input.out, review, version.manifest, describePrivateOrigins(plugin))
      const after = await consentToShown(input, host, plugin, review)
      if (after === null) return WOULD_ASK
      await printConsented(input, host, after)
      return 0
    }),
}

const rollback: Command = {
  name: 'plugin rollback',
  usage: '<name> [version]',
  summary: 'runs the previous version of a plugin',
  about: 'Runs the previous version of a plugin, or another stored one, with its own data.',
  flags: [],
  run: (input) =>
    withPlugins(input, 'change', async (host) => {
      const plugin = await choosePlugin(host, input)
      const word = input.words[1]
      const chosen = word === undefined ? undefined : chooseVersion(await host.plugins.versions(plugin.id), word)
      if (chosen !== undefined && plugin.runningVersionId !== null && isLater(chosen.version, plugin.version))
        throw new CommandProblem(
          `${plugin.key} ${chosen.version} is newer than ${plugin.version}, which runs. To run it: ${typedOn(input.settings, `plugin consent ${plugin.key} ${chosen.version}`)}`,
        )
      const after = await host.pluginLifecycle.rollBack(plugin.id, chosen && { sha256: chosen.sha256 })
      input.out.message(`${after.key} ${after.version} is ${after.state}.`)
      printPauses(input.out, after)
      return 0
    }),
}

const reset: Command = {
  name: 'plugin reset',
  usage: '<name>',
  summary: 'deletes the failures of a plugin, and lifts its quarantine',
  about: 'Deletes the failures of a plugin. Its calls no longer pause; one in quarantine is disabled then, and can be enabled.',
  flags: [],
  run: (input) =>
    withPlugins(input, 'change', async (host) => {
      const { id } = await choosePlugin(host, input)
      const { key, state } = await host.pluginLifecycle.reset(id)
      input.out.line(`Deleted the failures of ${key}; it is ${state}.`)
      if (state === 'disabled') input.out.line(`To enable it: ${typedOn(input.settings, `plugin enable ${key}`)}`)
      return 0
    }),
}

const uninstall: Command = {
  name: 'plugin uninstall',
  usage: '<name>',
  summary: 'uninstalls a plugin, with its data',
  about: 'Uninstalls a plugin, with its versions, configuration, credentials and storage. To stop it only, disable it.',
  flags: [],
  run: (input) =>
    withPlugins(input, 'change', async (host) => {
      const { id, key } = await choosePlugin(host, input)
      await host.pluginLifecycle.uninstall(id)
      input.out.line(`Uninstalled ${key}.`)
      return 0
    }),
}

export const pluginStateCommands: readonly Command[] = [
  pluginList,
  consent,
  switching('enable'),
  switching('disable'),
  reset,
  rollback,
  uninstall,
]
