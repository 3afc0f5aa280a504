import type { Knex } from 'knex'

/** A plugin repository. */
export interface RepositoryRow {
  id: string
  url: string
  name: string
  /** Ed25519, base64; pinned when the repository was added. */
  publicKey: string
  enabled: boolean
  /** Of the newest index seen. */
  sequence: number
  expiresAt: Date | null
  /** Number of plugins in its index. */
  plugins: number
  /** When the index was downloaded. */
  fetchedAt: Date | null
  /** Why the last refresh failed; null when it succeeded. */
  error: string | null
  createdAt: Date
}

/** A `bigint`, which the driver would return as text; valid indexes have only safe integers. */
const SEQUENCE = 'sequence::float8 AS sequence'
const COLUMNS = `id, url, name, public_key AS "publicKey", enabled, ${SEQUENCE}, expires_at AS "expiresAt", fetched_at AS "fetchedAt", error,
  created_at AS "createdAt", coalesce(jsonb_array_length(index->'plugins'), 0) AS plugins`

/** In order of creation. */
export async function listRepositories(database: Knex): Promise<RepositoryRow[]> {
  const { rows } = await database.raw(`SELECT ${COLUMNS} FROM plugin_repositories ORDER BY created_at, id`)
  return rows
}

export async function findRepository(database: Knex, id: string): Promise<RepositoryRow | null> {
  const { rows } = await database.raw(`SELECT ${COLUMNS} FROM plugin_repositories WHERE id = ?`, [id])
  return rows[0] ?? null
}

/** With one plugin of its index, which plugins/ parses; null when the index does not list it. */
export type OfferingRepository<Plugin> = RepositoryRow & { plugin: Plugin | null }

/** Lets the database search the index, which may have megabytes. @param pluginKey the plugin's own identifier */
export async function findOffering<Plugin>(database: Knex, id: string, pluginKey: string): Promise<OfferingRepository<Plugin> | null> {
  const { rows } = await database.raw(
    `SELECT ${COLUMNS}, (SELECT one FROM jsonb_array_elements(index->'plugins') one WHERE one->>'id' = :pluginKey LIMIT 1) AS plugin
     FROM plugin_repositories WHERE id = :id`,
    { id, pluginKey },
  )
  return rows[0] ?? null
}

/** A plugin of an index, with its repository. */
interface Offer<Plugin> {
  repository: { id: string; name: string; url: string }
  plugin: Plugin
}

/**
 * Plugins of enabled repositories with unexpired indexes, by name: a page of those that contain a word, ignoring case, and the total.
 * The database searches the indexes, so that only the page is loaded from all their megabytes.
 */
export async function listOffers<Plugin>(
  database: Knex,
  { now, word, offset, limit }: { now: Date; word: string; offset: number; limit: number },
): Promise<{ offers: Offer<Plugin>[]; total: number }> {
  const from = `FROM plugin_repositories r CROSS JOIN LATERAL jsonb_array_elements(r.index->'plugins') WITH ORDINALITY AS e (one, place)
    WHERE r.enabled AND r.expires_at > :now
      AND position(lower(:word COLLATE "und-x-icu") IN lower(concat_ws(E'\n', one->>'id', one->>'name', one->>'summary') COLLATE "und-x-icu")) > 0`
  const { rows } = await database.raw(
    `SELECT json_build_object('id', r.id, 'name', r.name, 'url', r.url) AS repository, one AS plugin ${from}
     ORDER BY one->>'name' COLLATE "C", r.created_at, r.id, place LIMIT :limit OFFSET :offset`,
    { now, word, offset, limit },
  )
  const counted = await database.raw(`SELECT count(*)::int AS total ${from}`, { now, word })
  return { offers: rows, total: counted.rows[0].total }
}

/**
 * Locks the row, so that concurrent refreshes on several servers wait for each other; null when it is gone.
 * @param text of a new index: `isSame` says whether it equals the stored one, or none is stored. The database compares them, because parsing
 *   either would take the server a tenth of a second.
 */
export async function lockIndexed(trx: Knex, id: string, text: string): Promise<(RepositoryRow & { isSame: boolean }) | null> {
  const { rows } = await trx.raw(
    `SELECT ${COLUMNS}, index IS NULL OR index = CAST(? AS jsonb) AS "isSame" FROM plugin_repositories WHERE id = ? FOR UPDATE`,
    [text, id],
  )
  return rows[0] ?? null
}

/** An arbitrary constant: adding a repository takes this lock. */
const ADDING_LOCK = 7_201_884_317

/** Returns its id; null when the URL exists already, or the limit is reached. */
export async function addRepository(
  trx: Knex,
  repository: { url: string; name: string; publicKey: string; repositoriesMax: number },
): Promise<string | null> {
  await trx.raw('SELECT pg_advisory_xact_lock(?)', [ADDING_LOCK])
  const { rows } = await trx.raw(
    `INSERT INTO plugin_repositories (url, name, public_key) SELECT :url, :name, :publicKey
     WHERE (SELECT count(*) FROM plugin_repositories) < :repositoriesMax ON CONFLICT (url) DO NOTHING RETURNING id`,
    { ...repository },
  )
  return rows[0]?.id ?? null
}

/** Stores an index after a successful refresh. */
export async function recordIndex(
  trx: Knex,
  id: string,
  index: { name: string; sequence: number; expiresAt: Date; text: string },
): Promise<void> {
  await trx('plugin_repositories').where({ id }).update({
    name: index.name,
    sequence: index.sequence,
    expires_at: index.expiresAt,
    index: index.text,
    fetched_at: trx.fn.now(),
    error: null,
  })
}

/** Stores why the refresh failed; the present index stays. */
export async function recordRepositoryError(database: Knex, id: string, error: string): Promise<void> {
  await database('plugin_repositories').where({ id }).update({ error })
}

/** Returns whether it existed. */
export async function setRepositoryEnabled(database: Knex, id: string, enabled: boolean): Promise<boolean> {
  return (await database('plugin_repositories').where({ id }).update({ enabled })) > 0
}

/** Its revocations stay, and the sequence of its newest index. Returns whether it existed. */
export async function deleteRepository(database: Knex, id: string): Promise<boolean> {
  const { rows } = await database.raw(
    `WITH deleted AS (DELETE FROM plugin_repositories WHERE id = ? RETURNING id, url, public_key, sequence, index),
     kept AS (
       INSERT INTO plugin_repository_sequences (url, public_key, sequence, index) SELECT url, public_key, sequence, index FROM deleted
       ON CONFLICT (url) DO UPDATE SET sequence = excluded.sequence, index = excluded.index
         WHERE plugin_repository_sequences.sequence <= excluded.sequence
     ) SELECT id FROM deleted`,
    [id],
  )
  return rows.length > 0
}

/** The key and the newest index of a repository that was deleted; null if there was none. `isSame` as in {@link lockIndexed}. */
export async function findDeletedIndex(
  database: Knex,
  { url, text }: { url: string; text: string },
): Promise<{ publicKey: string; sequence: number; isSame: boolean } | null> {
  const { rows } = await database.raw(
    `SELECT public_key AS "publicKey", ${SEQUENCE}, index IS NULL OR index = CAST(? AS jsonb) AS "isSame"
     FROM plugin_repository_sequences WHERE url = ?`,
    [text, url],
  )
  return rows[0] ?? null
}

/** One package by its hash, or the versions of a plugin in a range (null: all). */
export interface Revocation {
  sha256: string | null
  pluginKey: string | null
  versionRange: string | null
  reason: string
}

/** With the address of the repository that says so. */
export interface StoredRevocation extends Revocation {
  repository: string
}

/** The number of revocations from this repository. */
export async function countRevocations(database: Knex, repositoryId: string): Promise<number> {
  const row = await database('plugin_revocations').where('repository_id', repositoryId).count({ count: '*' }).first()
  return Number(row?.['count'] ?? 0)
}

/** A plugin of which this repository has revoked more than `max` ranges; null when there is none. */
export async function findOftenRevoked(database: Knex, repositoryId: string, max: number): Promise<string | null> {
  const row = await database('plugin_revocations')
    .where('repository_id', repositoryId)
    .whereNotNull('plugin_key')
    .groupBy('plugin_key')
    .havingRaw('count(*) > ?', [max])
    .first('plugin_key AS key')
  return row?.key ?? null
}

/** Those revocations of a repository that concern what its stored index offers, or what belongs to it. */
export async function listOffered(trx: Knex, repositoryId: string, revocations: readonly Revocation[]): Promise<Revocation[]> {
  const { rows } = await trx.raw(
    `WITH mine AS (SELECT url, index FROM plugin_repositories WHERE id = :repositoryId),
       offers AS (SELECT one FROM mine CROSS JOIN jsonb_array_elements(mine.index->'plugins') AS e (one)),
       owned AS (SELECT i.key FROM plugin_identities i JOIN mine ON mine.url = i.repository),
       keys AS (SELECT one->>'id' AS key FROM offers UNION SELECT key FROM owned),
       hashes AS (
         SELECT version->>'sha256' AS sha256 FROM offers CROSS JOIN jsonb_array_elements(one->'versions') AS e (version)
         UNION SELECT v.sha256 FROM plugin_versions v JOIN plugins p ON p.id = v.plugin_id JOIN owned ON owned.key = p.key)
     SELECT given FROM jsonb_array_elements(CAST(:revocations AS jsonb)) AS e (given)
     WHERE given->>'pluginKey' IN (SELECT key FROM keys) OR given->>'sha256' IN (SELECT sha256 FROM hashes)`,
    { repositoryId, revocations: JSON.stringify(revocations) },
  )
  return rows.map(({ given }: { given: Revocation }) => given)
}

/** Inserts new revocations; returns their number. */
export async function addRevocations(trx: Knex, repositoryId: string, revocations: readonly Revocation[]): Promise<number> {
  // One statement for any number: as rows of JSON they are one parameter.
  const { rows } = await trx.raw(
    `INSERT INTO plugin_revocations (repository_id, repository, sha256, plugin_key, version_range, reason)
     SELECT r.id, r.url, one->>'sha256', one->>'pluginKey', one->>'versionRange', one->>'reason'
     FROM plugin_repositories r CROSS JOIN jsonb_array_elements(?::jsonb) one WHERE r.id = ?
     ON CONFLICT DO NOTHING RETURNING id`,
    [JSON.stringify(revocations), repositoryId],
  )
  return rows.length
}

/** Revocations of a plugin, or of this package in any plugin; written to match the index over both columns. */
export async function listRevocationsOf(database: Knex, { key, sha256 }: { key: string; sha256: string }): Promise<StoredRevocation[]> {
  const { rows } = await database.raw(
    `SELECT sha256, plugin_key AS "pluginKey", version_range AS "versionRange", reason, repository FROM plugin_revocations
     WHERE coalesce(sha256, '') = :sha256 OR (coalesce(sha256, '') = '' AND coalesce(plugin_key, '') = :key) ORDER BY created_at, id`,
    { key, sha256 },
  )
  return rows
}

/** The addresses of the repositories that plugins belong to, by plugin; without those that belong to none. */
export async function listOwners(database: Knex, keys: readonly string[]): Promise<Map<string, string>> {
  const rows = await database('plugin_identities')
    .whereRaw('key = ANY(CAST(? AS text[])) AND repository IS NOT NULL', [[...keys]])
    .select('key', 'repository')
  return new Map(rows.map(({ key, repository }) => [key, repository]))
}

export interface InstalledVersion {
  key: string
  version: string
  sha256: string
  /** Whether it is the running version. */
  running: boolean
}

/** Every stored version that a revocation may apply to: by its hash, or by its plugin, when the range is still to be checked. */
export async function listRevocable(database: Knex): Promise<(InstalledVersion & { revocation: StoredRevocation })[]> {
  const { rows } = await database.raw(
    `SELECT p.key, v.version, v.sha256, p.version_id IS NOT DISTINCT FROM v.id AS running,
       json_build_object('sha256', r.sha256, 'pluginKey', r.plugin_key, 'versionRange', r.version_range, 'reason', r.reason, 'repository', r.repository) AS revocation
     FROM plugins p JOIN plugin_versions v ON v.plugin_id = p.id JOIN plugin_revocations r ON r.sha256 = v.sha256 OR r.plugin_key = p.key
     ORDER BY p.key, v.installed_at DESC, r.created_at, r.id`,
  )
  return rows
}

/** Revocations that may apply to any of these plugins or packages. */
export async function listRevocationsOfMany(
  database: Knex,
  { keys, packages }: { keys: readonly string[]; packages: readonly string[] },
): Promise<StoredRevocation[]> {
  return await database('plugin_revocations')
    .whereRaw('plugin_key = ANY(CAST(? AS text[])) OR sha256 = ANY(CAST(? AS text[]))', [[...keys], [...packages]])
    .orderBy(['created_at', 'id'])
    .select('sha256', 'plugin_key AS pluginKey', 'version_range AS versionRange', 'reason', 'repository')
}

/** By plugin: the running version, or the newest waiting one. */
export async function listInstalled(database: Knex): Promise<{ key: string; version: string }[]> {
  const { rows } = await database.raw(
    `SELECT DISTINCT ON (p.key) p.key, v.version FROM plugins p JOIN plugin_versions v ON v.plugin_id = p.id
     WHERE p.version_id IS NULL OR p.version_id = v.id ORDER BY p.key, v.installed_at DESC`,
  )
  return rows
}
