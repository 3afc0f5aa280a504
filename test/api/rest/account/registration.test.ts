import t from 'tap'
import type { SignedIn } from '#core/account/sign-in.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'

const NEW = { username: 'Rita', email: 'rita@example.org', password: 'password of rita' }

t.test('people make accounts of their own where an administrator has switched that on', async (t) => {
  const server = await openTestServer(t, { services: () => ({ templates: {} as never }) })
  const register = (body: object) =>
    server.request<SignedIn & { message: string; error: string }>('POST', '/api/v1/auth/register', { body })
  const enabled = async () =>
    (await server.request<{ registrationEnabled: boolean }>('GET', '/api/v1/setup/status')).json.registrationEnabled
  const choose = (value: string) =>
    server.request('PUT', '/api/v1/admin/settings/auth.registration_enabled', { token: server.adminToken, body: { value } })
  t.match([await enabled(), await register(NEW)], [false, { status: 403, json: { error: 'forbidden' } }])
  t.equal((await choose('yes')).status, 422)
  t.match(await choose('true'), { status: 200, json: { value: 'true', valueType: 'boolean', defaultValue: 'false' } })
  t.equal(await enabled(), true)

  for (const [body, status] of [
    [{ ...NEW, password: 'short' }, 422],
    [{ ...NEW, email: 'nobody' }, 422],
    [{ username: 'Rita' }, 400],
    [{ ...NEW, role: 'admin' }, 400],
    [{ ...NEW, permissions: ['system-admin'] }, 400],
  ] as const)
    t.equal((await register(body)).status, status, JSON.stringify(body))
  const made = await register(NEW)
  t.match(made, {
    status: 201,
    json: { tokenType: 'Bearer', expiresIn: 3600, message: String, user: { username: 'Rita', role: 'reader' } },
  })
  t.match(made.headers.get('set-cookie'), /^auth_token=/)
  t.equal((await server.request('GET', '/api/v1/books', { token: made.json.accessToken })).status, 200)
  t.equal((await server.request('GET', '/api/v1/users', { token: made.json.accessToken })).status, 403)
  t.match(await register({ ...NEW, email: 'other@example.org' }), { status: 409 }, 'a name is taken once')
  await choose('false')
  t.equal((await register({ ...NEW, username: 'Bo', email: 'bo@example.org' })).status, 403)
})

t.test('nobody registers before Carrel is set up, and no address without end', async (t) => {
  const server = await openTestServer(t, { admin: false })
  await server.database('chosen_settings').insert({ key: 'auth.registration_enabled', value: 'true' })
  const register = (index: number) =>
    server.request('POST', '/api/v1/auth/register', { body: { ...NEW, username: `rita${index}`, email: `rita${index}@example.org` } })
  t.equal((await register(0)).status, 409)
  await server.accounts.ensureFirstAdmin({ username: 'ada', password: 'long enough' })
  const statuses: number[] = []
  for (let index = 1; index <= 21; index++) statuses.push((await register(index)).status)
  t.same(statuses.slice(0, 20), Array(20).fill(201))
  t.equal(statuses[20], 429)
})

t.test('where sharing tags rule who sees what, new accounts are allowed the tags that are named, or none are made', async (t) => {
  const server = await openTestServer(t, { services: () => ({ templates: {} as never }) })
  const { database } = server
  const choose = (key: string, value: string) =>
    server.request('PUT', `/api/v1/admin/settings/auth.registration_${key}`, { token: server.adminToken, body: { value } })
  const isOpen = async () =>
    (await server.request<{ registrationEnabled: boolean }>('GET', '/api/v1/setup/status')).json.registrationEnabled
  let count = 0
  const register = () => {
    const name = `reader-${++count}`
    return server.request<SignedIn>('POST', '/api/v1/auth/register', {
      body: { username: name, email: `${name}@example.org`, password: NEW.password },
    })
  }
  await choose('enabled', 'true')
  t.equal((await register()).status, 201)

  const library_id = await addLibrary(database)
  const [open, hidden] = [
    await addSeries(database, { library_id, title: 'Open' }),
    await addSeries(database, { library_id, title: 'Hidden' }),
  ]
  for (const series_id of [open, hidden]) await addBook(database, { library_id, series_id, title: 'One' })
  const [kids] = await database('sharing_tags').insert({ name: 'Kids' }, 'id')
  await database('series_sharing_tags').insert({ series_id: open, sharing_tag_id: kids.id })
  const rita = await server.signUp({ username: 'rita' })
  await database('user_sharing_grants').insert({ user_id: rita.id, sharing_tag_id: kids.id, access_mode: 'allow' })

  t.match(
    [await isOpen(), await register()],
    [false, { status: 403, json: { error: 'forbidden', message: /sharing tags decide.*auth\.registration_tags/s } }],
    'an account that sees everything would undo what is kept from others',
  )
  t.match(await choose('tags', 'kids, nowhere'), { status: 422, json: { message: /"nowhere"/ } })
  t.equal((await choose('tags', ' kIDS ,')).status, 200)
  t.equal(await isOpen(), true)
  const made = await register()
  t.equal(made.status, 201)
  const titles = async () =>
    (await server.request<{ data: { title: string }[] }>('GET', '/api/v1/series', { token: made.json.accessToken })).json.data.map(
      ({ title }) => title,
    )
  t.same(await titles(), ['Open'])
  await database('sharing_tags').where('id', kids.id).update({ name: 'Children' })
  t.match(
    [await isOpen(), await register()],
    [false, { status: 403, json: { message: /names a sharing tag that does not exist/ } }],
    'a name that leads nowhere allows nothing',
  )
  t.equal((await choose('tags', '')).status, 200)
  t.equal(await isOpen(), false)
  await database('user_sharing_grants').delete()
  t.equal(await isOpen(), true)
  t.equal((await register()).status, 201)
})
