import t from 'tap'
import { ACTIVITY, pageOf, SETTINGS, USER } from '#test/support/komga-decoders.ts'
import { decoderErrors, openKomgaServer, setSetting } from '#test/support/komga-server.ts'
import { ADMIN } from '#test/support/running-server.ts'

interface User {
  id: string
  email: string
  roles: string[]
  labelsAllow: string[]
  labelsExclude: string[]
}
interface Refused {
  status: number
  message: string
  violations: { fieldName: string; message: string }[]
}

t.setTimeout(60_000)
t.test('administrators of the Komga API manage users, keys and settings', async (t) => {
  const komga = await openKomgaServer(t)
  const { ask } = komga
  await setSetting(komga, 'compatibilityApi.enabled', 'true')
  const basicOf = (name: string, password: string) => ({ authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` })
  const password = 'a long enough password'
  const series = (await ask<{ content: { id: string; name: string }[] }>('GET', '/komga/api/v1/series')).json.content
  const watch = series.find(({ name }) => name.startsWith('Watch'))?.id as string

  await t.test('users are created, changed and deleted by the Komga API', async (t) => {
    await ask('PATCH', `/komga/api/v1/series/${watch}/metadata`, { body: { sharingLabels: ['adults'] } })
    const roles = ['FILE_DOWNLOAD', 'PAGE_STREAMING']
    const wanted = { email: 'kim@example.org', password, roles, sharedLibraries: { all: true, libraryIds: [] }, labelsExclude: ['adults'] }
    for (const [more, fieldName] of [
      [{ roles: [] }, 'roles'],
      [{ sharedLibraries: { all: false, libraryIds: [watch] } }, 'sharedLibraries.libraryIds'],
      [{ ageRestriction: { age: 120, restriction: 'ALLOW_ONLY' } }, 'ageRestriction.age'],
      [{ labelsAllow: ['Adults'] }, 'labelsAllow'],
      [{ labelsAllow: ['x'.repeat(150)] }, 'labelsAllow.0'],
      [{ password: 'short' }, 'password'],
    ] as const) {
      const { status, json } = await ask<Refused>('POST', '/komga/api/v2/users', { body: { ...wanted, ...more } })
      t.match([status, json], [400, { violations: [{ fieldName, message: /./ }] }], fieldName)
    }
    const users = await ask<User[]>('GET', '/komga/api/v2/users')
    t.match(users.json, [{ email: /./ }], 'nobody was made by what was refused')
    t.equal(users.json.length, 1)
    const { status, json: kim } = await ask<User>('POST', '/komga/api/v2/users', { body: wanted })
    t.equal(status, 201)
    t.same(decoderErrors(USER, kim), [])
    t.match(kim, { email: 'kim@example.org', roles: [...roles, 'USER'], labelsExclude: ['adults'], labelsAllow: [] })
    t.match((await ask('POST', '/komga/api/v2/users', { body: wanted })).status, 400)
    const headers = basicOf('kim@example.org', password)
    const seen = await ask<{ totalElements: number }>('GET', '/komga/api/v1/series', { headers })
    t.equal(seen.json.totalElements, 2, 'what is excluded is not there')
    t.match((await ask<User>('GET', '/komga/api/v2/users/me', { headers })).json, { labelsExclude: [] }, 'and the user is not told')
    for (const [method, path] of [
      ['GET', 'users'],
      ['POST', 'users'],
      ['PATCH', `users/${kim.id}`],
      ['DELETE', `users/${kim.id}`],
      ['DELETE', 'tasks'],
      ['GET', 'settings'],
    ] as const)
      t.match(
        (await ask(method, `/komga/api/v1/${path}`, { headers, body: method === 'GET' ? undefined : {} })).json,
        { status: 403 },
        path,
      )

    const only = users.json[0]?.id as string
    t.equal((await ask('PATCH', `/komga/api/v2/users/${only}`, { body: { roles, labelsExclude: ['adults'] } })).status, 400)
    t.match(
      (await ask<User[]>('GET', '/komga/api/v2/users')).json.find(({ id }) => id === only),
      { labelsExclude: [] },
      'the last administrator stays as they were, labels included',
    )
    t.equal((await ask('PATCH', `/komga/api/v2/users/${kim.id}`, { body: { roles: [...roles, 'ADMIN'], labelsExclude: [] } })).status, 204)
    t.match(
      (await ask<User[]>('GET', '/komga/api/v2/users')).json.find(({ id }) => id === kim.id),
      { roles: ['ADMIN', ...roles, 'USER'], labelsExclude: [] },
    )
    t.match((await ask<Refused>('PATCH', `/komga/api/v2/users/${kim.id}`, { body: { roles: ['ADMIN'] } })).json, {
      violations: [{ fieldName: 'roles' }],
    })
    t.equal((await ask('PATCH', `/komga/api/v2/users/${kim.id}`, { body: { roles, labelsAllow: ['adults'] } })).status, 204)
    t.match((await ask('GET', '/komga/api/v1/series', { headers })).json, { totalElements: 1 }, 'only what is allowed')

    t.match((await ask('PATCH', '/komga/api/v2/users/me/password', { headers, body: { password: `${password} 2` } })).status, 204)
    t.equal((await ask('GET', '/komga/api/v2/users/me', { headers })).status, 401)
    t.equal((await ask('PATCH', `/komga/api/v2/users/${kim.id}/password`, { body: { password: `${password} 3` } })).status, 204)
    const third = await ask('GET', '/komga/api/v2/users/me', { headers: basicOf('kim', `${password} 3`) })
    t.equal(third.status, 200)
    const cookie = (third.headers.getSetCookie()[0] ?? '').split(';')[0] as string
    t.match((await ask<Refused>('PATCH', '/komga/api/v2/users/me/password', { headers: { cookie }, body: { password } })).json, {
      ...{ status: 403, message: /by HTTP Basic/ },
    })
    t.equal((await ask('DELETE', `/komga/api/v2/users/${kim.id}`)).status, 204)
    t.equal((await ask('PATCH', `/komga/api/v2/users/${kim.id}`, { body: {} })).status, 404)
  })

  await t.test('an app restricts users to libraries and ages, as the one of Komga itself and Komelia do', async (t) => {
    const { url, headers: bearer } = komga.server
    const rest = async (method: string, path: string, body?: unknown) => {
      const headers = { ...bearer, 'content-type': 'application/json' }
      const answer = await fetch(`${url}/api/v1/${path}`, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) })
      t.ok(answer.ok, `${method} ${path}: ${answer.status}`)
      return (await answer.json()) as { id: string; age: object }
    }
    const main = (await ask<{ id: string }[]>('GET', '/komga/api/v1/libraries')).json[0]?.id as string
    const kids = (await rest('POST', 'libraries', { name: 'Kids', path: t.testdir() })).id
    await ask('PATCH', `/komga/api/v1/series/${watch}/metadata`, { body: { ageRating: 16 } })
    const roles = ['FILE_DOWNLOAD', 'PAGE_STREAMING']
    const only = (...libraryIds: string[]) => ({ sharedLibraries: { all: false, libraryIds } })
    const all = { sharedLibraries: { all: true, libraryIds: [] } }
    const upTo = (age: number) => ({ ageRestriction: { age, restriction: 'ALLOW_ONLY' } })
    // The whole form, as the page of Komga sends it.
    const form = { roles, ...only(kids), ...upTo(12), labelsAllow: [], labelsExclude: [] }
    const { status, json: kit } = await ask<User>('POST', '/komga/api/v2/users', { body: { email: 'kit@example.org', password, ...form } })
    t.equal(status, 201)
    t.same(decoderErrors(USER, kit), [])
    const restricted = { sharedAllLibraries: false, sharedLibrariesIds: [kids], ...upTo(12) }
    t.match(kit, restricted)
    const headers = basicOf('kit', password)
    const shown = async () => (await ask<User[]>('GET', '/komga/api/v2/users')).json.find(({ id }) => id === kit.id) as User
    t.match(await shown(), { ...restricted, contentRestrictions: upTo(12) })
    t.match((await ask('GET', '/komga/api/v2/users/me', { headers })).json, restricted)
    const patch = async (body: object) => (await ask<Refused>('PATCH', `/komga/api/v2/users/${kit.id}`, { body })).status
    const seen = async () => (await ask<{ totalElements: number }>('GET', '/komga/api/v1/series', { headers })).json.totalElements
    const libraries = async () => (await ask<{ id: string }[]>('GET', '/komga/api/v1/libraries', { headers })).json.map(({ id }) => id)
    t.same(await libraries(), [kids])
    t.equal((await ask('GET', `/komga/api/v1/libraries/${main}`, { headers })).status, 404)
    t.equal(await patch(form), 204, 'sent back as it is')
    t.match(await shown(), restricted)

    // One member at a time, as Komelia sends them.
    t.equal(await patch(all), 204)
    t.match(await shown(), { sharedAllLibraries: true, sharedLibrariesIds: [], ...upTo(12) }, 'what is absent stays')
    t.equal(await seen(), 0, 'nothing has a rating of 12 or less')
    t.equal(await patch(upTo(16)), 204)
    t.equal(await seen(), 1, 'the age itself is allowed')
    t.equal(await patch({ ageRestriction: { age: 16, restriction: 'EXCLUDE' } }), 204)
    t.equal(await seen(), 2, 'only what is rated is excluded')
    t.match((await rest('GET', `users/${kit.id}/access`)).age, { mode: 'not_from', years: 16, unrated: 'show' })
    await rest('PUT', `users/${kit.id}/access`, {
      allLibraries: true,
      libraryIds: [],
      age: { mode: 'not_from', years: 16, unrated: 'hide' },
    })
    t.equal(await patch({ ageRestriction: { age: 18, restriction: 'EXCLUDE' } }), 204)
    t.match((await rest('GET', `users/${kit.id}/access`)).age, { mode: 'not_from', years: 18, unrated: 'hide' }, 'apps do not know of it')
    t.equal(await patch({ ...only(main), ageRestriction: null }), 204)
    t.match(await shown(), { sharedLibrariesIds: [main], ageRestriction: null })
    t.same([await libraries(), await seen()], [[main], 3])
    t.equal(await patch(only()), 204)
    t.same([await libraries(), await seen()], [[], 0], 'a list without libraries shows nothing')

    const admin = [...roles, 'ADMIN']
    t.equal(await patch({ ...only(kids), ...upTo(12) }), 204)
    for (const refused of [{ roles: admin }, { roles: admin, ...only(main) }, { ...all, ...upTo(100) }, only(main, watch)])
      t.equal(await patch(refused), 400, JSON.stringify(refused))
    t.match(await shown(), { ...restricted, roles: [...roles, 'USER'] }, 'and nothing of what was refused has changed')
    t.equal(await patch({ roles: admin, ...all, ageRestriction: null }), 204, 'an administrator, without the rule')
    t.equal(await seen(), 3)
    t.equal(await patch(upTo(12)), 400, 'a rule for an administrator')
    t.equal(await patch({ roles, ...only(kids), ...upTo(12) }), 204, 'none any more, with a rule')
    t.match(await shown(), { ...restricted, roles: [...roles, 'USER'] })

    await rest('PUT', 'admin/settings/auth.new_user_libraries', { value: 'Kids' })
    const invited = await ask<User>('POST', '/komga/api/v2/users', { body: { email: 'eve@example.org', password, roles } })
    t.match(invited.json, { sharedAllLibraries: false, sharedLibrariesIds: [kids] }, 'what the request leaves open is for the settings')
    const free = await ask<User>('POST', '/komga/api/v2/users', { body: { email: 'bob@example.org', password, roles, ...all } })
    t.match(free.json, { sharedAllLibraries: true, sharedLibrariesIds: [] })
    const chief = await ask<User>('POST', '/komga/api/v2/users', { body: { email: 'sue@example.org', password, roles: admin, ...all } })
    t.match([chief.status, chief.json], [201, { sharedAllLibraries: true }])
  })

  await t.test('what apps ask for from time to time', async (t) => {
    const activity = await ask<object>('GET', '/komga/api/v2/users/me/authentication-activity?size=5')
    t.same(decoderErrors(pageOf(ACTIVITY), activity.json), [])
    t.match(activity.json, { totalElements: 1, content: [{ success: true }] }, `${ADMIN.username} has signed in`)
    t.match((await ask('GET', '/komga/api/v2/users/authentication-activity')).json, { content: [], empty: true })
    const { json: me } = await ask<User>('GET', '/komga/api/v2/users/me')
    t.same(decoderErrors(ACTIVITY, (await ask('GET', `/komga/api/v2/users/${me.id}/authentication-activity/latest`)).json), [])
    t.same(decoderErrors(SETTINGS, (await ask('GET', '/komga/api/v1/settings')).json), [])
    t.match((await ask<Refused>('PATCH', '/komga/api/v1/settings', { body: { thumbnailSize: 'LARGE' } })).json, {
      ...{ status: 400, message: /api\/v1\/admin\/settings/ },
    })
    t.match((await ask('GET', '/komga/api/v1/claim', { headers: {} })).json, { isClaimed: true })
    t.match((await ask('GET', '/komga/api/v1/announcements')).json, { items: [] })
    t.same((await ask('GET', '/komga/api/v1/oauth2/providers', { headers: {} })).json, [])
    t.same((await ask('GET', '/komga/api/v1/client-settings/global/list', { headers: {} })).json, {})
    t.same((await ask('GET', '/komga/api/v1/client-settings/user/list')).json, {})
    t.same((await ask('GET', '/komga/api/v1/releases')).json, [])
    t.match((await ask('GET', '/komga/actuator/info')).json, { build: { version: /^\d/ } })
    t.match((await ask('POST', '/komga/api/v1/filesystem', { body: { path: '' } })).json, { parent: null, directories: Array, files: [] })
  })

  await t.test('work that is asked for', async (t) => {
    const { json: libraries } = await ask<{ id: string }[]>('GET', '/komga/api/v1/libraries')
    const library = libraries[0]?.id
    const book = (await ask<{ content: { id: string }[] }>('GET', '/komga/api/v1/books?size=1')).json.content[0]?.id
    const paths = ['analyze', 'metadata/refresh'].flatMap((what) => [
      `libraries/${library}/${what}`,
      `series/${watch}/${what}`,
      `books/${book}/${what}`,
    ])
    for (const path of [...paths, `libraries/${library}/empty-trash`, `libraries/${library}/scan?deep=true`]) {
      const answer = await ask('POST', `/komga/api/v1/${path}`)
      t.match([answer.status, answer.json], [202, { taskId: /./ }], `${path} ${answer.bytes}`)
    }
    t.match(await ask('DELETE', '/komga/api/v1/tasks'), { status: 200, json: Number })
    const nobody = '00000000-0000-4000-8000-000000000000'
    for (const path of [
      `libraries/${nobody}/scan`,
      `libraries/${nobody}/empty-trash`,
      `series/${nobody}/analyze`,
      `books/${nobody}/metadata/refresh`,
    ])
      t.match((await ask('POST', `/komga/api/v1/${path}`)).json, { status: 404 }, path)
  })

  await t.test('the files of a series, and books that hold the same file', async (t) => {
    const zip = await ask('GET', `/komga/api/v1/series/${watch}/file`)
    t.match([zip.status, zip.headers.get('content-type'), zip.bytes.subarray(0, 2).toString()], [200, 'application/zip', 'PK'])
    t.match((await ask('GET', '/komga/api/v1/books/duplicates?unpaged=true&sort=fileHash,asc')).json, { content: [], totalElements: 0 })
  })
})
