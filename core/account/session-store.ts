import type { Knex } from 'knex'
import type { User } from '#core/account/user.ts'
import { readUser } from '#core/account/user-store.ts'
import { announceAccess } from '#core/events/event-store.ts'

/**
 * Creates a session with its first refresh token.
 * @param session.passwordHash the hash that the password matched; null when no password was needed
 * @returns the id of the session; null when the user was deleted, is not active, or has changed the password since
 */
export async function insertSession(
  database: Knex,
  session: { userId: string; passwordHash: string | null; tokenHash: Uint8Array; expiresAt: Date },
): Promise<string | null> {
  const { userId, passwordHash, tokenHash, expiresAt } = session
  return database.transaction(async (transaction) => {
    // Locked until the session is inserted: a change of the user comes before, and is visible here, or after, and ends the session.
    const user = await transaction('users').first('password_hash').where({ id: userId, is_active: true }).forShare()
    if (!user || (passwordHash !== null && user.password_hash !== passwordHash)) return null
    const [session] = await transaction('sessions').insert({ user_id: userId, expires_at: expiresAt }, ['id'])
    await transaction('refresh_tokens').insert({ token_hash: tokenHash, session_id: session.id, expires_at: expiresAt })
    return session.id as string
  })
}

/** The user of a valid session, whether active or not; null when the session was revoked, has expired, or belongs to another user. */
export async function findSessionUser(database: Knex, { sessionId, userId }: { sessionId: string; userId: string }): Promise<User | null> {
  const row = await database('sessions')
    .join('users', 'users.id', 'sessions.user_id')
    .first('users.*')
    .where({ 'sessions.id': sessionId, 'sessions.user_id': userId })
    .whereNull('sessions.revoked_at')
    .where('sessions.expires_at', '>', new Date())
  return row ? readUser(row) : null
}

type Rotation =
  | { outcome: 'rotated'; sessionId: string; user: User }
  /** Unknown, expired, or its session has ended. */
  | { outcome: 'refused' }
  /** Used before, so another client has a copy. The session was revoked. */
  | { outcome: 'reused'; sessionId: string; userId: string }

/** Exchanges a refresh token for the next one of its family. Each works once; the second use ends the session. */
export async function rotateRefreshToken(
  database: Knex,
  { tokenHash, nextHash, expiresAt }: { tokenHash: Uint8Array; nextHash: Uint8Array; expiresAt: Date },
): Promise<Rotation> {
  return database.transaction(async (transaction) => {
    const now = new Date()
    const token = await transaction('refresh_tokens')
      .first('session_id', 'used_at', 'expires_at')
      .where({ token_hash: tokenHash })
      .forUpdate()
    if (!token) return { outcome: 'refused' }
    const sessionId: string = token.session_id
    const session = await transaction('sessions').first('user_id', 'revoked_at', 'expires_at').where({ id: sessionId }).forUpdate()
    if (!session || session.revoked_at !== null || session.expires_at <= now || token.expires_at <= now) return { outcome: 'refused' }
    if (token.used_at !== null) {
      await transaction('sessions').where({ id: sessionId }).update({ revoked_at: now })
      await announceAccess(transaction, [session.user_id])
      return { outcome: 'reused', sessionId, userId: session.user_id }
    }
    const user = readUser(await transaction('users').first('*').where({ id: session.user_id }))
    if (!user.isActive) return { outcome: 'refused' }
    await transaction('refresh_tokens').where({ token_hash: tokenHash }).update({ used_at: now })
    await transaction('refresh_tokens').insert({ token_hash: nextHash, session_id: sessionId, expires_at: expiresAt })
    await transaction('sessions').where({ id: sessionId }).update({ expires_at: expiresAt })
    return { outcome: 'rotated', sessionId, user }
  })
}

export async function revokeSession(database: Knex, sessionId: string): Promise<void> {
  await database.transaction(async (trx) => {
    const ended = await trx('sessions').where({ id: sessionId }).whereNull('revoked_at').update({ revoked_at: new Date() }, ['user_id'])
    await announceAccess(
      trx,
      ended.map(({ user_id }) => user_id),
    )
  })
}

export async function revokeSessionsOfUser(trx: Knex.Transaction, userId: string): Promise<void> {
  await trx('sessions').where({ user_id: userId }).whereNull('revoked_at').update({ revoked_at: new Date() })
  await announceAccess(trx, [userId])
}

/** Deletes sessions that ended and refresh tokens that expired. @returns how many sessions */
export async function purgeSessions(database: Knex, endedBefore: Date): Promise<number> {
  await database('refresh_tokens').where('expires_at', '<', endedBefore).delete()
  return database('sessions')
    .where('expires_at', '<', endedBefore)
    .orWhere((ended) => ended.whereNotNull('revoked_at').where('revoked_at', '<', endedBefore))
    .delete()
}
