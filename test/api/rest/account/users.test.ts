import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { ListPage } from '#api/http/pagination.ts'
import type { EditedUser, User, UserDetail } from '#core/account/user.ts'
import { ADMIN, openTestServer } from '#test/support/server.ts'

interface Failure {
  error: string
  message: string
  details?: { path: string }[]
}

const NEW = { username: 'Rita', email: 'rita@example.org', password: 'password of rita' }
const UNKNOWN = '00000000-0000-4000-8000-000000000000'

t.test('users are made, listed, shown, changed and deleted', async (t) => {
  const server = await openTestServer(t)
  const token = server.adminToken
  const made = await server.request<User>('POST', '/api/v1/users', {
    token,
    body: { ...NEW, permissions: ['LibrariesWrite', 'tasks:read'] },
  })
  t.equal(made.status, 201)
  t.match(made.json, {
    username: 'Rita',
    email: NEW.email,
    role: 'reader',
    permissions: ['libraries-write', 'tasks-read'],
    isActive: true,
    lastLoginAt: null,
  })
  t.notMatch(made.text, /password|argon2/)
  const { id } = made.json

  const detail = await server.request<UserDetail>('GET', `/api/v1/users/${id}`, { token })
  t.same(detail.json, { ...made.json, sharingTags: [], access: { allLibraries: true, libraryIds: [], age: null } })
  const [tag] = await server.database('sharing_tags').insert({ name: 'Kids' }, ['id'])
  await server.database('user_sharing_grants').insert({ user_id: id, sharing_tag_id: tag.id, access_mode: 'deny' })
  t.match((await server.request<UserDetail>('GET', `/api/v1/users/${id}`, { token })).json.sharingTags, [
    { sharingTagId: tag.id, sharingTagName: 'Kids', accessMode: 'deny' },
  ])

  const list = async (query = '') => (await server.request<ListPage<User>>('GET', `/api/v1/users${query}`, { token })).json
  t.same(
    (await list()).data.map(({ username }) => username),
    ['ada', 'Rita'],
  )
  t.match(await list('?role=admin'), {
    total: 1,
    data: [{ username: 'ada' }],
    links: { self: '/api/v1/users?page=1&pageSize=50&role=admin' },
  })
  t.match(await list('?sharingTag=kids&sharingTagMode=deny'), { total: 1, data: [{ id }] })
  t.match(await list('?sharingTag=kids&sharingTagMode=allow'), { total: 0, data: [] })
  t.match(await list('?page=2&pageSize=1'), { data: [{ username: 'Rita' }], totalPages: 2 })

  const patch = (body: object) => server.request<User>('PATCH', `/api/v1/users/${id}`, { token, body })
  t.match((await patch({ email: 'rita@example.net', role: 'maintainer', username: null })).json, {
    username: 'Rita',
    email: 'rita@example.net',
    role: 'maintainer',
    permissions: made.json.permissions,
  })
  t.same((await patch({ permissions: null })).json.permissions, [])
  t.equal((await patch({})).json.username, 'Rita')
  t.equal((await server.request('DELETE', `/api/v1/users/${id}`, { token })).status, 204)
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    t.equal((await server.request(method, `/api/v1/users/${id}`, { token, ...(method === 'PATCH' && { body: {} }) })).status, 404, method)
  }
})

t.test('what is wrong with a user is told with its place', async (t) => {
  const server = await openTestServer(t)
  const table: [body: object, status: number, path?: string][] = [
    [{ ...NEW, password: 'short12' }, 422, '/password'],
    [{ ...NEW, password: 'x'.repeat(1025) }, 422, '/password'],
    [{ ...NEW, email: 'not an address' }, 422, '/email'],
    [{ ...NEW, username: 'a@b' }, 422, '/username'],
    [{ ...NEW, username: 'ri\nta' }, 422, '/username'],
    [{ ...NEW, username: 'a:b' }, 422, '/username'],
    // Characters that nobody sees would make one name look like another.
    ...['\u0085', '\u00ad', '\u061c', '\u180e', '\u200b', '\u200d', '\u202e', '\u2060', '\u2066', '\u3164', '\ufe0f', '\ufeff'].map(
      (unseen): [object, number, string] => [{ ...NEW, username: `ri${unseen}ta` }, 422, '/username'],
    ),
    [{ ...NEW, username: '' }, 422, '/username'],
    [{ ...NEW, role: 'king' }, 422, '/role'],
    [{ ...NEW, permissions: ['books-read', 'fly'] }, 422, '/permissions/1'],
    [{ ...NEW, password: 12345678 }, 400, '/password'],
    [{ username: 'rita' }, 400, '/email'],
    [{ ...NEW, isAdmin: true }, 400, '/isAdmin'],
    [{ ...NEW, username: 'ADA' }, 409],
    [{ ...NEW, email: 'Ada@Example.org' }, 409],
  ]
  for (const [body, status, path] of table) {
    const answer = await server.request<Failure>('POST', '/api/v1/users', { token: server.adminToken, body })
    t.equal(answer.status, status, JSON.stringify(body).slice(0, 100))
    if (path)
      t.ok(
        answer.json.details?.some((fault) => fault.path === path),
        path,
      )
  }
  for (const username of ['é', 'Ünal Ö', '李', 'a b', 'x.y-z_1']) {
    const body = { ...NEW, username, email: `u${username.length}${username.charCodeAt(0)}@example.org` }
    t.equal((await server.request('POST', '/api/v1/users', { token: server.adminToken, body })).status, 201, username)
  }
})

t.test('nobody rises above themselves', async (t) => {
  const server = await openTestServer(t)
  const deputy = await server.signUp({ username: 'dora', permissions: ['users-read', 'users-write', 'users-delete'] })
  const reader = await server.signUp({ username: 'rolf' })
  const ask = (method: string, path: string, body?: object) => server.request<Failure>(method, path, { token: deputy.token, body })
  t.equal((await ask('POST', '/api/v1/users', NEW)).status, 201, 'a reader')
  t.match((await ask('POST', '/api/v1/users', { ...NEW, username: 'x', email: 'x@example.org', role: 'admin' })).json, {
    error: 'forbidden',
    message: /system-admin/,
  })
  t.equal((await ask('PATCH', `/api/v1/users/${deputy.id}`, { role: 'admin' })).status, 403)
  t.equal((await ask('PATCH', `/api/v1/users/${reader.id}`, { permissions: ['plugins-manage'] })).status, 403)
  t.equal((await ask('PATCH', `/api/v1/users/${server.adminId}`, { password: 'taken over now' })).status, 403)
  t.equal((await ask('DELETE', `/api/v1/users/${server.adminId}`)).status, 403)
  t.equal((await ask('DELETE', `/api/v1/users/${UNKNOWN}`)).status, 404)
  for (const [method, path] of [
    ['GET', '/api/v1/users'],
    ['GET', `/api/v1/users/${reader.id}`],
    ['DELETE', `/api/v1/users/${reader.id}`],
  ] as const) {
    t.equal((await server.request(method, path, { token: reader.token })).status, 403, `${method} as a reader`)
  }
})

t.test('the last active administrator stays, also when two are removed at once', async (t) => {
  const server = await openTestServer(t)
  const token = server.adminToken
  const me = `/api/v1/users/${server.adminId}`
  for (const [method, body] of [
    ['PATCH', { role: 'reader' }],
    ['PATCH', { isActive: false }],
    ['DELETE', undefined],
  ] as const) {
    t.match(await server.request<Failure>(method, me, { token, body }), {
      status: 409,
      json: { error: 'conflict', message: /last active administrator/ },
    })
  }
  const second = await server.signUp({ username: 'zoe', role: 'admin' })
  await server.accounts.editUser(second.id, { isActive: false }, null)
  t.equal((await server.request('PATCH', me, { token, body: { role: 'reader' } })).status, 409, 'a disabled one does not count')
  await server.accounts.editUser(second.id, { isActive: true }, null)
  const answers = await Promise.all([
    server.accounts.editUser(second.id, { role: 'reader' }, null).then(
      () => 'done',
      (error) => error.code,
    ),
    server.accounts.removeUser(server.adminId, null).then(
      () => 'done',
      (error) => error.code,
    ),
  ])
  t.same([...answers].sort(), ['conflict', 'done'])
})

t.test('a new password and disabling end the sessions at once', async (t) => {
  const server = await openTestServer(t)
  const rita = await server.signUp({ username: 'rita' })
  const me = () => server.request('GET', '/api/v1/auth/me', { token: rita.token })
  t.equal((await me()).status, 200)
  const patch = (body: object) => server.request('PATCH', `/api/v1/users/${rita.id}`, { token: server.adminToken, body })
  await patch({ email: 'other@example.org' })
  t.equal((await me()).status, 200, 'not for other changes')
  await patch({ password: 'a new password' })
  t.equal((await me()).status, 401)
  const login = (password: string) =>
    server.request<{ accessToken: string }>('POST', '/api/v1/auth/login', { body: { username: 'rita', password } })
  t.equal((await login('rita has a password')).status, 401)
  rita.token = (await login('a new password')).json.accessToken
  t.equal((await me()).status, 200)
  await patch({ role: 'maintainer' })
  t.match((await me()).text, /"role":"maintainer"/, 'a new role counts at once')
  await patch({ isActive: false })
  t.equal((await me()).status, 401)
  await patch({ isActive: true })
  t.equal((await me()).status, 401, 'and the old session stays dead')
  await sleep(1)
  t.equal((await server.request('POST', '/api/v1/auth/login', { body: ADMIN })).status, 400, 'an unknown member')
})

t.test('a new password leaves API keys as they are, and says so, unless they are to end', async (t) => {
  const server = await openTestServer(t)
  const rita = await server.signUp({ username: 'rita' })
  const make = async (expiresAt: string | null = null) =>
    (await server.request<{ id: string; key: string }>('POST', '/api/v1/api-keys', { token: rita.token, body: { name: 'k', expiresAt } }))
      .json
  const keys = [await make(), await make(), await make('2099-01-01T00:00:00Z')]
  await server
    .database('api_keys')
    .where({ id: keys[1]?.id })
    .update({ expires_at: new Date(Date.now() - 1_000) })
  const patch = async (body: object) =>
    (await server.request<EditedUser>('PATCH', `/api/v1/users/${rita.id}`, { token: server.adminToken, body })).json
  const works = async () => (await server.request('GET', '/api/v1/auth/me', { token: keys[0]?.key ?? '' })).status
  t.equal((await patch({ email: 'r@example.net' })).apiKeysValid, 2, 'one of them has expired')
  t.equal((await patch({})).apiKeysValid, 2)
  t.equal((await patch({ password: 'a new password' })).apiKeysValid, 2)
  t.equal(await works(), 200)
  t.equal((await patch({ isActive: false })).apiKeysValid, 0, 'none of somebody who is shut out')
  t.equal((await patch({ isActive: true, password: 'another password', revokeApiKeys: true })).apiKeysValid, 0)
  t.equal(await works(), 401)
})

t.test('what somebody sees is not for those to change who may do less', async (t) => {
  const server = await openTestServer(t)
  const deputy = await server.signUp({ username: 'dora', permissions: ['system-admin'] })
  const reader = await server.signUp({ username: 'rolf' })
  const [tag] = await server.database('sharing_tags').insert({ name: 'Kids' }, ['id'])
  const path = (userId: string) => `/api/v1/users/${userId}/sharing-tags`
  const body = { sharingTagId: tag.id, accessMode: 'deny' }
  t.equal((await server.request('PUT', path(server.adminId), { token: deputy.token, body })).status, 403)
  t.equal((await server.request('DELETE', `${path(server.adminId)}/${tag.id}`, { token: deputy.token })).status, 403)
  t.equal((await server.request('PUT', path(reader.id), { token: deputy.token, body })).status, 200)
  t.equal((await server.request('DELETE', `${path(reader.id)}/${tag.id}`, { token: deputy.token })).status, 204)
  t.equal((await server.request('PUT', path(UNKNOWN), { token: deputy.token, body })).status, 404)
})

t.test('an identifier in capital letters is the same identifier', async (t) => {
  const server = await openTestServer(t)
  const path = `/api/v1/users/${server.adminId.toUpperCase()}`
  const ask = (method: string, body?: object) => server.request(method, path, { token: server.adminToken, ...(body && { body }) })
  t.match(await ask('PATCH', { isActive: false }), { status: 409 }, 'the last administrator stays')
  t.match(await ask('PATCH', { role: 'reader' }), { status: 409 })
  t.match(await ask('DELETE'), { status: 409 })
  t.match(await ask('GET'), { status: 200, json: { id: server.adminId } })
})
