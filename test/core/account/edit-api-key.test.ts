import t, { type Test } from 'tap'
import { enableKomga } from '#test/support/komga-switch.ts'
import { openTestServer, type TestServer } from '#test/support/server.ts'

const DAY_MS = 86_400_000
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString()
/** How a key may be sent, each another way for the same caller. */
const WAYS: Record<string, (key: string) => Record<string, string>> = {
  bearer: (key) => ({ authorization: `Bearer ${key}` }),
  'x-api-key': (key) => ({ 'x-api-key': key }),
}

interface Key {
  id: string
  key: string
  expiresAt: string | null
  permissions: string[]
}

async function openKeys(t: Test, role: 'reader' | 'maintainer' | 'admin' = 'maintainer') {
  const server = await openTestServer(t)
  await enableKomga(server.database)
  const { token, id } = await server.signUp({ username: 'mia', role })
  const signedIn = { authorization: `Bearer ${token}` }
  const make = async (body: object, headers: Record<string, string> = signedIn) =>
    await server.request<Key>('POST', '/api/v1/api-keys', { headers, body: { name: 'a key', ...body } })
  const edit = async (keyId: string, body: object, headers: Record<string, string> = signedIn) =>
    await server.request<Key>('PATCH', `/api/v1/api-keys/${keyId}`, { headers, body })
  return { server, id, signedIn, make, edit }
}

const stored = async ({ database }: TestServer, id: string) =>
  await database('api_keys').where({ id }).first('name', 'expires_at', 'permissions', 'is_active')

t.test('a key that ends makes no key that ends later, however it is sent', async (t) => {
  const { server, make, edit } = await openKeys(t)
  const own = (await make({ expiresAt: inDays(10) })).json
  for (const [name, headersOf] of Object.entries(WAYS)) {
    const headers = headersOf(own.key)
    for (const expiresAt of [null, inDays(11), '9999-12-31T23:59:59Z', new Date(Date.parse(own.expiresAt!) + 1).toISOString()])
      t.match(
        await make({ expiresAt }, headers),
        { status: 403, json: { error: 'forbidden', details: { expiresAt: own.expiresAt } } },
        `${name}: until ${expiresAt}`,
      )
    t.equal((await make({}, headers)).json.expiresAt, own.expiresAt, `${name}: without a word it ends at the same moment`)
    t.equal((await make({ expiresAt: own.expiresAt }, headers)).status, 201)
    t.equal((await make({ expiresAt: inDays(9) }, headers)).status, 201)
  }
  // Of keys of keys.
  const child = (await make({ expiresAt: inDays(5) }, WAYS['bearer']!(own.key))).json
  t.equal((await make({ expiresAt: inDays(6) }, WAYS['bearer']!(child.key))).status, 403)
  t.equal((await make({}, WAYS['bearer']!(child.key))).json.expiresAt, child.expiresAt)
  t.equal((await edit(own.id, { name: 'mine' }, WAYS['bearer']!(child.key))).status, 403, 'nor does it change the one that made it')

  const basic = { authorization: `Basic ${Buffer.from(`mia:${own.key}`).toString('base64')}` }
  const made = await server.request<{ id: string }>('POST', '/komga/api/v1/users/me/api-keys', { headers: basic, body: { comment: 'app' } })
  t.equal(made.status, 200)
  t.equal((await stored(server, made.json.id)).expires_at.toISOString(), own.expiresAt, 'nor through the compatibility API')
})

t.test('a key that ends prolongs neither itself nor another', async (t) => {
  const { server, id, signedIn, make, edit } = await openKeys(t)
  const own = (await make({ expiresAt: inDays(10) })).json
  const [longer, shorter, endless] = [
    (await make({ expiresAt: inDays(20) })).json,
    (await make({ expiresAt: inDays(5) })).json,
    (await make({})).json,
  ]
  const headers = WAYS['bearer']!(own.key)
  for (const expiresAt of [null, inDays(11)]) {
    t.equal((await edit(own.id, { expiresAt }, headers)).status, 403, 'itself')
    t.equal((await edit(shorter.id, { expiresAt }, headers)).status, 403, 'a shorter one')
    t.equal((await edit(shorter.id, { name: 'x', isActive: true, permissions: [], expiresAt }, headers)).status, 403)
  }
  for (const key of [longer, endless]) {
    for (const change of [{ name: 'taken over' }, { isActive: true }, { expiresAt: inDays(1) }, { permissions: ['books-read'] }])
      t.equal((await edit(key.id, change, headers)).status, 403, `a longer one: ${JSON.stringify(change)}`)
  }
  t.match(await stored(server, endless.id), { name: 'a key', expires_at: null })
  t.equal((await edit(own.id, { expiresAt: inDays(4), name: 'shorter' }, headers)).status, 200, 'it may end sooner')
  t.equal((await edit(own.id, { expiresAt: inDays(5) }, headers)).status, 403, 'and not go back')
  t.equal((await edit(own.id, { expiresAt: null }, signedIn)).status, 200, 'the user may')
  t.equal((await make({ expiresAt: null }, headers)).status, 201, 'and then its keys last, too')

  // Of another user, with the rights of an administrator.
  const admin = { authorization: `Bearer ${server.adminToken}` }
  const adminKey = (await make({ expiresAt: inDays(10) }, admin)).json
  t.equal((await edit(shorter.id, { expiresAt: null }, WAYS['bearer']!(adminKey.key))).status, 403)
  t.equal((await edit(endless.id, { isActive: false }, WAYS['bearer']!(adminKey.key))).status, 403)
  t.equal((await edit(shorter.id, { expiresAt: inDays(6) }, WAYS['bearer']!(adminKey.key))).status, 200)
  t.ok(id)
})

t.test('a narrow key makes no wide one, nor one that becomes wide when its user does', async (t) => {
  const { server, id, signedIn, make, edit } = await openKeys(t)
  const narrow = (await make({ permissions: ['api-keys-write', 'books-read'] })).json
  const headers = WAYS['bearer']!(narrow.key)
  t.equal((await make({ permissions: ['books-read', 'books-write'] }, headers)).status, 403)
  t.same((await make({}, headers)).json.permissions.sort(), ['api-keys-write', 'books-read'])
  const wide = (await make({ permissions: ['books-read', 'books-write'] })).json
  await edit(wide.id, { isActive: false })
  t.equal((await edit(wide.id, { isActive: true }, headers)).status, 403)
  await server.accounts.editUser(id, { role: 'reader' }, null)
  t.equal((await edit(wide.id, { isActive: true }, headers)).status, 403, 'not while its user may not write either')
  t.equal((await edit(narrow.id, { permissions: ['api-keys-write', 'books-read', 'books-write'] }, headers)).status, 403)
  t.equal((await edit(wide.id, { name: 'mine' }, signedIn)).status, 200, 'the user may change what is theirs')
  t.match(await stored(server, wide.id), { is_active: false })
})
