import { createHash } from 'node:crypto'
import t from 'tap'
import type { ListPage } from '#api/http/pagination.ts'
import type { ApiKey, NewApiKeyAnswer } from '#core/account/api-key.ts'
import type { UserInfo } from '#core/account/user.ts'
import { openTestServer } from '#test/support/server.ts'

interface Failure {
  error: string
  message: string
}

t.test('a key is shown once, stored as a hash, and works in both headers', async (t) => {
  const server = await openTestServer(t)
  const token = server.adminToken
  const made = await server.request<NewApiKeyAnswer>('POST', '/api/v1/api-keys', { token, body: { name: 'tablet' } })
  t.equal(made.status, 201)
  const { key, ...shown } = made.json
  t.match(key, /^carrel_[0-9a-f]{16}_[0-9a-f]{64}$/)
  t.match(shown, { name: 'tablet', keyPrefix: key.slice(0, 23), userId: server.adminId, isActive: true, expiresAt: null, lastUsedAt: null })
  t.ok(shown.permissions.includes('system-admin'), 'everything its owner may do')
  const [row] = await server.database('api_keys').select('*')
  t.same(row.key_hash, createHash('sha256').update(key).digest())
  t.notMatch(JSON.stringify(row), key.slice(24))

  for (const headers of [{ 'x-api-key': key }, { authorization: `Bearer ${key}` }] as Record<string, string>[]) {
    t.equal((await server.request('GET', '/api/v1/users', { headers })).status, 200)
  }
  t.equal(
    (await server.request('GET', '/api/v1/users', { headers: { 'x-api-key': `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}` } }))
      .status,
    401,
  )
  t.same((await server.request<ApiKey>('GET', `/api/v1/api-keys/${shown.id}`, { token })).json, shown, 'the use is not written down yet')
  await server.accounts.close()
  t.match((await server.request<ApiKey>('GET', `/api/v1/api-keys/${shown.id}`, { token })).json.lastUsedAt, String, 'now it is')
})

t.test('a key may do what it was given, in any spelling, and never more than its owner', async (t) => {
  const server = await openTestServer(t)
  const rita = await server.signUp({ username: 'rita', role: 'maintainer' })
  const make = (body: object, token = rita.token) => server.request<NewApiKeyAnswer & Failure>('POST', '/api/v1/api-keys', { token, body })
  t.same((await make({ name: 'a', permissions: ['libraries:read', 'books-read', 'SeriesRead', 'LIBRARIES_READ'] })).json.permissions, [
    'libraries-read',
    'books-read',
    'series-read',
  ])
  t.match(await make({ name: 'b', permissions: ['books-read', 'users-read'] }), {
    status: 403,
    json: { error: 'forbidden', message: /users-read/ },
  })
  t.match(await make({ name: 'c', permissions: ['fly'] }), { status: 422, json: { error: 'invalid_value' } })
  t.match(await make({ name: 'd', expiresAt: '2001-01-01T00:00:00Z' }), { status: 422 })
  t.match(await make({ name: '' }), { status: 422 })

  const narrow = (await make({ name: 'e', permissions: ['api-keys-write', 'api-keys-read', 'tasks-read'] })).json
  const me = await server.request<UserInfo>('GET', '/api/v1/auth/me', { token: narrow.key })
  t.same(me.json.permissions, ['api-keys-write', 'api-keys-read', 'tasks-read'])
  t.equal((await make({ name: 'f', permissions: ['books-read'] }, narrow.key)).status, 403, 'a key cannot make a wider key')
  t.same((await make({ name: 'g' }, narrow.key)).json.permissions, narrow.permissions)
  await server.accounts.editUser(rita.id, { role: 'reader' }, null)
  t.same((await server.request<UserInfo>('GET', '/api/v1/auth/me', { token: narrow.key })).json.permissions, [
    'api-keys-write',
    'api-keys-read',
  ])
  await server.accounts.editUser(rita.id, { isActive: false }, null)
  t.equal((await server.request('GET', '/api/v1/auth/me', { token: narrow.key })).status, 401)
})

t.test('keys are listed, changed, switched off and deleted; those of others do not exist', async (t) => {
  const server = await openTestServer(t)
  const [rita, rolf] = [await server.signUp({ username: 'rita' }), await server.signUp({ username: 'rolf' })]
  const make = async (name: string, token = rita.token) =>
    (await server.request<NewApiKeyAnswer>('POST', '/api/v1/api-keys', { token, body: { name, expiresAt: '2099-01-01T00:00:00Z' } })).json
  const keys = [await make('one'), await make('two'), await make('three')]
  const [one] = keys as [NewApiKeyAnswer]
  const list = (query: string, token = rita.token) => server.request<ListPage<ApiKey>>('GET', `/api/v1/api-keys${query}`, { token })
  t.match((await list('?pageSize=2')).json, {
    total: 3,
    totalPages: 2,
    data: [{ name: 'one' }, { name: 'two' }],
    links: { next: '/api/v1/api-keys?page=2&pageSize=2' },
  })
  t.notMatch((await list('')).text, /"key"/)
  t.equal((await list('', rolf.token)).json.total, 0)

  const path = `/api/v1/api-keys/${one.id}`
  for (const [method, body] of [
    ['GET', undefined],
    ['PATCH', { name: 'mine now' }],
    ['DELETE', undefined],
  ] as const) {
    t.equal((await server.request(method, path, { token: rolf.token, body })).status, 404, `${method} by another reader`)
  }
  t.equal((await server.request('GET', path, { token: server.adminToken })).status, 200, 'users-read sees it')

  const works = async () => (await server.request('GET', '/api/v1/auth/me', { token: one.key })).status
  t.equal(await works(), 200)
  const patch = (body: object) => server.request<ApiKey>('PATCH', path, { token: rita.token, body })
  t.match((await patch({ name: 'uno', permissions: ['books:read'] })).json, {
    name: 'uno',
    permissions: ['books-read'],
    expiresAt: '2099-01-01T00:00:00.000Z',
  })
  t.equal((await patch({ permissions: ['tasks-write'] })).status, 403)
  t.equal((await patch({ expiresAt: null })).json.expiresAt, null)
  t.equal((await patch({ isActive: false })).json.isActive, false)
  t.equal(await works(), 401)
  await patch({ isActive: true })
  t.equal(await works(), 200)
  await server
    .database('api_keys')
    .where({ id: one.id })
    .update({ expires_at: new Date(Date.now() - 1000) })
  await patch({ name: 'expired' })
  t.equal(await works(), 401)
  await patch({ expiresAt: null })
  t.equal(await works(), 200)
  t.equal((await server.request('DELETE', path, { token: rita.token })).status, 204)
  t.equal(await works(), 401, 'at once')
  t.equal((await server.request('DELETE', path, { token: rita.token })).status, 404)
})

t.test('an end that is no point in time to come is refused, whatever its spelling', async (t) => {
  const server = await openTestServer(t)
  const ask = (method: string, path: string, expiresAt: string) =>
    server.request<NewApiKeyAnswer & Failure>(method, path, {
      token: server.adminToken,
      body: { expiresAt, ...(method === 'POST' && { name: 'k' }) },
    })
  const { id } = (await ask('POST', '/api/v1/api-keys', '2099-01-01T00:00:00Z')).json
  for (const [method, path] of [
    ['POST', '/api/v1/api-keys'],
    ['PATCH', `/api/v1/api-keys/${id}`],
  ] as const) {
    for (const expiresAt of ['2001-01-01T00:00:00Z', '2099-12-31T23:59:60Z', '9999-12-31T23:59:59-10:00']) {
      t.match(await ask(method, path, expiresAt), { status: 422, json: { error: 'invalid_value' } }, `${method} ${expiresAt}`)
    }
    for (const [expiresAt, stored] of [
      ['2099-01-01T00:00:00+16:00', '2098-12-31T08:00:00.000Z'],
      ['2099-01-01T00:00:00-23:59', '2099-01-01T23:59:00.000Z'],
      ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ] as const) {
      const answer = await ask(method, path, expiresAt)
      t.match([answer.status, answer.json.expiresAt], [method === 'POST' ? 201 : 200, stored], `${method} ${expiresAt}`)
    }
    for (const expiresAt of ['+010000-01-01T00:00:00Z', '12026-01-01T00:00:00Z', '2099-01-01T00:00:00+99:99', '2099-02-30T00:00:00Z']) {
      const { status } = await ask(method, path, expiresAt)
      t.ok(status === 400 || status === 422, `${method} ${expiresAt} answers ${status}`)
    }
  }
})

t.test('nobody rules over a key whose owner, or that itself, may do more', async (t) => {
  const server = await openTestServer(t)
  const deputy = await server.signUp({ username: 'dora', permissions: ['users-read', 'users-write', 'users-delete'] })
  const reader = await server.signUp({ username: 'rolf' })
  const make = async (token: string, permissions?: string[]) =>
    (await server.request<NewApiKeyAnswer>('POST', '/api/v1/api-keys', { token, body: { name: 'k', permissions } })).json
  const revoked = await make(server.adminToken, ['books-read'])
  const path = `/api/v1/api-keys/${revoked.id}`
  await server.request('PATCH', path, { token: server.adminToken, body: { isActive: false } })
  for (const body of [{ isActive: true }, { name: 'mine' }, { expiresAt: null }, { permissions: ['books-read'] }, {}]) {
    t.match(await server.request<Failure>('PATCH', path, { token: deputy.token, body }), {
      status: 403,
      json: { error: 'forbidden', message: /system-admin/ },
    })
  }
  t.equal((await server.request('DELETE', path, { token: deputy.token })).status, 403)
  t.equal((await server.request('GET', path, { token: deputy.token })).status, 200, 'to see that there is one is what users-read is for')
  t.equal((await server.request('GET', '/api/v1/auth/me', { token: revoked.key })).status, 401, 'it stays off')

  const theirs = await make(reader.token)
  t.equal((await server.request('PATCH', `/api/v1/api-keys/${theirs.id}`, { token: deputy.token, body: { isActive: false } })).status, 200)
  t.equal((await server.request('DELETE', `/api/v1/api-keys/${theirs.id}`, { token: deputy.token })).status, 204, 'of a reader they may')

  const narrow = await make(server.adminToken, ['api-keys-write', 'api-keys-delete', 'users-write', 'users-delete'])
  const wide = await make(server.adminToken)
  for (const body of [{ isActive: true }, { expiresAt: '2099-01-01T00:00:00Z' }])
    t.equal(
      (await server.request('PATCH', `/api/v1/api-keys/${wide.id}`, { token: narrow.key, body })).status,
      403,
      'a narrow key of the same owner',
    )
  t.equal((await server.request('DELETE', `/api/v1/api-keys/${wide.id}`, { token: narrow.key })).status, 403)
  t.equal((await server.request('PATCH', `/api/v1/api-keys/${narrow.id}`, { token: narrow.key, body: { name: 'itself' } })).status, 200)
})

t.test('a user has at most 50 keys, also when many are asked for at once', async (t) => {
  const server = await openTestServer(t)
  const rita = await server.signUp({ username: 'rita' })
  const make = () => server.request<Failure>('POST', '/api/v1/api-keys', { token: rita.token, body: { name: 'k' } })
  await server.database('api_keys').insert(
    Array.from({ length: 45 }, (_, index) => ({
      ...{ user_id: rita.id, name: 'k', key_prefix: `carrel_${index}`, key_hash: Buffer.alloc(32, index), permissions: [] },
      is_active: index % 2 === 0,
    })),
  )
  const made = await Promise.all(Array.from({ length: 12 }, make))
  t.same(made.map(({ status }) => status).sort(), [...Array(5).fill(201), ...Array(7).fill(409)])
  t.match((await make()).json, { error: 'conflict', message: /50 API keys at most; delete one/ })
  await server.database('api_keys').where({ key_prefix: 'carrel_1' }).delete()
  t.equal((await make()).status, 201)
  t.equal(
    (await server.request('POST', '/api/v1/api-keys', { token: server.adminToken, body: { name: 'k' } })).status,
    201,
    'each their own',
  )
})
