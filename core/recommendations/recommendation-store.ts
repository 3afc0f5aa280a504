import type { Knex } from 'knex'
import { announce } from '#core/events/event-store.ts'
import type { PluginUser } from '#core/matching/provider-client.ts'

/** The last list of a plugin for a user, as the plugin returned it. */
export interface StoredRecommendations {
  items: unknown[]
  /** Null if there never was a list. */
  generatedAt: Date | null
  /** Series that the user had begun, rated or marked to read by then. */
  basedOn: string[]
  /** In a row. */
  failures: number
  nextTryAt: Date | null
  lastError: string | null
  /** The error code. Null if the last run did not fail, or the code is not stored any more. */
  lastErrorCode: string | null
  lastErrorAt: Date | null
}

/** A task that waits or runs. */
export interface LiveRefresh {
  taskId: string
  /** Clients of this member know `running`, where tasks have `processing`. */
  taskStatus: 'pending' | 'running'
}

/** If there is no task after this time, the process that was about to add it has died. */
const CLAIM_SECONDS = 10

/** Two tasks for the same user and plugin are one. */
export const refreshKeyOf = ({ pluginId, userId }: PluginUser): string => `${userId} ${pluginId}`

const LIVE = `SELECT id, status FROM tasks
  WHERE type = 'refresh_recommendations' AND dedupe_key = :key AND status IN ('pending', 'processing') AND NOT cancel_requested`

export async function findRecommendations(database: Knex, { pluginId, userId }: PluginUser): Promise<StoredRecommendations | null> {
  const row = await database('recommendations')
    .where({ plugin_id: pluginId, user_id: userId })
    .first(
      'items',
      'generated_at AS generatedAt',
      'based_on AS basedOn',
      'failures',
      'next_try_at AS nextTryAt',
      'last_error AS lastError',
      'last_error_code AS lastErrorCode',
      'last_error_at AS lastErrorAt',
    )
  return row ?? null
}

export async function findLiveRefresh(database: Knex, user: PluginUser): Promise<LiveRefresh | null> {
  const { rows } = await database.raw(`${LIVE} ORDER BY status = 'processing' DESC LIMIT 1`, { key: refreshKeyOf(user) })
  const [task] = rows as { id: string; status: string }[]
  return task === undefined ? null : { taskId: task.id, taskStatus: task.status === 'processing' ? 'running' : 'pending' }
}

/** The newest task, however it ended; null if none is stored. */
export async function findLastRefresh(database: Knex, user: PluginUser): Promise<string | null> {
  const { rows } = await database.raw(
    `SELECT id FROM tasks WHERE type = 'refresh_recommendations' AND dedupe_key = ? ORDER BY created_at DESC, id LIMIT 1`,
    [refreshKeyOf(user)],
  )
  return rows[0]?.id ?? null
}

/** Claims the right to add the task of the next list. False if another request has it, or a task waits or runs. One statement. */
export async function claimRefresh(database: Knex, user: PluginUser): Promise<boolean> {
  const { rows } = await database.raw(
    `INSERT INTO recommendations (plugin_id, user_id, requested_at)
     SELECT u.plugin_id, u.user_id, now() FROM user_plugins u
     WHERE u.plugin_id = :pluginId AND u.user_id = :userId AND u.enabled AND NOT EXISTS (${LIVE})
     ON CONFLICT (plugin_id, user_id) DO UPDATE SET requested_at = now()
       WHERE recommendations.requested_at IS NULL OR recommendations.requested_at < now() - make_interval(secs => ${CLAIM_SECONDS})
     RETURNING plugin_id`,
    { ...user, key: refreshKeyOf(user) },
  )
  return rows.length > 0
}

/** Call after the task was added, or will not be. */
export async function releaseRefresh(database: Knex, { pluginId, userId }: PluginUser): Promise<void> {
  await database('recommendations').where({ plugin_id: pluginId, user_id: userId }).update({ requested_at: null })
}

/** Replaces the last list, unless the user has disabled the plugin in the meantime. */
export async function recordRecommendations(
  database: Knex,
  user: PluginUser,
  { items, basedOn }: { items: readonly unknown[]; basedOn: readonly string[] },
): Promise<boolean> {
  return await database.transaction(async (trx) => {
    const { rows } = await trx.raw(
      `INSERT INTO recommendations AS r (plugin_id, user_id, items, based_on, generated_at)
     SELECT u.plugin_id, u.user_id, CAST(:items AS jsonb), CAST(:basedOn AS uuid[]), now() FROM user_plugins u
     WHERE u.plugin_id = :pluginId AND u.user_id = :userId AND u.enabled
     ON CONFLICT (plugin_id, user_id) DO UPDATE SET items = excluded.items, based_on = excluded.based_on, generated_at = excluded.generated_at,
       failures = 0, next_try_at = NULL, last_error = NULL, last_error_code = NULL, last_error_at = NULL
     RETURNING r.plugin_id`,
      { ...user, items: JSON.stringify(items), basedOn: [...basedOn] },
    )
    if (rows.length > 0) await announceRecommendations(trx, user)
    return rows.length > 0
  })
}

const announceRecommendations = (trx: Knex.Transaction, { pluginId, userId }: PluginUser) =>
  announce(trx, [{ event: { type: 'recommendations_updated', pluginId }, userId }])

/**
 * Records that the list could not be made; the last one stays, and the next attempt waits.
 * @param how.retrySeconds waits this long and does not count a failure; otherwise the failure counts, and the wait doubles from `firstSeconds` to `lastSeconds`
 */
export async function recordFailedRefresh(
  database: Knex,
  user: PluginUser,
  error: { code: string; message: string },
  how: { retrySeconds: number } | { firstSeconds: number; lastSeconds: number },
): Promise<void> {
  const counts = 'firstSeconds' in how
  await database.transaction(async (trx) => {
    await trx.raw(
      `UPDATE recommendations SET last_error = :message, last_error_code = :code, last_error_at = now(), failures = failures + CAST(:one AS int),
       next_try_at = now() + make_interval(secs => least(:first * power(2, least(CASE WHEN :counts THEN failures ELSE 0 END, 20)), :last))
     WHERE plugin_id = :pluginId AND user_id = :userId`,
      {
        ...user,
        ...error,
        counts,
        one: counts ? 1 : 0,
        first: counts ? how.firstSeconds : how.retrySeconds,
        last: counts ? how.lastSeconds : how.retrySeconds,
      },
    )
    await announceRecommendations(trx, user)
  })
}

/** Call when a possible cause of the failures has changed: the next request need not wait. */
export async function forgetFailures(database: Knex, { pluginId, userId }: PluginUser): Promise<void> {
  await database('recommendations')
    .where({ plugin_id: pluginId, user_id: userId })
    .update({ failures: 0, next_try_at: null, last_error: null, last_error_code: null, last_error_at: null })
}
