import type { Knex } from 'knex'
import type { PluginUser } from '#core/matching/provider-client.ts'
import type { CredentialOwner } from '#plugins/credentials/plugin-credential-store.ts'

/** A sign-in at a service that a user has started and not completed. */
interface SignIn extends PluginUser {
  /** SHA-256 of the state, hex: reading the table is not enough to complete a sign-in. */
  stateHash: string
  /** SHA-256 of the secret in the cookie of the browser that started it, hex. */
  browserHash: string
  sealed: Buffer
  keyId: string
}

/**
 * Stores a sign-in, unless the user has started too many; then returns the seconds until the first of them expires.
 * @param limits.seconds in which it can be completed
 */
export async function addSignIn(
  database: Knex,
  { stateHash, browserHash, pluginId, userId, sealed, keyId }: SignIn,
  limits: { seconds: number; pendingMax: number },
): Promise<number | null> {
  return await database.transaction(async (trx) => {
    // Concurrent starts would both see the same count.
    await trx('users').where('id', userId).forUpdate().first('id')
    await trx('plugin_sign_ins').where('expires_at', '<=', trx.fn.now()).delete()
    const { rows } = await trx.raw(
      `SELECT count(*)::int AS count, ceil(extract(epoch FROM min(expires_at) - now()))::int AS seconds FROM plugin_sign_ins WHERE user_id = ?`,
      [userId],
    )
    if (rows[0].count >= limits.pendingMax) return rows[0].seconds
    await trx('plugin_sign_ins').insert({
      state_hash: stateHash,
      browser_hash: browserHash,
      plugin_id: pluginId,
      user_id: userId,
      sealed,
      key_id: keyId,
      expires_at: trx.raw('now() + make_interval(secs => ?)', [limits.seconds]),
    })
    return null
  })
}

/** Takes a sign-in to complete it, once and in time; the second or late caller finds none. Another browser finds none and takes nothing. */
export async function takeSignIn(database: Knex, stateHash: string, browserHash: string): Promise<SignIn | null> {
  const { rows } = await database.raw(
    `DELETE FROM plugin_sign_ins WHERE state_hash = ? AND browser_hash = ?
     RETURNING state_hash AS "stateHash", browser_hash AS "browserHash", plugin_id AS "pluginId", user_id AS "userId", sealed, key_id AS "keyId", expires_at > now() AS good`,
    [stateHash, browserHash],
  )
  const [found] = rows as (SignIn & { good: boolean })[]
  if (found === undefined || !found.good) return null
  const { good: _, ...signIn } = found
  return signIn
}

/** The expiry of stored credentials. */
interface Expiry {
  /** Expiry of the access token; null when it does not expire. */
  expiresAt: Date | null
  renewable: boolean
  /** Until then a server renews them, or retries are postponed. */
  renewingUntil: Date | null
}

/** Null when there is no access token. */
export async function findExpiry(database: Knex, { pluginId, userId }: CredentialOwner): Promise<Expiry | null> {
  const { rows } = await database.raw(
    `SELECT a.expires_at AS "expiresAt", r.field IS NOT NULL AS renewable, r.renewing_until AS "renewingUntil"
     FROM plugin_credentials a LEFT JOIN plugin_credentials r
       ON r.plugin_id = a.plugin_id AND r.user_id IS NOT DISTINCT FROM a.user_id AND r.field = 'refreshToken'
     WHERE a.plugin_id = :pluginId AND a.user_id IS NOT DISTINCT FROM CAST(:userId AS uuid) AND a.field = 'accessToken'`,
    { pluginId, userId },
  )
  return rows[0] ?? null
}

const refreshTokenOf = (database: Knex, { pluginId, userId }: CredentialOwner) =>
  database('plugin_credentials')
    .where({ plugin_id: pluginId, field: 'refreshToken' })
    .whereRaw('user_id IS NOT DISTINCT FROM CAST(? AS uuid)', [userId])

/** Claims the renewal for this server, for so many seconds. False when another has claimed it. */
export async function claimRenewal(database: Knex, owner: CredentialOwner, seconds: number): Promise<boolean> {
  const claimed = await refreshTokenOf(database, owner)
    .whereRaw('(renewing_until IS NULL OR renewing_until <= now())')
    .update({ renewing_until: database.raw('now() + make_interval(secs => ?)', [seconds]) })
  return claimed > 0
}

/** Postpones retries by so many seconds. */
export async function postponeRenewal(database: Knex, owner: CredentialOwner, seconds: number): Promise<void> {
  await refreshTokenOf(database, owner).update({ renewing_until: database.raw('now() + make_interval(secs => ?)', [seconds]) })
}

/** Whether the claim still exists: the user may have deleted or replaced the credentials meanwhile. Locks the row until the transaction ends. */
export async function holdsRenewal(trx: Knex, owner: CredentialOwner): Promise<boolean> {
  return (await refreshTokenOf(trx, owner).whereRaw('renewing_until > now()').forUpdate().first('field')) !== undefined
}
