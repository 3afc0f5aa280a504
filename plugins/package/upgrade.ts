import { refuse } from '#core/errors.ts'
import type { Manifest } from '#plugins/manifest.ts'

/** What is here of a plugin, and what is to take its place. */
export interface Upgrade {
  before: { version: string; signedBy: readonly string[]; runningVersionId: string | null }
  versions: readonly { version: string }[]
  manifest: Pick<Manifest, 'id' | 'version'>
  signedBy: readonly string[]
}

/** @throws conflict for what is no later version of the same plugin by the same people */
export function checkUpgrade({ before, versions, manifest, signedBy }: Upgrade): void {
  const { id, version } = manifest
  if (versions.some((one) => one.version === version)) refuse('conflict', `${id} ${version} is here already.`)
  if (before.runningVersionId !== null && compareVersions(version, before.version) < 0)
    refuse('conflict', `${id} ${version} is older than ${before.version}, which runs.`)
  if (before.signedBy.length > 0 && !before.signedBy.some((key) => signedBy.includes(key)))
    refuse('conflict', `${id} ${version} is not signed by whoever signed ${before.version}. Uninstall it first if you trust the new one.`)
}

/** By semantic versioning: a pre-release comes before its release. */
export function compareVersions(a: string, b: string): number {
  const partsOf = (text: string) => {
    const [numbers = '', ...pre] = text.split('-')
    return { numbers: numbers.split('.').map(Number), pre: pre.join('-') }
  }
  const [x, y] = [partsOf(a), partsOf(b)]
  for (let index = 0; index < 3; index++) {
    const difference = (x.numbers[index] ?? 0) - (y.numbers[index] ?? 0)
    if (difference !== 0) return difference
  }
  if (x.pre === y.pre) return 0
  if (x.pre === '') return 1
  if (y.pre === '') return -1
  return x.pre.localeCompare(y.pre, 'en', { numeric: true })
}
