import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { AppSessions } from '#core/account/app-sessions.ts'
import { openTestServer } from '#test/support/server.ts'

async function openSessions(t: Test) {
  const { database, accounts, adminId, adminToken } = await openTestServer(t)
  const key = randomBytes(32)
  const open = () => new AppSessions({ database, key, rememberedDays: 30 })
  const { password_hash: passwordHash } = await database('users').where({ id: adminId }).first('password_hash')
  return { database, accounts, adminId, adminToken, open, ground: { userId: adminId, passwordHash, apiKeyId: null } }
}

t.test('an app session has the rights of the credential that opened it', async (t) => {
  const { database, open, ground, adminId } = await openSessions(t)
  const sessions = open()
  const [first, second, remembered] = await Promise.all([
    sessions.begin(ground, false),
    sessions.begin(ground, false),
    sessions.begin(ground, true),
  ])
  t.equal(first?.token, second?.token, 'the same session for the same credential')
  t.not(first?.token, remembered?.token)
  t.equal(Number((await database('app_sessions').count('* AS count').first())?.['count']), 2)
  t.match(await sessions.find(first?.token as string), { user: { id: adminId }, key: null })
  t.match(await open().find(first?.token as string), { user: { id: adminId } }, 'on another node too')
  t.equal((await open().begin(ground, false))?.token, first?.token, 'which returns the same session for the same credential')
  sessions.forget(adminId)
  t.equal((await sessions.begin(ground, false))?.token, first?.token, 'and so does this node with an empty cache')
  t.notMatch(JSON.stringify(await database('app_sessions')), first?.token.slice(-43), 'the token itself is not stored')
  t.equal(await sessions.begin({ ...ground, passwordHash: 'another' }, false), null, 'a password that has changed')
  t.equal(await sessions.begin({ ...ground, userId: '00000000-0000-4000-8000-000000000000' }, false), null)
})

t.test('a forged token costs no query', async (t) => {
  const { open, ground } = await openSessions(t)
  const sessions = open()
  const { token } = (await sessions.begin(ground, false))!
  const [secret = '', signature = ''] = token.split('.')
  const forged = [
    '',
    'x',
    token.slice(1),
    `${secret}.${'A'.repeat(43)}`,
    `${'A'.repeat(22)}.${signature}`,
    `${token} `,
    `${secret}.${'ä'.repeat(43)}`,
  ]
  for (const wrong of forged) t.equal(await sessions.find(wrong), null, JSON.stringify(wrong))
  const other = new AppSessions({ database: null as never, key: randomBytes(32), rememberedDays: 1 })
  t.equal(await other.find(token), null, 'signed by another key')
})

t.test('an app session ends with its user or its key, and their number is limited', async (t) => {
  const { database, accounts, adminToken } = await openSessions(t)
  const admin = (await accounts.callers.ofToken(adminToken, 'token'))!
  const byKey = async () => {
    const { key, id } = await accounts.createApiKey({ name: 'an app', permissions: ['books-read'] }, admin)
    const caller = (await accounts.callers.ofApiKey(key))!
    return { id, session: (await accounts.callers.beginAppSession(caller, { remembered: false }))! }
  }
  const first = await byKey()
  t.match(
    await accounts.callers.ofAppSession(first.session.token),
    { via: 'app_session', permissions: new Set(['books-read']) },
    'no more than the key',
  )
  t.equal(await accounts.callers.beginAppSession(admin, { remembered: false }), null, 'a token opens no app session')
  await accounts.editApiKey(first.id, { isActive: false }, admin)
  t.equal(await accounts.callers.ofAppSession(first.session.token), null, 'the key was deactivated')
  const second = await byKey()
  await accounts.removeApiKey(second.id, admin)
  t.equal(await accounts.callers.ofAppSession(second.session.token), null, 'the key was deleted')
  const third = await byKey()
  await accounts.logout((await accounts.callers.ofAppSession(third.session.token))!)
  t.equal(await accounts.callers.ofAppSession(third.session.token), null, 'it was ended')
  const fourth = await byKey()
  await accounts.editUser(admin.userId, { password: 'another password 2' }, admin)
  t.equal(await accounts.callers.ofAppSession(fourth.session.token), null, 'the password was changed')
  const sessions = new AppSessions({ database, key: randomBytes(32), rememberedDays: 1 })
  const { id: userId } = await database('users').first('id')
  for (let index = 0; index < 30; index++) {
    const key = { user_id: userId, name: 'app', key_prefix: `carrel_${index}`, key_hash: Buffer.from([index]), permissions: [] }
    const [{ id: apiKeyId }] = await database('api_keys').insert(key, 'id')
    for (const remembered of [false, true]) await sessions.begin({ userId, passwordHash: null, apiKeyId }, remembered)
  }
  t.equal(Number((await database('app_sessions').count('* AS count').first())?.['count']), 50)
})
