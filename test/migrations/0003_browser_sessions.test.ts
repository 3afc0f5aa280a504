import t from 'tap'
import { hashSecret, makeBrowserToken } from '#core/account/browser-sessions.ts'
import { insertSession } from '#core/account/session-store.ts'
import { migrate } from '#core/database/database.ts'
import { down, up } from '#migrations/0003_browser_sessions.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addCaller } from '#test/support/library-rows.ts'

t.test('sessions stay when the migration runs, and those of browsers end when it is taken back', async (t) => {
  const { database } = await openTestDatabase(t, { empty: true })
  await migrate(database)
  const { userId } = await addCaller(database)
  const ids: Record<string, string | null> = {}
  for (const kind of ['tokens', 'cookie'] as const) {
    const secretHash = hashSecret(makeBrowserToken())
    const expiresAt = new Date(Date.now() + 86_400_000)
    ids[kind] = await insertSession(database, { userId, passwordHash: null, kind, secretHash, userAgent: 'A browser', expiresAt })
  }
  await database.transaction(down)
  t.same(await database('sessions').pluck('id'), [ids['tokens']], 'nobody could recognize the cookie any more')
  t.same(await database('refresh_tokens').pluck('session_id'), [ids['tokens']])
  const columns = () => database('information_schema.columns').where('table_name', 'sessions').orderBy('column_name').pluck('column_name')
  t.same(await columns(), ['created_at', 'expires_at', 'id', 'revoked_at', 'user_id'])
  await database.transaction(up)
  const [session] = await database('sessions').select('last_used_at', 'created_at', 'user_agent')
  t.same(session.last_used_at, session.created_at)
  t.equal(session.user_agent, null)
})
