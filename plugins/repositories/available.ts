import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Knex } from 'knex'
import { refuse } from '#core/foundation/errors.ts'
import { type Hindrance, hindranceOf, newestFirst } from '#plugins/repositories/index-entry.ts'
import type { IndexPlugin, IndexVersion } from '#plugins/repositories/index-file.ts'
import { listInstalled, listOffers, type OfferingRepository } from '#plugins/repositories/plugin-repository-store.ts'
import { openRevocations } from '#plugins/repositories/revocations.ts'

export interface AvailableVersion extends IndexVersion {
  /** Why it cannot be installed; null when it can. */
  hindrance: Hindrance | null
}

export interface AvailablePlugin extends Omit<IndexPlugin, 'versions'> {
  repository: { id: string; name: string }
  /** The version that would be installed; null when none can. */
  version: string | null
  /** The one that is here; null when none is. */
  installedVersion: string | null
  /** Those that can be installed first, the newest before the others. */
  versions: AvailableVersion[]
}

interface Here {
  serverVersion: string
  now: Date
}

/** An index that has expired may be an old one that somebody goes on showing. */
const isExpired = ({ expiresAt }: { expiresAt: Date | null }, now: Date) => expiresAt === null || expiresAt.getTime() <= now.getTime()

/** Of plugins on offer: those that hold a word, from one on. */
export interface AvailableQuery {
  /** A word of the name, summary or identifier, whatever its case. */
  search?: string
  offset?: number
  /** As many at most; {@link AVAILABLE_MAX} unless given. */
  limit?: number
}
/** An index may list thousands, and judging the versions of so many takes a moment. */
export const AVAILABLE_MAX = 100

/** What enabled repositories whose indexes hold offer, by the names of the plugins. */
export async function listAvailable(
  database: Knex,
  here: Here,
  { search = '', offset = 0, limit = AVAILABLE_MAX }: AvailableQuery = {},
): Promise<{ plugins: AvailablePlugin[]; total: number }> {
  const { offers, total } = await listOffers<IndexPlugin>(database, {
    now: here.now,
    word: search,
    offset,
    limit: Math.min(limit, AVAILABLE_MAX),
  })
  const installed = new Map((await listInstalled(database)).map(({ key, version }) => [key, version]))
  const revocationOf = await openRevocations(
    database,
    offers.flatMap(({ plugin }) => namesOf(plugin)),
  )
  const plugins: AvailablePlugin[] = []
  for (const { repository, plugin: given } of offers) {
    const { versions: listed, ...plugin } = given
    const versions = newestFirst(listed).map((version) => ({ ...version, hindrance: judge(plugin.id, version, here, revocationOf) }))
    const fit = versions.filter(({ hindrance }) => hindrance === null)
    plugins.push({
      ...plugin,
      repository,
      version: preferred(fit)?.version ?? null,
      installedVersion: installed.get(plugin.id) ?? null,
      versions: [...fit, ...versions.filter(({ hindrance }) => hindrance !== null)],
    })
    // A plugin may have a hundred versions, each of which is compared with all that was revoked of it.
    await nextTurn()
  }
  return { plugins, total }
}

const namesOf = ({ id, versions }: IndexPlugin) => versions.map(({ sha256 }) => ({ key: id, sha256 }))

type RevocationOf = Awaited<ReturnType<typeof openRevocations>>

function judge(key: string, version: IndexVersion, { serverVersion }: Here, revocationOf: RevocationOf): Hindrance | null {
  const revoked = revocationOf({ key, version: version.version, sha256: version.sha256 })?.reason ?? null
  return hindranceOf(version, { serverVersion, revoked })
}

/** Who does not name a version wants one that is finished, if there is any. @param versions the newest first */
const preferred = <Version extends IndexVersion>(versions: readonly Version[]): Version | undefined =>
  versions.find(({ version }) => !version.includes('-')) ?? versions[0]

/**
 * The version that is to be installed: the given one, or the newest that can be.
 * @throws not_found, conflict with why it cannot be installed
 */
export async function chooseVersion(
  database: Knex,
  repository: OfferingRepository<IndexPlugin>,
  { pluginId, version: wanted, serverVersion, now }: Here & { pluginId: string; version?: string | undefined },
): Promise<IndexVersion> {
  const { url, enabled, plugin } = repository
  if (!enabled) refuse('conflict', `The plugin repository ${url} is disabled; enable it first.`)
  if (isExpired(repository, now)) refuse('conflict', `The index of ${url} has expired; refresh it first.`)
  if (plugin === null) return refuse('not_found', `${url} has no plugin ${pluginId}.`)
  const revocationOf = await openRevocations(database, namesOf(plugin))
  const judged = newestFirst(plugin.versions).map((version) => ({
    version,
    hindrance: judge(pluginId, version, { serverVersion, now }, revocationOf),
  }))
  if (wanted === undefined) {
    const fit = judged.filter(({ hindrance }) => hindrance === null).map(({ version }) => version)
    const best = preferred(fit)
    if (best !== undefined) return best
    return refuse('conflict', `No version of ${pluginId} can be installed here. The newest: ${judged[0]?.hindrance?.message}`)
  }
  const found = judged.find(({ version }) => version.version === wanted)
  if (found === undefined) return refuse('not_found', `${url} has no version ${wanted} of ${pluginId}.`)
  if (found.hindrance !== null) refuse('conflict', `${pluginId} ${wanted} cannot be installed. ${found.hindrance.message}`)
  return found.version
}
