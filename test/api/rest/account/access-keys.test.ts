import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { ApiKey, NewApiKeyAnswer } from '#core/account/api-key.ts'
import { ALL, type Failure, openFamily } from '#test/support/family.ts'

t.setTimeout(60_000)

t.test('an API key may see less than its user, and never more', async (t) => {
  const { server, database, token, kids, adults, rita, put, titles } = await openFamily(t)
  const make = (body: object, by = rita.token) =>
    server.request<NewApiKeyAnswer & Failure>('POST', '/api/v1/api-keys', { token: by, body: { name: 'tablet', ...body } })
  const rule = { allLibraries: false, libraryIds: [kids], age: null }
  const { key, id, access } = (await make({ access: rule })).json
  t.same(access, rule)
  t.same(await titles(key), ['Bear', 'Cat'])
  t.same(await titles(), ['Bear', 'Cat', 'Noir'], 'its user sees what they saw')
  await put({ ...ALL, age: { mode: 'up_to', years: 12 } })
  t.same(await titles(key), ['Bear'], 'both rules count')
  await put({ allLibraries: false, libraryIds: [adults], age: null })
  t.same(await titles(key), [], 'a user who sees less than the key')
  t.same(
    (await server.request<ApiKey>('GET', `/api/v1/api-keys/${id}`, { token: rita.token })).json.access?.libraryIds,
    [],
    'hidden is not named',
  )
  t.match(await make({ access: rule }), {
    status: 422,
    json: { message: new RegExp(`no library ${kids}`), details: [{ path: '/access/libraryIds/0' }] },
  })
  await put(ALL)
  const patch = (body: object, by = rita.token) => server.request<ApiKey & Failure>('PATCH', `/api/v1/api-keys/${id}`, { token: by, body })
  t.same((await patch({ name: 'still' })).json.access, rule)
  const before = (await database('users').where('id', rita.id).first('updated_at')).updated_at
  t.match((await patch({ access: { ...ALL, age: { mode: 'up_to', years: 12 } } })).json.access, { allLibraries: true, age: { years: 12 } })
  t.ok((await database('users').where('id', rita.id).first('updated_at')).updated_at > before, 'answers that are being sent end')
  t.same(await titles(key), ['Bear'])
  t.equal((await patch({ access: ALL })).json.access, null, 'a rule that hides nothing is none')
  t.same((await patch({ access: rule })).json.access, rule)
  t.equal((await patch({ access: null })).json.access, null)
  t.same(await titles(key), ['Bear', 'Cat', 'Noir'])
  t.same((await make({})).json.access, null)
  t.match((await server.request<{ data: ApiKey[] }>('GET', '/api/v1/api-keys', { token: rita.token })).json.data, [
    { access: null },
    { access: null },
  ])
  t.equal((await make({ access: { ...rule, libraryIds: [kids, kids] } }, token)).status, 422)
})

t.test('an API key with a rule does nothing by which it would see more', async (t) => {
  const { server, token, kids } = await openFamily(t)
  const make = (body: object, by = token) =>
    server.request<NewApiKeyAnswer & Failure>('POST', '/api/v1/api-keys', { token: by, body: { name: 'tablet', ...body } })
  const access = { allLibraries: false, libraryIds: [kids], age: null }
  const made = (await make({ access })).json
  t.same(
    ['system-admin', 'users-write', 'users-delete', 'plugins-manage', 'books-read'].map((permission) =>
      made.permissions.some((each) => each === permission),
    ),
    [false, false, false, false, true],
    'by default it may do what a key with a rule can',
  )
  for (const permission of ['system-admin', 'users-write', 'users-delete', 'plugins-manage'])
    t.match(await make({ access, permissions: ['books-read', permission] }), {
      status: 422,
      json: { message: new RegExp(permission), details: [{ path: '/permissions' }] },
    })
  const wide = (await make({})).json
  const patch = (id: string, body: object, by = token) => server.request<Failure>('PATCH', `/api/v1/api-keys/${id}`, { token: by, body })
  t.equal((await patch(wide.id, { access })).status, 422, 'it has system-admin')
  t.equal((await patch(wide.id, { access, permissions: ['books-read'] })).status, 200)
  t.equal((await patch(wide.id, { permissions: ['system-admin'] })).status, 422, 'it has a rule')
  t.equal((await patch(wide.id, { access: null, permissions: ['system-admin'] })).status, 200)

  const refused = { status: 403, json: { message: /This API key has a rule/ } }
  t.match(await make({ permissions: ['books-read'] }, made.key), refused)
  t.match(await make({ permissions: ['books-read'], access }, made.key), refused)
  for (const id of [made.id, wide.id]) {
    t.match(await patch(id, { access: null }, made.key), refused)
    t.match(await server.request('DELETE', `/api/v1/api-keys/${id}`, { token: made.key }), refused)
  }
  const change = { currentPassword: 'correct horse 1', newPassword: 'known to the child' }
  t.match(await server.request('PUT', '/api/v1/user/password', { token: made.key, body: change }), refused)
  for (const [method, rest, body] of [
    ['POST', 'enable', {}],
    ['PATCH', 'config', { config: {} }],
    ['POST', 'credentials', { accessToken: 'mine' }],
    ['POST', 'oauth/start', undefined],
  ] as const)
    t.match(await server.request(method, `/api/v1/user/plugins/${randomUUID()}/${rest}`, { token: made.key, body }), refused, rest)
})
