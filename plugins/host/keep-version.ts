import type { Knex } from 'knex'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { identify } from '#plugins/host/plugin-signature.ts'
import { addVersion, deleteUnusedVersion, findPlugin, listVersions, lockPlugin } from '#plugins/host/plugin-store.ts'
import type { PackageOrigin } from '#plugins/packages/identity.ts'
import type { PluginPackage } from '#plugins/packages/plugin-package.ts'
import { checkUpgrade } from '#plugins/packages/upgrade.ts'

/** Stores a version, and who may sign the next one. */
export function keepVersion(
  database: Knex,
  read: PluginPackage,
  userId: string | null,
  origin: PackageOrigin,
): Promise<{ pluginId: string; versionId: string; before: InstalledPlugin | null; identified: Awaited<ReturnType<typeof identify>> }> {
  return database.transaction(async (trx) => {
    const known = await lockPlugin(trx, read.manifest.id)
    const before = known ? await findPlugin(trx, known.id) : null
    const replaced = known && before ? checkUpgrade({ before, versions: await listVersions(trx, before.id), ...read }) : null
    const identified = await identify(trx, read, origin)
    if (replaced !== null) await deleteUnusedVersion(trx, replaced.id)
    const ids = await addVersion(trx, read, { signedBy: identified.signedBy, repository: origin.repository, userId })
    return { ...ids, before, identified }
  })
}
