import compare from 'semver/functions/compare.js'
import { refuse } from '#core/foundation/errors.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'

/** The installed versions of a plugin, and the new one. */
export interface Upgrade {
  before: { version: string; runningVersionId: string | null }
  versions: readonly { version: string }[]
  manifest: Pick<Manifest, 'id' | 'version'>
}

/** @throws conflict when the version is not newer */
export function checkUpgrade({ before, versions, manifest: { id, version } }: Upgrade): void {
  if (versions.some((one) => one.version === version))
    refuse('conflict', `${id} ${version} is here already. To run it, consent to its SHA-256, which the list of stored versions has.`)
  if (before.runningVersionId !== null && compare(version, before.version) < 0)
    refuse('conflict', `${id} ${version} is older than ${before.version}, which runs.`)
}
