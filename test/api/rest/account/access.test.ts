import { randomUUID } from 'node:crypto'
import t from 'tap'
import { ACCESS_LIBRARIES_MAX, type Access, type VisibleToUser } from '#core/account/access.ts'
import { setAccess } from '#core/account/access-store.ts'
import type { UserDetail } from '#core/account/user.ts'
import { ALL, type Failure, openFamily } from '#test/support/family.ts'
import { addBook, addLibrary } from '#test/support/library-rows.ts'

t.setTimeout(60_000)

t.test('an administrator sets what a user may see, and it counts at once', async (t) => {
  const { server, database, token, kids, adults, rita, path, put, titles } = await openFamily(t)
  t.match(await server.request('GET', path, { token }), { status: 200, json: { ...ALL, sharingTags: [] } }, 'who has no rule sees all')
  t.same(await titles(), ['Bear', 'Cat', 'Noir'])
  const before = (await database('users').where('id', rita.id).first('updated_at')).updated_at

  const rule = { allLibraries: false, libraryIds: [kids], age: { mode: 'up_to', years: 12, unrated: 'show' } }
  t.match(await put(rule), { status: 200, json: { ...rule, sharingTags: [] } })
  t.same(await titles(), ['Bear', 'Cat'])
  t.ok((await database('users').where('id', rita.id).first('updated_at')).updated_at > before, 'answers that are being sent end')
  t.match((await server.request<UserDetail>('GET', `/api/v1/users/${rita.id}`, { token })).json.access, rule, 'it is in the record')
  t.match((await server.request<UserDetail>('GET', '/api/v1/user', { token: rita.token })).json.access, rule, 'also in their own')

  t.match((await put({ ...rule, age: { mode: 'up_to', years: 12 } })).json.age, { unrated: 'hide' }, 'by default')
  t.same(await titles(), ['Bear'])
  t.match((await put({ ...ALL, age: { mode: 'not_from', years: 18 } })).json.age, { unrated: 'show' }, 'by default')
  t.same(await titles(), ['Bear', 'Cat'])
  t.match(await put({ ...ALL, age: { mode: 'not_from', years: 0 } }), { status: 200 }, 'nothing that has a rating')
  t.same(await titles(), ['Cat'])
  t.match(await put({ ...ALL, libraryIds: [], allLibraries: false }), { status: 200 })
  t.same(await titles(), [], 'an empty list shows nothing')
  t.match(await put({ ...rule, libraryIds: [adults.toUpperCase()], age: null }), { status: 200, json: { libraryIds: [adults] } })
  await database('libraries').where('id', adults).delete()
  t.same(await titles(), [], 'the last library of the list is gone, and its rule is not')
  t.match((await server.request<Access>('GET', path, { token })).json, { allLibraries: false, libraryIds: [] })
  t.match(await put(ALL), { status: 200 })
  t.equal((await database('access_rules')).length, 0)
  t.same(await titles(), ['Bear', 'Cat'])
})

t.test('sharing tags are replaced only if the request names them', async (t) => {
  const { database, rita, put, titles, series } = await openFamily(t)
  const [dark, soft] = await database('sharing_tags').insert([{ name: 'dark' }, { name: 'soft' }], 'id')
  await database('series_sharing_tags').insert({ series_id: series.noir, sharing_tag_id: dark.id })
  await database('user_sharing_grants').insert({ user_id: rita.id, sharing_tag_id: dark.id, access_mode: 'deny' })
  t.match((await put(ALL)).json.sharingTags, [{ sharingTagId: dark.id, accessMode: 'deny' }], 'absent: as they are')
  const both = [
    { sharingTagId: dark.id, accessMode: 'allow' },
    { sharingTagId: soft.id, accessMode: 'deny' },
  ]
  t.match((await put({ ...ALL, sharingTags: both })).json.sharingTags, both)
  t.same(await titles(), ['Noir'])
  t.same((await put({ ...ALL, sharingTags: [] })).json.sharingTags, [])
  for (const [sharingTags, at] of [
    [[{ sharingTagId: randomUUID(), accessMode: 'deny' }], 0],
    [[both[0], both[0]], 1],
  ] as const)
    t.match(await put({ ...ALL, sharingTags }), { status: 422, json: { details: [{ path: `/sharingTags/${at}/sharingTagId` }] } })
  t.equal((await database('user_sharing_grants')).length, 0, 'refused as a whole')
})

t.test('what is wrong with a rule is told with its place, and nothing changes', async (t) => {
  const { server, database, token, kids, adults, put, path } = await openFamily(t)
  const age = { mode: 'up_to', years: 12 }
  const unknown = randomUUID()
  const table: [body: object, status: number, path?: string][] = [
    [{ ...ALL, age: { ...age, years: -1 } }, 422, '/age/years'],
    [{ ...ALL, age: { ...age, years: 200 } }, 422, '/age/years'],
    [{ ...ALL, age: { ...age, years: 12.5 } }, 400, '/age/years'],
    [{ ...ALL, age: { ...age, years: '12' } }, 400, '/age/years'],
    [{ ...ALL, age: { ...age, mode: 'below' } }, 422, '/age/mode'],
    [{ ...ALL, age: { ...age, unrated: 'maybe' } }, 422, '/age/unrated'],
    [{ allLibraries: false, libraryIds: [kids, unknown], age: null }, 422, '/libraryIds/1'],
    [{ allLibraries: false, libraryIds: [kids, adults, kids.toUpperCase()], age: null }, 422, '/libraryIds/2'],
    [{ allLibraries: false, libraryIds: ['Kids'], age: null }, 422, '/libraryIds/0'],
    [{ allLibraries: true, libraryIds: [kids], age: null }, 422, '/libraryIds'],
    [
      { allLibraries: false, libraryIds: Array.from({ length: ACCESS_LIBRARIES_MAX + 1 }, () => randomUUID()), age: null },
      422,
      '/libraryIds',
    ],
    [{ allLibraries: true, libraryIds: [] }, 400, '/age'],
    [{}, 400, '/allLibraries'],
    [{ ...ALL, ages: null }, 400, '/ages'],
  ]
  for (const [body, status, place] of table) {
    const answer = await put(body)
    t.equal(answer.status, status, `${JSON.stringify(body).slice(0, 100)}: ${answer.text.slice(0, 200)}`)
    if (place)
      t.ok(
        answer.json.details?.some((fault) => fault.path === place),
        `${place} in ${answer.text.slice(0, 200)}`,
      )
  }
  t.match((await put({ allLibraries: false, libraryIds: [unknown], age: null })).json.message, new RegExp(`no library ${unknown}`))
  t.equal((await database('access_rules')).length, 0)
  t.equal((await server.request('PUT', `/api/v1/users/${randomUUID()}/access`, { token, body: ALL })).status, 404)
  t.equal((await server.request('GET', `/api/v1/users/${randomUUID()}/access`, { token })).status, 404)
  const many = Array.from({ length: ACCESS_LIBRARIES_MAX }, (_, index) => ({ name: `L${index}`, path: `/l/${index}` }))
  const ids = (await database('libraries').insert(many, 'id')).map(({ id }) => id)
  t.match(await put({ allLibraries: false, libraryIds: ids, age: null }), {
    status: 200,
    json: { libraryIds: { length: ACCESS_LIBRARIES_MAX } },
  })
  t.match(await server.request('PUT', path, { token, body: ALL }), { status: 200 })
})

t.test('two administrators do not undo what the other has set', async (t) => {
  const { server, token, path, put } = await openFamily(t)
  const etag = (await server.request('GET', path, { token })).headers.get('etag') as string
  t.ok(etag)
  const rule = { ...ALL, age: { mode: 'up_to', years: 12 } }
  t.equal((await put(rule, { 'if-match': etag })).status, 200)
  t.match(await put(ALL, { 'if-match': etag }), { status: 412, json: { error: 'precondition_failed' } })
  const fresh = (await server.request('GET', path, { token })).headers.get('etag') as string
  t.not(fresh, etag)
  t.equal((await put(ALL, { 'if-match': fresh })).status, 200)
})

t.test('administrators are never restricted, and nobody sets a rule for themselves', async (t) => {
  const { server, token, rita, put } = await openFamily(t)
  const rule = { ...ALL, age: { mode: 'up_to', years: 12 } }
  const set = (id: string, body: object, asked = token) =>
    server.request<Failure>('PUT', `/api/v1/users/${id}/access`, { token: asked, body })
  const otto = await server.signUp({ username: 'otto', role: 'admin' })
  const paula = await server.signUp({ username: 'paula', permissions: ['system-admin'] })
  for (const { id } of [otto, paula])
    t.match(await set(id, rule), { status: 409, json: { error: 'conflict', message: /is an administrator.*system-admin/s } })
  t.match(await set(server.adminId, rule), { status: 409, json: { message: /for yourself/ } })
  t.equal((await set(otto.id, ALL)).status, 200, 'no rule is none')
  t.equal((await set(rita.id, rule, rita.token)).status, 403)
  t.equal((await set(rita.id, ALL, (await server.signUp({ username: 'dora', permissions: ['users-write'] })).token)).status, 403)
  t.equal((await set(otto.id, ALL, paula.token)).status, 403, 'otto may do more than she')

  t.equal((await put(rule)).status, 200)
  const edit = (body: object) => server.request<Failure>('PATCH', `/api/v1/users/${rita.id}`, { token, body })
  for (const body of [{ role: 'admin' }, { permissions: ['system-admin'] }])
    t.match(await edit(body), { status: 409, json: { message: /rita has a rule.*Remove the rule first/ } })
  t.equal((await edit({ role: 'maintainer' })).status, 200)
  t.equal((await put(ALL)).status, 200)
  t.equal((await edit({ role: 'admin' })).status, 200)
})

t.test('who does not see everything makes no account that does', async (t) => {
  const { server, token, kids } = await openFamily(t)
  const dora = await server.signUp({ username: 'dora', permissions: ['users-read', 'users-write'] })
  const mia = await server.signUp({ username: 'mia' })
  const body = { username: 'new', email: 'new@example.org', password: 'a long password' }
  const rule = { allLibraries: false, libraryIds: [kids], age: null }
  t.equal((await server.request('PUT', `/api/v1/users/${dora.id}/access`, { token, body: rule })).status, 200)
  for (const [method, path, sent] of [
    ['POST', '/api/v1/users', body],
    ['PATCH', `/api/v1/users/${mia.id}`, { password: 'known to dora' }],
  ] as const)
    t.match(
      await server.request(method, path, { token: dora.token, body: sent }),
      { status: 403, json: { message: /hidden from you/ } },
      path,
    )
  t.equal((await server.request('PUT', `/api/v1/users/${dora.id}/access`, { token, body: ALL })).status, 200)
  t.equal((await server.request('POST', '/api/v1/users', { token: dora.token, body })).status, 201)
  t.match(
    await server.request('POST', '/api/v1/users', {
      token: dora.token,
      body: { ...body, username: 'x', email: 'x@example.org', access: rule },
    }),
    { status: 403, json: { message: /Only administrators decide/ } },
  )
})

t.test('a record names no library that its reader does not see', async (t) => {
  const { server, database, kids, adults, rita } = await openFamily(t)
  const dora = await server.signUp({ username: 'dora', permissions: ['users-read'] })
  await setAccess(database, null, rita.id, { allLibraries: false, libraryIds: [kids, adults], age: null })
  const read = async (token: string, path: string) => (await server.request<UserDetail>('GET', path, { token })).json.access.libraryIds
  t.same((await read(dora.token, `/api/v1/users/${rita.id}`)).sort(), [kids, adults].sort())
  await setAccess(database, null, dora.id, { allLibraries: false, libraryIds: [kids], age: null })
  t.same(await read(dora.token, `/api/v1/users/${rita.id}`), [kids])
})

t.test('an administrator sees how much a user sees, and what hides the rest', async (t) => {
  const { server, database, token, kids, adults, series, rita, put } = await openFamily(t)
  const ask = async (query = '') => (await server.request<VisibleToUser>('GET', `/api/v1/users/${rita.id}/visible${query}`, { token })).json
  const none = { series: 0, books: 0 }
  const one = { series: 1, books: 1 }
  const hidden = { account: none, library: none, age: none, tag: none }
  t.same(await ask(), {
    libraries: [
      { libraryId: adults, libraryName: 'Adults', isVisible: true, visible: one, hidden },
      { libraryId: kids, libraryName: 'Kids', isVisible: true, visible: { series: 2, books: 2 }, hidden },
    ],
    series: null,
  })
  await addBook(database, { library_id: kids, series_id: series.cat, title: 'Cat 2' })
  await addBook(database, { library_id: kids, series_id: series.bear, title: 'Bear 2', deleted_at: new Date() })
  const [dark] = await database('sharing_tags').insert({ name: 'dark' }, 'id')
  await database('series_sharing_tags').insert({ series_id: series.noir, sharing_tag_id: dark.id })
  const sharingTags = [{ sharingTagId: dark.id, accessMode: 'deny' }]
  await put({ allLibraries: false, libraryIds: [kids], age: { mode: 'up_to', years: 12 }, sharingTags })
  t.same((await ask()).libraries, [
    {
      libraryId: adults,
      libraryName: 'Adults',
      isVisible: false,
      visible: none,
      hidden: { account: none, library: one, age: one, tag: one },
    },
    { libraryId: kids, libraryName: 'Kids', isVisible: true, visible: one, hidden: { ...hidden, age: { series: 1, books: 2 } } },
  ])
  t.same((await ask(`?seriesId=${series.noir}`)).series, { seriesId: series.noir, isVisible: false, hiddenBy: ['library', 'age', 'tag'] })
  t.same((await ask(`?seriesId=${series.cat}`)).series, { seriesId: series.cat, isVisible: false, hiddenBy: ['age'] })
  t.same((await ask(`?seriesId=${series.bear}`)).series, { seriesId: series.bear, isVisible: true, hiddenBy: [] })
  await put({ ...ALL, sharingTags: [{ sharingTagId: dark.id, accessMode: 'allow' }] })
  t.same((await ask(`?seriesId=${series.bear}`)).series?.hiddenBy, ['tag'], 'no allowed tag')
  t.same((await ask(`?seriesId=${series.noir}`)).series?.hiddenBy, [])
  t.equal((await server.request('GET', `/api/v1/users/${rita.id}/visible`, { token: rita.token })).status, 403)
  await database('users').where('id', rita.id).update({ is_active: false })
  t.match((await ask(`?seriesId=${series.bear}`)).series?.hiddenBy, ['account'])
  t.match((await ask()).libraries, [
    { isVisible: false, visible: none, hidden: { account: one } },
    { hidden: { account: { series: 2, books: 3 } } },
  ])
  for (const path of [`/api/v1/users/${rita.id}/visible?seriesId=${randomUUID()}`, `/api/v1/users/${randomUUID()}/visible`])
    t.equal((await server.request('GET', path, { token })).status, 404, path)
})

t.test('new accounts have the rule of the settings, unless their administrator says otherwise', async (t) => {
  const { server, database, token, kids } = await openFamily(t)
  const choose = (key: string, value: string) =>
    server.request<Failure>('PUT', `/api/v1/admin/settings/auth.${key}`, { token, body: { value } })
  let count = 0
  const make = async (more: object = {}) => {
    const name = `new-${++count}`
    const made = await server.request<{ id: string } & Failure>('POST', '/api/v1/users', {
      token,
      body: { username: name, email: `${name}@example.org`, password: 'a long password', ...more },
    })
    if (made.status !== 201) return made
    const { sharingTags: _, ...rule } = (await server.request<Access>('GET', `/api/v1/users/${made.json.id}/access`, { token })).json
    return rule
  }
  t.same(await make(), ALL)
  t.match(await choose('new_user_libraries', 'kids, Nowhere'), { status: 422, json: { message: /"Nowhere", which is not a library/ } })
  for (const value of ['12', 'up to 120', 'until 12', 'up from 3', 'not to 3', 'up to -1', 'up to 12.5'])
    t.match(await choose('new_user_age', value), { status: 422, json: { message: /up to 12/ } }, value)
  t.equal((await choose('new_user_libraries', ` kIDS, ${kids}`)).status, 200)
  t.equal((await choose('new_user_age', 'Not from 18, unrated hide')).status, 200)
  const rule = { allLibraries: false, libraryIds: [kids], age: { mode: 'not_from', years: 18, unrated: 'hide' } }
  t.same(await make(), rule)
  t.same(await make({ access: ALL }), ALL)
  t.same(await make({ access: { ...ALL, age: { mode: 'up_to', years: 6 } } }), {
    ...ALL,
    age: { mode: 'up_to', years: 6, unrated: 'hide' },
  })
  t.same(await make({ role: 'admin' }), ALL, 'administrators see everything')
  t.match(await make({ role: 'admin', access: rule }), { status: 409, json: { message: /is an administrator/ } })
  t.match(await make({ access: { ...rule, libraryIds: [randomUUID()] } }), {
    status: 422,
    json: { details: [{ path: '/access/libraryIds/0' }] },
  })
  t.equal(await server.accounts.findUser(`new-${count}`), null, 'refused as a whole')
  await addLibrary(database, { name: 'KIDS' })
  t.match(await make(), { status: 409, json: { message: /new_user_libraries names "kIDS", the name of 2 libraries/ } })
  t.equal((await choose('new_user_libraries', kids)).status, 200)
  t.same(await make(), rule)
  await database('libraries').where('id', kids).delete()
  t.match(await make(), { status: 409, json: { message: /is not a library/ } }, 'a library that is gone opens nothing')
})

t.test('nobody gets around a rule by registering another account', async (t) => {
  const { server, database, token, kids, rita, put, titles } = await openFamily(t)
  const choose = (key: string, value: string) => server.request('PUT', `/api/v1/admin/settings/auth.${key}`, { token, body: { value } })
  let count = 0
  const register = async () => {
    const name = `reader-${++count}`
    const body = { username: name, email: `${name}@example.org`, password: 'a long password' }
    return await server.request<{ accessToken: string }>('POST', '/api/v1/auth/register', { body })
  }
  await choose('registration_enabled', 'true')
  t.equal((await register()).status, 201)
  await put({ allLibraries: false, libraryIds: [kids], age: null })
  t.match(await register(), { status: 403, json: { message: /lists of libraries decide.*auth\.new_user_libraries/s } })
  await choose('new_user_age', 'up to 3')
  t.equal((await register()).status, 403, 'another kind of rule is not enough')
  await choose('new_user_libraries', 'Kids')
  const made = await register()
  t.equal(made.status, 201)
  t.same(await titles(made.json.accessToken), [], 'nothing there is for three years')
  await choose('new_user_age', '')
  t.same(await titles((await register()).json.accessToken), ['Bear', 'Cat'])

  const key = { user_id: rita.id, name: 'k', key_prefix: 'carrel_1', key_hash: Buffer.alloc(32), permissions: [] }
  const [{ id }] = await database('api_keys').insert(key, 'id')
  await database('access_rules').insert({ api_key_id: id, all_libraries: true, age_mode: 'up_to', age_years: 6, shows_unrated: false })
  t.match(await register(), { status: 403, json: { message: /age rules decide.*auth\.new_user_age/s } }, 'the rule of a key counts too')
  await choose('new_user_age', 'up to 6')
  t.same(await titles((await register()).json.accessToken), ['Bear'])
  await database('libraries').where('id', kids).delete()
  t.match(await register(), { status: 403, json: { message: /new_user_libraries names "Kids", which is not a library/ } })
})
