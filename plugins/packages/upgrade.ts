import compare from 'semver/functions/compare.js'
import { refuse } from '#core/foundation/errors.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'

/** The installed versions of a plugin, and the new one. */
export interface Upgrade {
  before: { version: string; signedBy: readonly string[]; runningVersionId: string | null }
  versions: readonly { version: string }[]
  manifest: Pick<Manifest, 'id' | 'version'>
  signedBy: readonly string[]
  /** Whether an administrator trusts the new signing key. */
  trustNewKey?: boolean
}

/** @throws conflict when the version is not newer, or is signed with another key */
export function checkUpgrade({ before, versions, manifest, signedBy, trustNewKey = false }: Upgrade): void {
  const { id, version } = manifest
  if (versions.some((one) => one.version === version))
    refuse('conflict', `${id} ${version} is here already. To run it, consent to its SHA-256, which the list of stored versions has.`)
  if (before.runningVersionId !== null && compare(version, before.version) < 0)
    refuse('conflict', `${id} ${version} is older than ${before.version}, which runs.`)
  if (!trustNewKey && before.signedBy.length > 0 && !before.signedBy.some((key) => signedBy.includes(key)))
    refuse('conflict', `${id} ${version} is not signed with the key of ${before.version}. If you trust the new key, confirm that.`)
}
