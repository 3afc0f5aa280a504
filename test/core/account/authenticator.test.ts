import t from 'tap'
import type { Caller } from '#core/account/caller.ts'
import { ADMIN, openTestServer } from '#test/support/server.ts'

t.setTimeout(60_000)

const PASSWORD = 'a long enough password'

async function openCountingServer(t: Parameters<typeof openTestServer>[0]) {
  const server = await openTestServer(t)
  const statements: string[] = []
  server.database.on('query', ({ sql }: { sql: string }) => statements.push(sql))
  const basic = (username: string, password: string, address = '10.0.0.1') =>
    server.accounts.callers.ofBasic({ username, password, address })
  return { ...server, statements, basic, count: (part: string) => statements.filter((sql) => sql.includes(part)).length }
}

t.test('of many concurrent requests with one password, only one verifies it', async (t) => {
  const { basic, count } = await openCountingServer(t)
  const found = await Promise.all(Array.from({ length: 30 }, () => basic(ADMIN.username, ADMIN.password)))
  t.ok(found.every((caller) => caller?.username === ADMIN.username))
  t.equal(count('typed.folded'), 1)
  await basic(ADMIN.username, ADMIN.password)
  t.equal(count('typed.folded'), 1, 'and the result is cached')
  t.same(await Promise.all(Array.from({ length: 10 }, () => basic(ADMIN.username, 'wrong'))), Array(10).fill(null))
  t.equal(count('typed.folded'), 2, 'a wrong one also counts as one failure')
  await Promise.all([basic(ADMIN.username, 'worse', '10.0.0.2'), basic(ADMIN.username, 'worse', '10.0.0.3')])
  t.equal(count('typed.folded'), 4, 'failures count per address')
})

t.test('a change of a user drops the cache of that user only', async (t) => {
  const { accounts, basic, count, statements, adminToken, signUp } = await openCountingServer(t)
  const rita = await signUp({ username: 'rita' })
  const otto = await signUp({ username: 'otto' })
  await accounts.editUser(otto.id, { password: PASSWORD }, null)
  const { key } = await accounts.createApiKey({ name: 'app' }, (await accounts.callers.ofToken(rita.token, 'token')) as Caller)
  const showAll = () =>
    Promise.all([accounts.callers.ofToken(rita.token, 'token'), accounts.callers.ofApiKey(key), basic(ADMIN.username, ADMIN.password)])
  await showAll()
  statements.length = 0
  await basic('otto', PASSWORD)
  const asked = count('typed.folded')
  await accounts.editUser(otto.id, { email: 'new@example.org' }, null)
  await t.rejects(accounts.editUser(rita.id, { username: 'otto' }, null), { code: 'conflict' })
  statements.length = 0
  t.ok((await showAll()).every((caller) => caller !== null))
  t.same(statements, [], 'the others are still cached')
  await basic('otto', PASSWORD)
  t.equal(count('typed.folded'), asked, 'the changed user is loaded again')

  await accounts.editUser(rita.id, { isActive: false }, null)
  t.same(
    (await showAll()).map((caller) => caller?.username ?? null),
    [null, null, ADMIN.username],
  )
  await accounts.editUser(rita.id, { isActive: true }, null)
  t.equal((await accounts.callers.ofApiKey(key))?.username, 'rita')
  await accounts.removeUser(rita.id, null)
  t.equal(await accounts.callers.ofApiKey(key), null)
  t.equal((await accounts.callers.ofToken(adminToken, 'token'))?.username, ADMIN.username)
})

t.test('an app session creates and changes no API key, in any protocol', async (t) => {
  const { accounts, basic, adminToken } = await openCountingServer(t)
  const session = await accounts.callers.beginAppSession((await basic(ADMIN.username, ADMIN.password)) as Caller, { remembered: false })
  const by = (await accounts.callers.ofAppSession(session?.token as string)) as Caller
  t.equal(by.via, 'app_session')
  const person = (await accounts.callers.ofToken(adminToken, 'token')) as Caller
  const { id } = await accounts.createApiKey({ name: 'mine' }, person)
  for (const caller of [by, (await accounts.callers.ofToken(adminToken, 'cookie')) as Caller]) {
    await t.rejects(accounts.createApiKey({ name: 'app' }, caller), { code: 'forbidden', message: /app session/ })
    await t.rejects(accounts.editApiKey(id, { name: 'app' }, caller), { code: 'forbidden' })
    await t.rejects(accounts.removeApiKey(id, caller), { code: 'forbidden' })
    t.match(await accounts.getApiKey(id, caller), { name: 'mine' }, 'it may read them')
  }
  for (const caller of [person, (await basic(ADMIN.username, ADMIN.password)) as Caller])
    await t.resolves(accounts.createApiKey({ name: 'by hand' }, caller))
})
