import type { PluginHostServices } from '#api/areas/plugins.ts'
import type { Command } from '#api/cli/command.ts'
import { findNamed, readGiven, withPlugins } from '#api/cli/plugin.ts'
import { describePrivateOrigins, printReview, WOULD_ASK } from '#api/cli/plugin-consent.ts'
import { strangerLines } from '#core/foundation/stranger-text.ts'
import type { Review } from '#plugins/host/consent-review.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'

/** Reviews a package that need not be stored, against what its plugin may do now. */
async function reviewFile(
  host: PluginHostServices,
  plugins: readonly InstalledPlugin[],
  bytes: Buffer,
): Promise<{ plugin: InstalledPlugin | undefined; review: Review; manifest: Manifest }> {
  const [{ readPackage }, { consentRecordOf }, { reviewOf }, { checkReservedId }] = await Promise.all([
    import('#plugins/packages/plugin-package.ts'),
    import('#plugins/consent/record.ts'),
    import('#plugins/host/consent-review.ts'),
    import('#plugins/host/plugin-signature.ts'),
  ])
  const read = readPackage(bytes)
  const { manifest, sha256 } = read
  // As its installation does: the review would say that it comes with the server.
  await checkReservedId(manifest.id, sha256)
  const plugin = plugins.find(({ key }) => key === manifest.id)
  const agreed = plugin === undefined ? null : (await host.plugins.review(plugin.id)).review.agreed
  const record = consentRecordOf({ manifest, signedBy: await host.plugins.countedSigners(read), repository: null })
  return { plugin, review: reviewOf({ version: manifest.version, sha256, manifest, record }, agreed, plugin?.config), manifest }
}

export const pluginReview: Command = {
  name: 'plugin review',
  usage: '<file or name>',
  summary: 'shows what a package or a plugin asks for, and stores nothing',
  about: `Prints everything that a package can cause, what differs from what was agreed to, and its SHA-256: of a .plugin package, of the newest version of an installed plugin, or of a bundled plugin. Exits with ${WOULD_ASK} if it would ask for consent, and with 0 if not.`,
  flags: [],
  run: (input) =>
    withPlugins(input, 'look', async (host) => {
      const { out, cwd } = input
      const word = input.words[0] as string
      const plugins = await host.plugins.list()
      const installed = findNamed(plugins, word)
      const stored = installed ? await host.plugins.review(installed.id) : null
      const { plugin, review, manifest } = stored
        ? { ...stored, manifest: stored.version.manifest }
        : await reviewFile(host, plugins, await readGiven(word, cwd))
      await printReview(out, review, manifest, plugin ? describePrivateOrigins(plugin) : [])
      if (stored?.version.revoked) for (const line of strangerLines('it is revoked, because', stored.version.revoked)) out.line(line)
      if (review.waitsFor.length === 0) {
        out.line('It needs no consent.')
        return 0
      }
      out.message(`It waits for consent, because it ${review.waitsFor.join(', ')}.`)
      return WOULD_ASK
    }),
}
