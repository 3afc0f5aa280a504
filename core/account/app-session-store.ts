import type { Knex } from 'knex'
import type { ApiKeyRecord } from '#core/account/api-key.ts'
import { findApiKey } from '#core/account/api-key-store.ts'
import type { User } from '#core/account/user.ts'
import { readUser } from '#core/account/user-store.ts'
import { announceAccess } from '#core/events/event-store.ts'

/** A valid app session: its user and how it was opened. */
export interface AppSessionProof {
  sessionId: string
  user: User
  /** The API key that opened it; null for a password. */
  key: ApiKeyRecord | null
  expiresAt: Date
}

/**
 * The app session for a password or an API key: the present one, or a new one. When the user has too many, the oldest are deleted.
 * @param session.passwordHash the hash that the password matched; null when the client sent an API key
 * @param session.freshUntil a session that ends before this time is replaced by a new one
 * @param session.sessionsMax how many app sessions a user has at most
 * @returns null when the user was deleted, is not active, or has changed the password since
 */
export async function findOrInsertAppSession(
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
    // Locked until the session is inserted, as for every other session: a change of the user is either visible here, or ends the session.
    // Two requests with the same credential wait for each other, on any node.
    const user = await trx('users').first('password_hash').where({ id: userId, is_active: true }).forNoKeyUpdate()
    if (!user || (passwordHash !== null && user.password_hash !== passwordHash)) return null
    // A new password ends all sessions: those without a key belong to the current password.
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
    if ((await trx('sessions').whereIn('id', oldest).delete()) > 0) await announceAccess(trx, [userId])
    return { sessionId: made.id, expiresAt }
  })
}

/** A session by its id; null when it was revoked or has expired. */
export async function findAppSession(database: Knex, sessionId: string): Promise<AppSessionProof | null> {
  const row = await database('app_sessions')
    .join('sessions', 'sessions.id', 'app_sessions.session_id')
    .join('users', 'users.id', 'sessions.user_id')
    .first('users.*', 'sessions.id AS session_id', 'sessions.expires_at', 'app_sessions.api_key_id')
    .where('app_sessions.session_id', sessionId)
    .whereNull('sessions.revoked_at')
    .where('sessions.expires_at', '>', new Date())
  if (!row) return null
  const key = row.api_key_id === null ? null : await findApiKey(database, row.api_key_id)
  if (row.api_key_id !== null && key === null) return null
  return { sessionId: row.session_id, user: readUser(row), key, expiresAt: row.expires_at }
}
