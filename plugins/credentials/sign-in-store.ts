import type { Knex } from 'knex'
import type { PluginReader } from '#core/matching/provider-client.ts'
import type { CredentialOwner } from '#plugins/credentials/plugin-credential-store.ts'

/** A sign-in at a service that a reader has begun and not come back from. */
export interface SignIn extends PluginReader {
  /** SHA-256 of the state, hex: who reads the table cannot finish what stands in it. */
  stateHash: string
  /** SHA-256 of what only the browser that began it has, hex. */
  browserHash: string
  sealed: Buffer
  keyId: string
}

/**
 * Remembers a sign-in, unless the reader has begun too many; then it answers the seconds until the first of them ends.
 * @param limits.seconds for which it can be finished
 */
export async function addSignIn(
  database: Knex,
  { stateHash, browserHash, pluginId, userId, sealed, keyId }: SignIn,
  limits: { seconds: number; pendingMax: number },
): Promise<number | null> {
  return await database.transaction(async (trx) => {
    // Two that begin at once would count alike.
    await trx('users').where('id', userId).forUpdate().first('id')
    await trx('plugin_sign_ins').where('expires_at', '<=', trx.fn.now()).delete()
    const { rows } = await trx.raw(
      `SELECT count(*)::int AS count, ceil(extract(epoch FROM min(expires_at) - now()))::int AS seconds FROM plugin_sign_ins WHERE user_id = ?`,
      [userId],
    )
    if (rows[0].count >= limits.pendingMax) return rows[0].seconds
    await trx('plugin_sign_ins').insert({
      ...{ state_hash: stateHash, browser_hash: browserHash, plugin_id: pluginId, user_id: userId, sealed, key_id: keyId },
      expires_at: trx.raw('now() + make_interval(secs => ?)', [limits.seconds]),
    })
    return null
  })
}

/** Takes a sign-in to finish it: whoever asks second finds none, and so does who asks too late. Another browser finds none and takes nothing. */
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

/** How the credentials of somebody stand that end by themselves. */
export interface Expiry {
  /** Of the access token; null where it does not end. */
  expiresAt: Date | null
  renewable: boolean
  /** Somebody renews them, or nobody shall try again before then. */
  renewingUntil: Date | null
}

/** Null where there is no access token. */
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

/** Makes the caller the one who renews, for so many seconds, on whichever server. False where somebody else is. */
export async function claimRenewal(database: Knex, owner: CredentialOwner, seconds: number): Promise<boolean> {
  const claimed = await refreshTokenOf(database, owner)
    .whereRaw('(renewing_until IS NULL OR renewing_until <= now())')
    .update({ renewing_until: database.raw('now() + make_interval(secs => ?)', [seconds]) })
  return claimed > 0
}

/** Lets nobody try again for so many seconds. */
export async function postponeRenewal(database: Knex, owner: CredentialOwner, seconds: number): Promise<void> {
  await refreshTokenOf(database, owner).update({ renewing_until: database.raw('now() + make_interval(secs => ?)', [seconds]) })
}

/** Whether the claim is still there: the reader may have taken the credentials away meanwhile, or given others. None does before the transaction ends. */
export async function holdsRenewal(trx: Knex, owner: CredentialOwner): Promise<boolean> {
  return (await refreshTokenOf(trx, owner).whereRaw('renewing_until > now()').forUpdate().first('field')) !== undefined
}
