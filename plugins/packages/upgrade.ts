import compare from 'semver/functions/compare.js'
import { refuse } from '#core/foundation/errors.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'

/** What is here of a plugin, and what is to take its place. */
export interface Upgrade {
  before: { version: string; signedBy: readonly string[]; runningVersionId: string | null }
  versions: readonly { version: string }[]
  manifest: Pick<Manifest, 'id' | 'version'>
  signedBy: readonly string[]
  /** An administrator has said that whoever signed this one is trusted from now on. */
  trustNewKey?: boolean
}

/** @throws conflict for what is no later version of the same plugin by the same people */
export function checkUpgrade({ before, versions, manifest, signedBy, trustNewKey = false }: Upgrade): void {
  const { id, version } = manifest
  if (versions.some((one) => one.version === version)) refuse('conflict', `${id} ${version} is here already.`)
  if (before.runningVersionId !== null && compare(version, before.version) < 0)
    refuse('conflict', `${id} ${version} is older than ${before.version}, which runs.`)
  if (!trustNewKey && before.signedBy.length > 0 && !before.signedBy.some((key) => signedBy.includes(key)))
    refuse('conflict', `${id} ${version} is not signed by whoever signed ${before.version}. Say that you trust the new key if you do.`)
}
