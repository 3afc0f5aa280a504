import type { Knex } from 'knex'
import type { Log } from '#core/foundation/log.ts'

/** In the table of chosen settings, where no setting has this name: it is there once the keys have been reported. */
const REPORTED = 'notice.api_keys_without_progress_write'
/** How many keys the log names; an administrator with more of them asks by SQL, or a script. */
const NAMED_MAX = 100

/**
 * Names in the log, at the first start that knows the rule, the API keys that it takes something from: rating series, and creating and deleting exports,
 * needs `progress-write`; it used to need no more than `series-read`.
 */
export async function reportNarrowedKeys(database: Knex, log: Log): Promise<void> {
  // Of several nodes that start together, one reports.
  const first = await database('chosen_settings').insert({ key: REPORTED, value: 'true' }).onConflict('key').ignore().returning('key')
  if (first.length === 0) return
  const keys: { key: string; name: string; user: string; count: number }[] = await database('api_keys AS k')
    .join('users AS u', 'u.id', 'k.user_id')
    .where({ 'k.is_active': true, 'u.is_active': true })
    .whereRaw(
      `(k.expires_at IS NULL OR k.expires_at > now()) AND 'series-read' = ANY(k.permissions) AND NOT 'progress-write' = ANY(k.permissions)`,
    )
    .orderByRaw('lower(u.username), k.created_at, k.id')
    .limit(NAMED_MAX)
    .select('k.key_prefix AS key', 'k.name', 'u.username AS user', database.raw('count(*) OVER ()::int AS count'))
  if (keys.length === 0) return
  log.warn(
    { count: keys[0]?.count, keys: keys.map(({ key, name, user }) => ({ key, name, user })) },
    'These API keys can no longer rate series, nor create or delete exports: that needs the permission progress-write now. Add it to those that should (PATCH /api/v1/api-keys/{id}).',
  )
}
