import type { Knex } from 'knex'
import type { ApiKey } from '#core/account/api-key.ts'
import { findApiKey } from '#core/account/api-key-store.ts'
import type { User } from '#core/account/user.ts'
import { readUser } from '#core/account/user-store.ts'

/** What a session of a reader app stands for. */
export interface AppSessionProof {
  sessionId: string
  user: User
  /** What began it; null for a password. */
  key: ApiKey | null
}

/**
 * Makes a session of a reader app; of too many the oldest go.
 * @param session.passwordHash what the password was checked against; null when an API key was shown
 * @param session.sessionsMax how many of these a user has at most
 * @returns false when the user is gone, not active, or has another password since
 */
export async function insertAppSession(
  database: Knex,
  session: {
    userId: string
    passwordHash: string | null
    apiKeyId: string | null
    tokenHash: Uint8Array
    expiresAt: Date
    sessionsMax: number
  },
): Promise<boolean> {
  const { userId, passwordHash, apiKeyId, tokenHash, expiresAt } = session
  return await database.transaction(async (trx) => {
    // Locked until the session is there, as for every other one: a change of the user is seen here, or ends the session.
    const user = await trx('users').first('password_hash').where({ id: userId, is_active: true }).forShare()
    if (!user || (passwordHash !== null && user.password_hash !== passwordHash)) return false
    const [made] = await trx('sessions').insert({ user_id: userId, expires_at: expiresAt }, ['id'])
    await trx('app_sessions').insert({ token_hash: tokenHash, session_id: made.id, api_key_id: apiKeyId })
    const oldest = trx('sessions AS s')
      .join('app_sessions AS a', 'a.session_id', 's.id')
      .where('s.user_id', userId)
      .orderByRaw('s.created_at DESC, s.id')
      .offset(session.sessionsMax)
      .select('s.id')
    await trx('sessions').whereIn('id', oldest).delete()
    return true
  })
}

/** The session that a token shows; null when it was revoked or has expired. */
export async function findAppSession(database: Knex, tokenHash: Uint8Array): Promise<AppSessionProof | null> {
  const row = await database('app_sessions')
    .join('sessions', 'sessions.id', 'app_sessions.session_id')
    .join('users', 'users.id', 'sessions.user_id')
    .first('users.*', 'sessions.id AS session_id', 'app_sessions.api_key_id')
    .where('app_sessions.token_hash', tokenHash)
    .whereNull('sessions.revoked_at')
    .where('sessions.expires_at', '>', new Date())
  if (!row) return null
  const key = row.api_key_id === null ? null : await findApiKey(database, row.api_key_id)
  if (row.api_key_id !== null && key === null) return null
  return { sessionId: row.session_id, user: readUser(row), key }
}
