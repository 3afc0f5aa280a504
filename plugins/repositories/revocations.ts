import type { Knex } from 'knex'
import { isReservedId } from '#plugins/packages/similar-ids.ts'
import type { IndexRevocation } from '#plugins/repositories/index-file.ts'
import {
  type InstalledVersion,
  listOwners,
  listRevocable,
  listRevocationsOf,
  listRevocationsOfMany,
  type Revocation,
  type StoredRevocation,
} from '#plugins/repositories/plugin-repository-store.ts'
import { readRange, type VersionRange } from '#plugins/repositories/version-range.ts'

/** A version of a plugin to check. */
interface VersionName {
  /** The plugin's own identifier. */
  key: string
  version: string
  /** Of its package. */
  sha256: string
  /** Where it comes from, if it belongs to no repository yet. */
  repository?: string | null | undefined
}

/** A stored version that is revoked. */
export interface RevokedVersion extends InstalledVersion {
  reason: string
}

/**
 * Why a version is revoked; null when it is not. Check this before a plugin is installed, granted permissions or run.
 * Revocations stay, even when their repository is deleted.
 */
export async function findRevocation(database: Knex, name: VersionName): Promise<Revoked | null> {
  const all = await listRevocationsOf(database, name)
  if (all.length === 0) return null
  const owners = await listOwners(database, [name.key])
  return all.find((one) => isCompetent(one, name, owners) && appliesTo(one, name)) ?? null
}

interface Revoked {
  reason: string
  /** The address of the repository that says so. */
  repository: string
}

/**
 * A repository revokes what belongs to it or to no repository, never the server's own plugins. Otherwise any repository could end the plugins of
 * all others.
 */
function isCompetent(
  { repository }: Pick<StoredRevocation, 'repository'>,
  { key, repository: from }: Pick<VersionName, 'key' | 'repository'>,
  owners: ReadonlyMap<string, string>,
): boolean {
  return !isReservedId(key) && (owners.get(key) ?? from ?? repository) === repository
}

/** As findRevocation, for many versions at once; the result answers only for these. */
export async function loadRevocations(
  database: Knex,
  names: readonly Pick<VersionName, 'key' | 'sha256'>[],
): Promise<(name: VersionName) => Revoked | null> {
  const of = { keys: [...new Set(names.map(({ key }) => key))], packages: names.map(({ sha256 }) => sha256) }
  const all = await listRevocationsOfMany(database, of)
  const owners = await listOwners(database, of.keys)
  const byPackage = Map.groupBy(all, ({ sha256 }) => sha256)
  const byPlugin = Map.groupBy(all, ({ pluginKey }) => pluginKey)
  // Each range is compared with every version of its plugin.
  const ranges = new Map<string, VersionRange | null>()
  const read = (text: string): VersionRange | null => {
    const known = ranges.get(text)
    if (known !== undefined) return known
    const range = readRevoked(text)
    ranges.set(text, range)
    return range
  }
  return (name) =>
    [...(byPackage.get(name.sha256) ?? []), ...(byPlugin.get(name.key) ?? [])].find(
      (one) => isCompetent(one, name, owners) && appliesTo(one, name, read),
    ) ?? null
}

const readRevoked = (text: string): VersionRange | null => readRange(text, { preReleases: true })

function appliesTo({ sha256, pluginKey, versionRange }: Revocation, name: VersionName, read = readRevoked): boolean {
  if (sha256 !== null) return sha256 === name.sha256
  if (pluginKey !== name.key) return false
  if (versionRange === null) return true
  const range = read(versionRange)
  // Ranges come only from an index, which was checked. If this server cannot parse one, it revokes every version rather than none.
  return range === null || range.test(name.version)
}

/** The stored versions that are revoked. */
export async function listRevoked(database: Knex): Promise<RevokedVersion[]> {
  const revoked = new Map<string, RevokedVersion>()
  const all = await listRevocable(database)
  const owners = await listOwners(
    database,
    all.map(({ key }) => key),
  )
  for (const { revocation, ...version } of all) {
    const name = `${version.key} ${version.version}`
    if (!revoked.has(name) && isCompetent(revocation, version, owners) && appliesTo(revocation, version))
      revoked.set(name, { ...version, reason: revocation.reason })
  }
  return [...revoked.values()]
}

/** The database form of a revocation in an index. */
export const revocationOf = (given: IndexRevocation): Revocation =>
  'sha256' in given
    ? { sha256: given.sha256, pluginKey: null, versionRange: null, reason: given.reason }
    : { sha256: null, pluginKey: given.id, versionRange: given.range ?? null, reason: given.reason }
