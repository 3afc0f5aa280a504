import type { Knex } from 'knex'
import type { User } from '#core/account/user.ts'
import { readUser } from '#core/account/user-store.ts'
import { countRows } from '#core/database/select.ts'
import { announceAccess } from '#core/events/event-store.ts'

interface SessionRow {
  id: string
  kind: 'browser' | 'tokens' | 'app'
  userAgent: string | null
  createdAt: Date
  lastUsedAt: Date
  expiresAt: Date
}

/** How a session is proved: by tokens, of which each refresh token works once, or by the cookie of a browser. */
export type SessionKind = 'tokens' | 'cookie'

/**
 * Creates a session with its first secret.
 * @param session.passwordHash the hash that the password matched; null when no password was needed
 * @param session.secretHash of the first refresh token, or of the token in the cookie
 * @returns the id of the session; null when the user was deleted, is not active, or has changed the password since
 */
export async function insertSession(
  database: Knex,
  session: {
    userId: string
    passwordHash: string | null
    kind: SessionKind
    secretHash: Uint8Array
    userAgent: string | null
    expiresAt: Date
  },
): Promise<string | null> {
  const { userId, passwordHash, kind, secretHash: token_hash, userAgent: user_agent, expiresAt: expires_at } = session
  return database.transaction(async (transaction) => {
    // Locked until the session is inserted: a change of the user comes before, and is visible here, or after, and ends the session.
    const user = await transaction('users').first('password_hash').where({ id: userId, is_active: true }).forShare()
    if (!user || (passwordHash !== null && user.password_hash !== passwordHash)) return null
    const [{ id: session_id }] = await transaction('sessions').insert({ user_id: userId, expires_at, user_agent }, ['id'])
    if (kind === 'cookie') await transaction('browser_sessions').insert({ token_hash, session_id })
    else await transaction('refresh_tokens').insert({ token_hash, session_id, expires_at })
    return session_id as string
  })
}

/** The session that the token of a browser names, whether it has ended or not. */
export async function findBrowserSession(database: Knex, tokenHash: Uint8Array): Promise<{ userId: string; sessionId: string } | null> {
  const row = await database('browser_sessions AS b')
    .join('sessions AS s', 's.id', 'b.session_id')
    .first({ userId: 's.user_id', sessionId: 's.id' })
    .where('b.token_hash', tokenHash)
  return row ?? null
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
    await transaction('sessions').where({ id: sessionId }).update({ expires_at: expiresAt, last_used_at: now })
    return { outcome: 'rotated', sessionId, user }
  })
}

/**
 * Records when sessions were last used. Those of browsers end some time after that.
 * @param uses the time of the last use, by the id of the session
 */
export async function recordSessionUses(
  database: Knex,
  uses: ReadonlyMap<string, Date>,
  { browserDays }: { browserDays: number },
): Promise<void> {
  if (uses.size === 0) return
  await database.raw(
    `UPDATE sessions AS s SET last_used_at = greatest(s.last_used_at, used.at),
       expires_at = CASE WHEN b.session_id IS NULL THEN s.expires_at ELSE greatest(s.expires_at, used.at + make_interval(days => ?)) END
     FROM unnest(?::uuid[], ?::timestamptz[]) AS used(id, at) LEFT JOIN browser_sessions b ON b.session_id = used.id WHERE s.id = used.id`,
    [browserDays, [...uses.keys()], [...uses.values()].map((at) => at.toISOString())],
  )
}

/** Ends a session of a user. @returns false when there is none that has not ended */
export async function revokeSession(database: Knex, { sessionId, userId }: { sessionId: string; userId: string }): Promise<boolean> {
  return await database.transaction(async (trx) => {
    const ended = await open(trx('sessions'), userId).where('id', sessionId).update({ revoked_at: new Date() })
    if (ended > 0) await announceAccess(trx, [userId])
    return ended > 0
  })
}

/** The sessions of a user that have not ended, last used first. */
export async function listSessionRows(
  database: Knex,
  { userId, offset, limit }: { userId: string; offset: number; limit: number },
): Promise<{ total: number; rows: SessionRow[] }> {
  const total = await countRows(open(database('sessions'), userId))
  const rows: SessionRow[] = await open(database('sessions AS s'), userId)
    .leftJoin('browser_sessions AS b', 'b.session_id', 's.id')
    .leftJoin('app_sessions AS a', 'a.session_id', 's.id')
    .orderBy([{ column: 's.last_used_at', order: 'desc' }, 's.id'])
    .offset(offset)
    .limit(limit)
    .select({
      id: 's.id',
      kind: database.raw(`CASE WHEN b.session_id IS NOT NULL THEN 'browser' WHEN a.session_id IS NOT NULL THEN 'app' ELSE 'tokens' END`),
      userAgent: 's.user_agent',
      createdAt: 's.created_at',
      lastUsedAt: 's.last_used_at',
      expiresAt: 's.expires_at',
    })
  return { total, rows }
}

/** Of `sessions`, those of a user that have not ended. */
const open = <Query extends Knex.QueryBuilder>(sessions: Query, userId: string): Query =>
  sessions.where('user_id', userId).whereNull('revoked_at').where('expires_at', '>', new Date()) as Query

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
