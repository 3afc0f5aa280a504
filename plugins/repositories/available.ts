import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Knex } from 'knex'
import { refuse } from '#core/foundation/errors.ts'
import { type Hindrance, hindranceOf, newestFirst, shownOf } from '#plugins/repositories/index-entry.ts'
import type { IndexPlugin, IndexVersion } from '#plugins/repositories/index-file.ts'
import { listInstalled, listOffers, type OfferingRepository } from '#plugins/repositories/plugin-repository-store.ts'
import { loadRevocations } from '#plugins/repositories/revocations.ts'

interface AvailableVersion extends IndexVersion {
  /** Why it cannot be installed; null when it can. */
  hindrance: Hindrance | null
}

export interface AvailablePlugin extends Omit<IndexPlugin, 'versions'> {
  repository: { id: string; name: string }
  /** The version that would be installed; null when none can. */
  version: string | null
  /** The installed one; null when there is none. */
  installedVersion: string | null
  /** Those that can be installed first, then the others; the newest first. */
  versions: AvailableVersion[]
}

interface Here {
  serverVersion: string
  now: Date
}

/** An expired index may be an old one that an attacker replays. */
const isExpired = ({ expiresAt }: { expiresAt: Date | null }, now: Date) => expiresAt === null || expiresAt.getTime() <= now.getTime()

/** A search for available plugins, from an offset. */
export interface AvailableQuery {
  /** A word in the name, summary or identifier, ignoring case. */
  search?: string
  offset?: number
  /** Default {@link AVAILABLE_MAX}. */
  limit?: number
}
/** An index may list thousands of plugins, and checking their versions takes time. */
export const AVAILABLE_MAX = 100

/** The plugins of enabled repositories with a valid index, by name. */
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
  const revocationOf = await loadRevocations(
    database,
    offers.flatMap(({ plugin }) => namesOf(plugin)),
  )
  const plugins: AvailablePlugin[] = []
  for (const {
    repository: { url: offeredBy, ...repository },
    plugin: given,
  } of offers) {
    const { versions: listed, ...plugin } = given
    const versions = newestFirst(listed).map((version) => ({
      ...version,
      hindrance: judge(plugin.id, version, { ...here, url: offeredBy }, revocationOf),
    }))
    const fit = versions.filter(({ hindrance }) => hindrance === null)
    const best = preferred(fit)
    plugins.push({
      // What would be installed, which need not be the newest.
      ...(best === undefined ? plugin : shownOf(plugin, best)),
      repository,
      version: best?.version ?? null,
      installedVersion: installed.get(plugin.id) ?? null,
      versions: [...fit, ...versions.filter(({ hindrance }) => hindrance !== null)],
    })
    // A plugin may have a hundred versions, each of which is compared with all its revocations.
    await nextTurn()
  }
  return { plugins, total }
}

const namesOf = ({ id, versions }: IndexPlugin) => versions.map(({ sha256 }) => ({ key: id, sha256 }))

type RevocationOf = Awaited<ReturnType<typeof loadRevocations>>

function judge(
  key: string,
  version: IndexVersion,
  { serverVersion, url }: Here & { url: string },
  revocationOf: RevocationOf,
): Hindrance | null {
  const revoked = revocationOf({ key, version: version.version, sha256: version.sha256, repository: url })
  return hindranceOf(version, { serverVersion, revoked: revoked?.reason ?? null })
}

/** Without a given version, prefers a release to a pre-release. @param versions the newest first */
const preferred = <Version extends IndexVersion>(versions: readonly Version[]): Version | undefined =>
  versions.find(({ version }) => !version.includes('-')) ?? versions[0]

/**
 * The version to install: the given one, or the newest that can be installed.
 * @throws not_found, conflict with the reason why it cannot be installed
 */
export async function chooseVersion(
  database: Knex,
  repository: OfferingRepository<IndexPlugin>,
  { pluginId, version: wanted, serverVersion, now }: Here & { pluginId: string; version?: string | undefined },
): Promise<{ plugin: IndexPlugin; chosen: IndexVersion }> {
  const { url, enabled, plugin } = repository
  if (!enabled) refuse('conflict', `The plugin repository ${url} is disabled; enable it first.`)
  if (isExpired(repository, now)) refuse('conflict', `The index of ${url} has expired; refresh it first.`)
  if (plugin === null) return refuse('not_found', `${url} has no plugin ${pluginId}.`)
  const revocationOf = await loadRevocations(database, namesOf(plugin))
  const judged = newestFirst(plugin.versions).map((version) => ({
    version,
    hindrance: judge(pluginId, version, { serverVersion, now, url }, revocationOf),
  }))
  if (wanted === undefined) {
    const fit = judged.filter(({ hindrance }) => hindrance === null).map(({ version }) => version)
    const best = preferred(fit)
    if (best !== undefined) return { plugin, chosen: best }
    return refuse('conflict', `No version of ${pluginId} can be installed here. The newest: ${judged[0]?.hindrance?.message}`)
  }
  const found = judged.find(({ version }) => version.version === wanted)
  if (found === undefined) return refuse('not_found', `${url} has no version ${wanted} of ${pluginId}.`)
  if (found.hindrance !== null) refuse('conflict', `${pluginId} ${wanted} cannot be installed. ${found.hindrance.message}`)
  return { plugin, chosen: found.version }
}
