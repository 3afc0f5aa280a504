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
 * The session of a reader app that stands for what it shows: the one that is there, or a new one; of too many the oldest go.
 * @param session.passwordHash what the password was checked against; null when an API key was shown
 * @param session.freshUntil one that ends before is followed by a new one
 * @param session.sessionsMax how many of these a user has at most
 * @returns null when the user is gone, not active, or has another password since
 */
export async function openAppSession(
  database: Knex,
  session: {
    userId: string
    passwordHash: string | null
    apiKeyId: string | null
    remembered: boolean
    expiresAt: Date
    freshUntil: Date
    sessionsMax: number
  },
): Promise<{ sessionId: string; expiresAt: Date } | null> {
  const { userId, passwordHash, apiKeyId, remembered, expiresAt } = session
  return await database.transaction(async (trx) => {
    // Locked until the session is there, as for every other one: a change of the user is seen here, or ends the session. Two that show the same wait
    // for each other, on whatever node.
    const user = await trx('users').first('password_hash').where({ id: userId, is_active: true }).forNoKeyUpdate()
    if (!user || (passwordHash !== null && user.password_hash !== passwordHash)) return null
    // A new password ends all sessions: those without a key are of this one.
    const present = await trx('sessions AS s')
      .join('app_sessions AS a', 'a.session_id', 's.id')
      .where({ 's.user_id': userId, 'a.remembered': remembered })
      .whereRaw('a.api_key_id IS NOT DISTINCT FROM ?', [apiKeyId])
      .whereNull('s.revoked_at')
      .where('s.expires_at', '>', session.freshUntil)
      .orderBy([{ column: 's.expires_at', order: 'desc' }, 's.id'])
      .first('s.id', 's.expires_at')
    if (present) return { sessionId: present.id, expiresAt: present.expires_at }
    const [made] = await trx('sessions').insert({ user_id: userId, expires_at: expiresAt }, ['id'])
    await trx('app_sessions').insert({ session_id: made.id, api_key_id: apiKeyId, remembered })
    const oldest = trx('sessions AS s')
      .join('app_sessions AS a', 'a.session_id', 's.id')
      .where('s.user_id', userId)
      .orderByRaw('s.created_at DESC, s.id')
      .offset(session.sessionsMax)
      .select('s.id')
    await trx('sessions').whereIn('id', oldest).delete()
    return { sessionId: made.id, expiresAt }
  })
}

/** A session by its id; null when it was revoked or has expired. */
export async function findAppSession(database: Knex, sessionId: string): Promise<AppSessionProof | null> {
  const row = await database('app_sessions')
    .join('sessions', 'sessions.id', 'app_sessions.session_id')
    .join('users', 'users.id', 'sessions.user_id')
    .first('users.*', 'sessions.id AS session_id', 'app_sessions.api_key_id')
    .where('app_sessions.session_id', sessionId)
    .whereNull('sessions.revoked_at')
    .where('sessions.expires_at', '>', new Date())
  if (!row) return null
  const key = row.api_key_id === null ? null : await findApiKey(database, row.api_key_id)
  if (row.api_key_id !== null && key === null) return null
  return { sessionId: row.session_id, user: readUser(row), key }
}
