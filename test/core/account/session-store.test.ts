import t from 'tap'
import { hashSecret, makeBrowserToken } from '#core/account/browser-sessions.ts'
import { findBrowserSession, insertSession, purgeSessions, recordSessionUses } from '#core/account/session-store.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addCaller } from '#test/support/library-rows.ts'

const DAY_MS = 86_400_000
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS)

t.test('each use of the session of a browser moves its end, and no use moves that of tokens', async (t) => {
  const { database } = await openTestDatabase(t)
  const { userId } = await addCaller(database)
  const begin = async (kind: 'tokens' | 'cookie') => {
    const secretHash = hashSecret(makeBrowserToken())
    const session = { userId, passwordHash: null, kind, secretHash, userAgent: null, expiresAt: inDays(1) }
    return (await insertSession(database, session)) as string
  }
  const [browser, tokens] = [await begin('cookie'), await begin('tokens')]
  const endOf = async (id: string) => {
    const row = await database('sessions').where({ id }).first('expires_at', 'last_used_at')
    return [Math.round((row.expires_at.getTime() - Date.now()) / DAY_MS), Math.round((row.last_used_at.getTime() - Date.now()) / DAY_MS)]
  }
  const use = (at: Date) => recordSessionUses(database, new Map([browser, tokens].map((id) => [id, at])), { browserDays: 30 })
  await use(inDays(2))
  t.same(
    [await endOf(browser), await endOf(tokens)],
    [
      [32, 2],
      [1, 2],
    ],
  )
  await use(inDays(-2))
  t.same(await endOf(browser), [32, 2], 'a node that writes late takes nothing back')
  await recordSessionUses(database, new Map(), { browserDays: 30 })
})

t.test('the token of a browser finds its session until that is deleted', async (t) => {
  const { database } = await openTestDatabase(t)
  const { userId } = await addCaller(database)
  const [token, other] = [makeBrowserToken(), makeBrowserToken()]
  const session = { userId, passwordHash: null, kind: 'cookie' as const, secretHash: hashSecret(token), userAgent: null }
  const sessionId = await insertSession(database, { ...session, expiresAt: inDays(-2) })
  t.same(await findBrowserSession(database, hashSecret(token)), { userId, sessionId })
  t.equal(await findBrowserSession(database, hashSecret(other)), null)
  t.equal(await purgeSessions(database, inDays(-1)), 1)
  t.equal(await findBrowserSession(database, hashSecret(token)), null)
})
