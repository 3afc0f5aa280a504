import t from 'tap'
import { reportNarrowedKeys } from '#core/account/narrowed-keys-store.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openTestServer } from '#test/support/server.ts'

t.test('the first start names the keys that lose something, once', async (t) => {
  const server = await openTestServer(t)
  const { accounts, database } = server
  const warned: { fields: object; message: string }[] = []
  const log = { ...silentLog, warn: (fields: object, message: string) => void warned.push({ fields, message }) }
  const { id, token } = await server.signUp({ username: 'mia' })
  const off = await server.signUp({ username: 'off' })
  const make = async (by: string, name: string, permissions: string[]) =>
    await accounts.createApiKey({ name, permissions }, (await accounts.callers.ofToken(by, 'token'))!)
  const loses = await make(token, 'a script that rates', ['series-read', 'books-read'])
  await make(token, 'an app', ['series-read', 'progress-write'])
  await make(token, 'a monitor', ['system-health'])
  const ended = await make(token, 'ended', ['series-read'])
  await database('api_keys')
    .where({ id: ended.id })
    .update({ expires_at: new Date(0) })
  const revoked = await make(token, 'revoked', ['series-read'])
  await accounts.editApiKey(revoked.id, { isActive: false }, (await accounts.callers.ofToken(token, 'token'))!)
  await make(off.token, 'of a disabled account', ['series-read'])
  await accounts.editUser(off.id, { isActive: false }, null)

  await Promise.all([reportNarrowedKeys(database, log), reportNarrowedKeys(database, log)])
  t.match(warned, [
    { fields: { count: 1, keys: [{ key: loses.keyPrefix, name: 'a script that rates', user: 'mia' }] }, message: /progress-write/ },
  ])
  t.equal(warned.length, 1, 'by one of two nodes that start together')
  await reportNarrowedKeys(database, log)
  t.equal(warned.length, 1, 'and not again')

  const key = loses.key
  const [library] = await database('libraries').insert({ name: 'Shelf', path: '/shelf' }, 'id')
  const [series] = await database('series').insert({ library_id: library.id, title: 'Saga', path: 'saga' }, 'id')
  const rate = async () => (await server.request('PUT', `/api/v1/series/${series.id}/rating`, { token: key, body: { rating: 77 } })).status
  t.equal(await rate(), 403)
  await accounts.editApiKey(loses.id, { permissions: ['series-read', 'progress-write'] }, (await accounts.callers.ofToken(token, 'token'))!)
  t.equal(await rate(), 201, 'what it says helps')
  t.ok(id)
})

t.test('a new server has nothing to report', async (t) => {
  const { database } = await openTestServer(t, { admin: false })
  const warned: string[] = []
  await reportNarrowedKeys(database, { ...silentLog, warn: (_fields: object, message: string) => void warned.push(message) })
  t.same(warned, [])
})
