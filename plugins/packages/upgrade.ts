import { isDeepStrictEqual } from 'node:util'
import compare from 'semver/functions/compare.js'
import { refuse } from '#core/foundation/errors.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'

/** Whether a version is later than another, by its number. */
export const isLater = (version: string, than: string): boolean => compare(version, than) > 0

/** Versions that `carrel-plugin dev` makes of a version; the release that they lead to has a lower number. */
const DEVELOPMENT = /[-.]dev\.\d{10,}$/

/** An installed version. */
interface KeptVersion {
  id: string
  version: string
  sha256: string
  signedBy: readonly string[]
  rolledBackAt: Date | null
}

/** The installed versions of a plugin, and the new one. */
export interface Upgrade {
  before: { version: string; runningVersionId: string | null; previousVersionId: string | null }
  versions: readonly KeptVersion[]
  manifest: Pick<Manifest, 'id' | 'version'>
  sha256: string
  signedBy: readonly string[]
}

/**
 * @returns the version with the same number that the new one replaces: one that never ran, by any signer, so that nobody can take the
 * numbers of an author; null when there is none
 * @throws conflict when the version is not newer, except than a development build
 */
export function checkUpgrade({ before, versions, manifest: { id, version }, sha256, signedBy }: Upgrade): KeptVersion | null {
  const same = versions.find((one) => one.version === version) ?? null
  const hasRun = same !== null && (same.rolledBackAt !== null || [before.runningVersionId, before.previousVersionId].includes(same.id))
  const isSame = same?.sha256 === sha256 && isDeepStrictEqual([...same.signedBy].sort(), [...signedBy].sort())
  if (same !== null && (hasRun || isSame))
    refuse(
      'conflict',
      same.sha256 === sha256
        ? `${id} ${version} is here already. To run it: POST /api/v1/admin/plugins/${id}/consent with {"sha256":"${sha256}"}`
        : `${id} ${version} is here already, with other content (SHA-256 ${same.sha256}). Raise the version in manifest.json, and pack it again.`,
    )
  if (before.runningVersionId !== null && compare(version, before.version) < 0 && !DEVELOPMENT.test(before.version)) {
    // Such a build is not stored, and a rollback would replace the release that runs.
    const advice = DEVELOPMENT.test(version)
      ? `It was built from earlier sources. Get the latest ones, and raise "version" in manifest.json to ${before.version} or later.`
      : `To run an older version that is stored: POST /api/v1/admin/plugins/${id}/rollback`
    refuse('conflict', `${id} ${version} is older than ${before.version}, which runs. ${advice}`)
  }
  return same
}
