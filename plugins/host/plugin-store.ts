import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import { prepared } from '#core/database/prepared.ts'
import { announce } from '#core/events/event-store.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { MatchingSettings } from '#core/matching/matching-settings.ts'
import type { InstalledPlugin, PluginState } from '#plugins/host/installed-plugin.ts'
import { forgetUnaccepted } from '#plugins/host/plugin-identity-store.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import type { PluginPackage } from '#plugins/packages/plugin-package.ts'

const COLUMNS = `p.id, p.key, p.state, p.state_reason AS "stateReason", p.granted, p.config, p.private_origins AS "privateOrigins", p.matching,
  p.data_version AS "dataVersion", p.probation_calls AS "probationCalls", p.previous_version_id AS "previousVersionId", p.breaker, p.last_success_at AS "lastSuccessAt", p.version_id AS "runningVersionId", v.id AS "versionId",
  v.version, v.sha256, v.manifest, v.signed_by AS "signedBy", v.repository, v.readme, v.installed_at AS "installedAt", p.created_at AS "createdAt", p.updated_at AS "updatedAt"`
const OF_VERSION = `FROM plugins p JOIN LATERAL (
  SELECT * FROM plugin_versions v WHERE v.plugin_id = p.id AND (v.id = p.version_id OR p.version_id IS NULL)
  ORDER BY v.position DESC LIMIT 1) v ON true`

export async function listPlugins(database: Knex): Promise<InstalledPlugin[]> {
  const { rows } = await database.raw(`SELECT ${COLUMNS} ${OF_VERSION} ORDER BY p.key`)
  return rows
}

export async function findPlugin(database: Knex, id: string): Promise<InstalledPlugin | null> {
  const { rows } = await prepared(database.raw(`SELECT ${COLUMNS} ${OF_VERSION} WHERE p.id = ?`, [id]))
  return rows[0] ?? null
}

/** @throws not_found */
export async function getPlugin(database: Knex, id: string): Promise<InstalledPlugin> {
  return (await findPlugin(database, id)) ?? refuse('not_found', `There is no plugin ${id}.`)
}

/** The id of the plugin with this key, which its manifest states. @throws not_found */
export async function getPluginId(database: Knex, key: string): Promise<string> {
  const found = await database('plugins').where({ key }).first('id')
  return found?.id ?? refuse('not_found', `There is no plugin ${key}.`)
}

/** Locks the row of a plugin by its key, so that concurrent installations wait for each other, including the first; null when there is none. */
export async function lockPlugin(trx: Knex, key: string): Promise<{ id: string; state: PluginState; version_id: string | null } | null> {
  // Before the first installation there is no row to lock.
  await trx.raw(`SELECT pg_advisory_xact_lock(hashtextextended('plugin ' || ?, 0))`, [key])
  return (await trx('plugins').where({ key }).forUpdate().first('id', 'state', 'version_id')) ?? null
}

/** Inserts the version of a package, and the plugin when it is its first. Returns the ids of both. */
export async function addVersion(
  trx: Knex.Transaction,
  { manifest, code, sourceMap, readme, sha256, nextSigners }: PluginPackage,
  { signedBy, repository, userId }: { signedBy: readonly string[]; repository: string | null; userId: string | null },
): Promise<{ pluginId: string; versionId: string }> {
  const key = manifest.id
  const made = await trx('plugins').insert({ key }).onConflict('key').ignore().returning('id')
  const plugin = await trx('plugins').where({ key }).first('id')
  const [added] = await trx('plugin_versions').insert(
    {
      plugin_id: plugin.id,
      version: manifest.version,
      sha256,
      manifest: JSON.stringify(manifest),
      code,
      code_sha256: createHash('sha256').update(code).digest('hex'),
      source_map: sourceMap,
      readme,
      signed_by: [...signedBy],
      next_signers: nextSigners,
      repository,
      installed_by: userId,
    },
    'id',
  )
  await announce(trx, [{ event: { type: made.length > 0 ? 'plugin_created' : 'plugin_updated', pluginId: plugin.id } }])
  return { pluginId: plugin.id, versionId: added.id }
}

/** Deletes a version, unless it runs or is the target of a rollback. Returns whether it did. */
export async function deleteUnusedVersion(database: Knex, versionId: string): Promise<boolean> {
  return await database.transaction(async (trx) => {
    const plugin = trx('plugin_versions').where('id', versionId).select('plugin_id')
    // Starting a version locks this row too.
    const [row] = await trx('plugins').whereIn('id', plugin).forUpdate().select('version_id', 'previous_version_id')
    if (row?.version_id === versionId || row?.previous_version_id === versionId) return false
    return (await trx('plugin_versions').where('id', versionId).delete()) > 0
  })
}

export interface VersionRow {
  id: string
  version: string
  sha256: string
  manifest: Manifest
  signedBy: string[]
  nextSigners: string[] | null
  repository: string | null
  installedAt: Date
  /** When it stopped running because an earlier version runs again; null when that did not happen. */
  rolledBackAt: Date | null
}

/** The stored versions, the newest first. */
export async function listVersions(database: Knex, pluginId: string): Promise<VersionRow[]> {
  return await database('plugin_versions')
    .where('plugin_id', pluginId)
    .orderBy('position', 'desc')
    .select('id', 'version', 'sha256', 'manifest', 'signed_by AS signedBy', 'next_signers AS nextSigners', 'repository')
    .select('installed_at AS installedAt', 'rolled_back_at AS rolledBackAt')
}

/** Of each plugin, by its id, the newest version that was stored after the running one. */
export async function listNewerVersions(database: Knex): Promise<Map<string, Pick<VersionRow, 'version' | 'rolledBackAt'>>> {
  const { rows } = await database.raw(
    `SELECT DISTINCT ON (v.plugin_id) v.plugin_id AS "pluginId", v.version, v.rolled_back_at AS "rolledBackAt"
     FROM plugin_versions v JOIN plugins p ON p.id = v.plugin_id LEFT JOIN plugin_versions running ON running.id = p.version_id
     WHERE running.position IS NULL OR v.position > running.position ORDER BY v.plugin_id, v.position DESC`,
  )
  return new Map(
    rows.map(({ pluginId, ...version }: { pluginId: string; version: string; rolledBackAt: Date | null }) => [pluginId, version]),
  )
}

/** Records which version was rolled back, and that the other one runs. */
export async function markRolledBack(trx: Knex, { from, to }: { from: string | null; to: string }): Promise<void> {
  await trx('plugin_versions').where('id', to).update({ rolled_back_at: null })
  if (from !== null) await trx('plugin_versions').where('id', from).update({ rolled_back_at: trx.fn.now() })
}

/** The bundle of a version, and its hash at installation; null when it is gone. */
export async function findCode(database: Knex, versionId: string): Promise<{ code: string; codeSha256: string } | null> {
  return (await database('plugin_versions').where('id', versionId).first('code', 'code_sha256 AS codeSha256')) ?? null
}

/** The stored part of the source map of a version; null when there is none, or the version is gone. */
export async function findSourceMap(database: Knex, versionId: string): Promise<string | null> {
  return (await database('plugin_versions').where('id', versionId).first('source_map AS sourceMap'))?.sourceMap ?? null
}

/** A change of a plugin's row; missing members stay unchanged. */
export interface PluginChange {
  state?: PluginState
  stateReason?: string | null
  versionId?: string
  previousVersionId?: string | null
  granted?: unknown
  config?: unknown
  privateOrigins?: readonly string[]
  matching?: MatchingSettings
  /** Replaces these members; the others stay. */
  matchingMembers?: MatchingSettings
  dataVersion?: number
  probationCalls?: number
  breaker?: unknown
}

const AS_JSON: readonly (keyof PluginChange)[] = ['granted', 'config', 'matching', 'breaker']

/** @param only the required present state, because others may have changed it. Returns the time of the change; null when the state differed */
export async function updatePlugin(
  database: Knex,
  id: string,
  change: PluginChange,
  only: { state?: PluginState; version_id?: string } = {},
): Promise<Date | null> {
  const { matchingMembers, ...rest } = change
  const columns = Object.entries(rest).map(([name, value]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    AS_JSON.includes(name as keyof PluginChange) && value !== null ? JSON.stringify(value) : value,
  ])
  const type = eventOf(change)
  return await database.transaction(async (trx) => {
    const [changed] = await trx('plugins')
      .where({ ...only, id })
      .update({
        ...Object.fromEntries(columns),
        ...(matchingMembers && { matching: trx.raw('matching || CAST(? AS jsonb)', [JSON.stringify(matchingMembers)]) }),
        updated_at: trx.fn.now(),
      })
      .returning(['updated_at'])
    if (changed && type) await announce(trx, [{ event: { type, pluginId: id } }])
    return changed?.updated_at ?? null
  })
}

/** The event for administrators; null when a plugin only counts its calls and failures. */
function eventOf({ state, breaker: _, probationCalls: _calls, ...rest }: PluginChange) {
  if (state !== undefined) return state === 'enabled' ? 'plugin_enabled' : 'plugin_disabled'
  return Object.keys(rest).length > 0 ? 'plugin_updated' : null
}

export async function recordSuccess(database: Knex, id: string): Promise<void> {
  await database('plugins').where({ id }).update({ last_success_at: database.fn.now() })
}

/** Deletes versions that do not run, except the newest few. */
export async function dropOldVersions(trx: Knex, pluginId: string, kept: number): Promise<void> {
  await trx.raw(
    `DELETE FROM plugin_versions WHERE plugin_id = :pluginId AND id IN (
       SELECT v.id FROM plugin_versions v JOIN plugins p ON p.id = v.plugin_id
       WHERE v.plugin_id = :pluginId AND v.id IS DISTINCT FROM p.version_id AND v.id IS DISTINCT FROM p.previous_version_id ORDER BY v.position DESC OFFSET :kept)`,
    { pluginId, kept },
  )
}

export async function deletePlugin(database: Knex, id: string): Promise<boolean> {
  return await database.transaction(async (trx) => {
    const [gone] = await trx('plugins').where({ id }).delete().returning('key')
    if (gone === undefined) return false
    await forgetUnaccepted(trx, gone.key)
    await announce(trx, [{ event: { type: 'plugin_deleted', pluginId: id } }])
    return true
  })
}

interface Failure {
  id: string
  version: string
  method: string
  code: string
  message: string
  /** Place in the sources, such as `src/main.ts:12:9`; null when unknown. */
  source: string | null
  callId: string
  /** The user for whom the plugin was called. */
  userId: string | null
  occurredAt: Date
}

/** For one plugin; enough to see a pattern. */
const FAILURES_KEPT = 500

export async function recordFailure(database: Knex, pluginId: string, failure: Omit<Failure, 'id' | 'occurredAt'>): Promise<void> {
  await database.raw(
    `WITH old AS (DELETE FROM plugin_failures WHERE id IN (
       SELECT id FROM plugin_failures WHERE plugin_id = :pluginId ORDER BY occurred_at DESC OFFSET :kept))
     INSERT INTO plugin_failures (plugin_id, version, method, code, message, source, call_id, user_id)
     SELECT :pluginId, :version, :method, :code, :message, :source, :callId, CAST(:userId AS uuid) WHERE EXISTS (SELECT 1 FROM plugins WHERE id = :pluginId)`,
    { pluginId, kept: FAILURES_KEPT - 1, ...failure },
  )
}

export async function listFailures(
  database: Knex,
  pluginId: string,
  page: { offset: number; limit: number },
): Promise<{ items: Failure[]; total: number }> {
  const of = database('plugin_failures').where('plugin_id', pluginId)
  const [count, items] = await Promise.all([
    of.clone().count({ count: '*' }).first(),
    of
      .clone()
      .orderBy([
        { column: 'occurred_at', order: 'desc' },
        { column: 'id', order: 'desc' },
      ])
      .offset(page.offset)
      .limit(page.limit)
      .select(
        'id',
        'version',
        'method',
        'code',
        'message',
        'source',
        'call_id AS callId',
        'user_id AS userId',
        'occurred_at AS occurredAt',
      ),
  ])
  return { items, total: Number(count?.['count'] ?? 0) }
}

/** The number of calls of a version since then that ended with one of these codes. */
export async function countFailures(
  database: Knex,
  { id, version }: { id: string; version: string },
  since: { codes: readonly string[]; minutes: number },
): Promise<number> {
  const row = await database('plugin_failures')
    .where({ plugin_id: id, version })
    .whereIn('code', [...since.codes])
    .whereRaw(`occurred_at > now() - make_interval(mins => ?)`, [since.minutes])
    .select(database.raw('count(DISTINCT coalesce(user_id, id)) AS count'))
    .first()
  return Number(row?.['count'] ?? 0)
}

export async function deleteFailures(database: Knex, pluginId: string): Promise<void> {
  await database('plugin_failures').where('plugin_id', pluginId).delete()
}

/** Statistics of a plugin for administrators, counted on request. */
export interface PluginStatus {
  id: string
  /** Stored failures. */
  failureCount: number
  lastFailureAt: Date | null
  /** Users who have enabled it. */
  userCount: number
  /** The server's credentials, not those of users. */
  hasCredentials: boolean
}

/** @param id one plugin, or all */
export async function listPluginStatuses(database: Knex, id: string | null): Promise<Map<string, PluginStatus>> {
  const { rows } = await database.raw(
    `SELECT p.id, f.count AS "failureCount", f.last AS "lastFailureAt",
       (SELECT count(*)::int FROM user_plugins u WHERE u.plugin_id = p.id AND u.enabled) AS "userCount",
       EXISTS (SELECT 1 FROM plugin_credentials c WHERE c.plugin_id = p.id AND c.user_id IS NULL) AS "hasCredentials"
     FROM plugins p CROSS JOIN LATERAL (SELECT count(*)::int AS count, max(occurred_at) AS last FROM plugin_failures WHERE plugin_id = p.id) f
     WHERE CAST(:id AS uuid) IS NULL OR p.id = :id`,
    { id },
  )
  return new Map((rows as PluginStatus[]).map((facts) => [facts.id, facts]))
}
