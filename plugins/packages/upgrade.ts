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
  if (versions.some((one) => one.version === version)) refuse('conflict', `${id} ${version} is here already.`)
  if (before.runningVersionId !== null && compareVersions(version, before.version) < 0)
    refuse('conflict', `${id} ${version} is older than ${before.version}, which runs.`)
  if (!trustNewKey && before.signedBy.length > 0 && !before.signedBy.some((key) => signedBy.includes(key)))
    refuse('conflict', `${id} ${version} is not signed with the key of ${before.version}. If you trust the new key, confirm that.`)
}

/** By semantic versioning 2.0: a pre-release comes before its release, and its parts in order, numbers before words. */
export function compareVersions(a: string, b: string): number {
  const [x, y] = [partsOf(a), partsOf(b)]
  for (let index = 0; index < 3; index++) {
    const difference = (x.numbers[index] ?? 0) - (y.numbers[index] ?? 0)
    if (difference !== 0) return difference
  }
  if (x.pre === null || y.pre === null) return x.pre === y.pre ? 0 : x.pre === null ? 1 : -1
  for (let index = 0; index < Math.max(x.pre.length, y.pre.length); index++) {
    const [one, other] = [x.pre[index], y.pre[index]]
    if (one === undefined || other === undefined) return one === undefined ? -1 : 1
    if (one === other) continue
    const [isNumber, otherIsNumber] = [/^\d+$/.test(one), /^\d+$/.test(other)]
    if (isNumber && otherIsNumber) return Number(one) - Number(other)
    if (isNumber !== otherIsNumber) return isNumber ? -1 : 1
    return one < other ? -1 : 1
  }
  return 0
}

function partsOf(version: string): { numbers: number[]; pre: string[] | null } {
  const dash = version.indexOf('-')
  const numbers = (dash === -1 ? version : version.slice(0, dash)).split('.').map(Number)
  return { numbers, pre: dash === -1 ? null : version.slice(dash + 1).split('.') }
}
