import type { Knex } from 'knex'
import type { Static } from 'typebox'
import Type from 'typebox'
import type { Caller } from '#core/account/caller.ts'
import { listSessionRows, revokeSession } from '#core/account/session-store.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Noun, Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'

/** One sign-in of a user that has not ended. */
export const Session = Noun('Session')({
  id: Uuid,
  kind: OneOf(['browser', 'tokens', 'app']),
  userAgent: Nullable(
    Type.String({ description: 'How the program named itself at the sign-in; null for client apps of the compatibility API.' }),
  ),
  createdAt: Timestamp,
  lastUsedAt: { ...Timestamp, description: 'Exact to a minute.' },
  expiresAt: { ...Timestamp, description: 'Each use of a browser, and each refresh of tokens, moves it.' },
  isCurrent: Type.Boolean({ description: 'Whether this request belongs to it.' }),
})
export type Session = Static<typeof Session>

/** Sessions belong to the person who signed in: a key, which may be somebody's app, neither sees nor ends them. */
function refuseKey({ sessionId }: Caller): void {
  if (sessionId === undefined) refuse('forbidden', 'An API key can neither list nor end sessions; sign in instead.')
}

/** The caller's own sessions, last used first. @throws forbidden (with an API key) */
export async function listOwnSessions(
  database: Knex,
  by: Caller,
  window: { offset: number; limit: number },
): Promise<{ items: Session[]; total: number }> {
  refuseKey(by)
  const { total, rows } = await listSessionRows(database, { userId: by.userId, ...window })
  const items = rows.map((row) => ({
    id: row.id,
    kind: row.kind,
    userAgent: row.userAgent,
    createdAt: row.createdAt.toISOString(),
    lastUsedAt: row.lastUsedAt.toISOString(),
    expiresAt: row.expiresAt.toISOString(),
    isCurrent: row.id === by.sessionId,
  }))
  return { items, total }
}

/** Ends a session of the caller. @throws forbidden (with an API key), not_found */
export async function endOwnSession(database: Knex, sessionId: string, by: Caller): Promise<void> {
  refuseKey(by)
  if (!(await revokeSession(database, { sessionId, userId: by.userId }))) refuse('not_found', 'You have no such session.')
}
