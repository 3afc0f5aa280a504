import { isDeepStrictEqual } from 'node:util'
import compare from 'semver/functions/compare.js'
import { refuse } from '#core/foundation/errors.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'

/** Whether a version is later than another, by its number. */
export const isLater = (version: string, than: string): boolean => compare(version, than) > 0

/** An installed version. */
interface KeptVersion {
  id: string
  version: string
  signedBy: readonly string[]
  rolledBackAt: Date | null
}

/** The installed versions of a plugin, and the new one. */
export interface Upgrade {
  before: { version: string; runningVersionId: string | null; previousVersionId: string | null }
  versions: readonly KeptVersion[]
  manifest: Pick<Manifest, 'id' | 'version'>
  signedBy: readonly string[]
}

/**
 * @returns the version with the same number that the new one replaces: one that others have signed and that never ran, so that nobody can take the
 * numbers of an author; null when there is none
 * @throws conflict when the version is not newer
 */
export function checkUpgrade({ before, versions, manifest: { id, version }, signedBy }: Upgrade): KeptVersion | null {
  const same = versions.find((one) => one.version === version) ?? null
  const hasRun = same !== null && (same.rolledBackAt !== null || [before.runningVersionId, before.previousVersionId].includes(same.id))
  if (same !== null && (hasRun || isDeepStrictEqual([...same.signedBy].sort(), [...signedBy].sort())))
    refuse('conflict', `${id} ${version} is here already. To run it, consent to its SHA-256, which the list of stored versions has.`)
  if (before.runningVersionId !== null && compare(version, before.version) < 0)
    refuse('conflict', `${id} ${version} is older than ${before.version}, which runs.`)
  return same
}
