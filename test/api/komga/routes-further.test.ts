import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { decoderErrors, openKomgaServer, setSetting } from '#test/support/komga-server.ts'

t.setTimeout(60_000)

interface Named {
  id: string
  name: string
  libraryId: string
  seriesId: string
  created: string
  lastModified: string
}
interface Listed {
  content: Named[]
  totalElements: number
}
interface Metric {
  measurements: { statistic: string; value: number }[]
  availableTags: { tag: string; values: string[] }[]
}

t.test('what further apps call', async (t) => {
  const komga = await openKomgaServer(t)
  const { ask } = komga
  await setSetting(komga, 'compatibilityApi.enabled', 'true')
  const get = async <T>(path: string) => await ask<T>('GET', `/komga/api/v1/${path}`)
  const namesOf = async (path: string) => (await get<Listed>(path)).json.content.map(({ name }) => name)
  const issues = (await get<Listed>('books?search=Issue&sort=name,asc')).json.content
  const [one, two, three] = issues as [Named, Named, Named]
  await ask('POST', '/komga/api/v2/users', { body: { email: 'reader@example.org', password: 'a long password' } })
  const reader = { authorization: `Basic ${Buffer.from('reader:a long password').toString('base64')}` }

  await t.test('regular expressions for titles', async (t) => {
    for (const [expression, expected] of [
      ['^w,TITLE_SORT', ['Watch']],
      ['^W,title', ['Watch']],
      ['^[uz],TITLE_SORT', ['Unnumbered', 'Zeta']],
      ['^[^a-v],TITLE', ['Watch', 'Zeta']],
      ['(a|b),TITLE', ['Unnumbered', 'Watch', 'Zeta']],
      ['^nothing,TITLE', []],
      ['^w,OTHER', ['Unnumbered', 'Watch', 'Zeta']],
    ] as const)
      t.same(await namesOf(`series?search_regex=${encodeURIComponent(expression)}&sort=metadata.titleSort,asc`), expected, expression)
    t.match((await get('series/alphabetical-groups?search_regex=%5Ew,TITLE_SORT')).json, [{ group: 'w', count: 1 }])
    for (const bad of ['(a', '[z-a]', '[]', 'a**b{', '(a*)\\1', '(?=a)', '***:a', '[[:foo:]]', 'a{2,300}', 'x'.repeat(201), '\\'])
      t.equal((await get(`series?search_regex=${encodeURIComponent(`${bad},TITLE`)}`)).status, 400, bad.slice(0, 20))
  })

  await t.test('lists of the Komga API take the orders of further apps', async (t) => {
    for (const sort of ['relevance', 'relevance,desc', 'relevance&sort=name,asc'])
      t.same(await namesOf(`series?search=watch&sort=${sort}`), ['Watch'], sort)
    t.equal((await get<Listed>('books?search=issue&sort=relevance,desc&read_status=UNREAD&unpaged=true')).json.totalElements, 3)
    for (const { created, lastModified } of (await get<Listed>('series/updated')).json.content) t.not(created, lastModified)
    t.notOk((await namesOf('series/updated')).includes('Unnumbered'), 'it never changed')
    const unnumbered = (await get<Listed>('series?search=Unnumbered')).json.content[0] as Named
    // Clients see whole seconds, and a change in the second of its creation is none.
    while (Date.now() < Date.parse(unnumbered.created) + 1_000) await sleep(50)
    t.equal((await ask('PATCH', `/komga/api/v1/series/${unnumbered.id}/metadata`, { body: { summary: 'New.' } })).status, 204)
    t.equal((await namesOf('series/updated'))[0], 'Unnumbered')
    const condition = { type: 'AllOfBook', allOf: [{ type: 'SeriesId', seriesId: { type: 'Is', operator: 'is', value: one.seriesId } }] }
    t.equal(
      (await ask<Listed>('POST', '/komga/api/v1/books/list', { body: { condition } })).json.totalElements,
      3,
      'a discriminator says nothing',
    )
  })

  await t.test('an unordered read list is read by the dates of release', async (t) => {
    for (const [book, releaseDate] of [
      [one, '2003-01-01'],
      [two, '2001-01-01'],
      [three, '2002-01-01'],
    ] as const)
      t.equal((await ask('PATCH', `/komga/api/v1/books/${book.id}/metadata`, { body: { releaseDate } })).status, 204)
    const body = { name: 'Dates', ordered: false, bookIds: [one.id, two.id, three.id] }
    const { id } = (await ask<{ id: string }>('POST', '/komga/api/v1/readlists', { body })).json
    t.same(await namesOf(`readlists/${id}/books`), [two.name, three.name, one.name])
    const beside = async (book: Named, way: string) => (await get<Named>(`readlists/${id}/books/${book.id}/${way}`)).json.name
    t.same([await beside(two, 'next'), await beside(three, 'next'), await beside(one, 'previous')], [three.name, one.name, three.name])
    t.equal((await get(`readlists/${id}/books/${one.id}/next`)).status, 404)
    const file = await get(`readlists/${id}/file`)
    t.match([file.status, file.headers.get('content-type')], [200, 'application/zip'])
    t.match(file.headers.get('content-disposition'), /Dates\.zip/)
    // The number of entries in the end record of a zip.
    t.equal(file.bytes.readUInt16LE(file.bytes.length - 12), 3, 'with all of its books')
    t.equal((await ask('GET', `/komga/api/v1/readlists/${id}/file`, { headers: reader })).status, 200)
  })

  await t.test('sessions, thumbnails and empty lists', async (t) => {
    const first = await ask('GET', '/komga/api/v2/users/me', { headers: { authorization: komga.basic, 'x-auth-token': '' } })
    const token = first.headers.get('x-auth-token') as string
    const kept = await ask('GET', '/komga/api/v1/login/set-cookie', { headers: { 'x-auth-token': token } })
    t.equal(kept.status, 204)
    const [cookie = ''] = (kept.headers.getSetCookie()[0] ?? '').split(';')
    t.equal((await ask('GET', '/komga/api/v1/libraries', { headers: { cookie } })).status, 200, 'a browser uses the cookie')
    const out = await ask('POST', '/komga/api/logout', { headers: { 'x-auth-token': token } })
    t.match([out.status, out.headers.getSetCookie().join()], [204, /KOMGA-SESSION=;.*Max-Age=0/])
    t.equal((await ask('GET', '/komga/api/v1/libraries', { headers: { cookie } })).status, 401)
    t.equal((await ask('PUT', '/komga/api/v1/books/thumbnails')).status, 202)
    t.equal((await ask('PUT', '/komga/api/v1/books/thumbnails', { headers: reader })).status, 403)
    for (const path of ['history', 'page-hashes', 'page-hashes/unknown?page=0&size=20']) {
      t.match((await get(path)).json, { content: [], totalElements: 0, empty: true, last: true }, path)
      t.equal((await ask('GET', `/komga/api/v1/${path}`, { headers: reader })).status, 403, path)
    }
    t.same((await ask('GET', '/komga/api/v1/fonts/families', { headers: reader })).json, [])
    t.match((await get<{ content: object[] }>('users/me/authentication-activity')).json.content, [{ id: /./ }])
    const settings = (await get<Record<string, object>>('settings')).json
    for (const name of ['serverPort', 'serverContextPath', 'kepubifyPath'])
      t.notOk(Object.values(settings[name] as object).includes(null), `${name} has values`)
  })

  await t.test('metrics of the Komga API are for administrators', async (t) => {
    const metric = async (path: string, headers?: Record<string, string>) =>
      await ask<Metric>('GET', `/komga/actuator/metrics${path}`, headers && { headers })
    const { json } = await ask<{ names: string[] }>('GET', '/komga/actuator/metrics')
    t.equal(json.names.length, 9)
    for (const name of json.names) {
      const read = await metric(`/${name}`)
      t.equal(read.status, 200, name)
      t.same(
        decoderErrors(
          { name: 'text', description: 'text', baseUnit: 'text', measurements: [{ statistic: 'text', value: 'number' }] },
          read.json,
        ),
        [],
      )
      t.equal((await metric(`/${name}`, reader)).status, 403, name)
    }
    const numberAt = async (path: string) => (await metric(path)).json.measurements[0]?.value
    t.same([await numberAt('/komga.libraries'), await numberAt('/komga.series'), await numberAt('/komga.books')], [1, 3, 6])
    t.ok(((await numberAt('/komga.books.filesize')) as number) > 0)
    const at = `?tag=library:${one.libraryId}`
    t.same([await numberAt(`/komga.series${at}`), await numberAt(`/komga.books${at}`)], [3, 6])
    t.equal(await numberAt(`/komga.books.filesize${at}`), await numberAt('/komga.books.filesize'))
    const tasks = (await metric('/komga.tasks.execution')).json
    t.match(tasks.measurements, [{ statistic: 'COUNT' }, { statistic: 'TOTAL_TIME' }, { statistic: 'MAX' }])
    const [type] = tasks.availableTags[0]?.values ?? []
    t.ok(((await numberAt(`/komga.tasks.execution?tag=type:${type}`)) as number) > 0)
    for (const path of [
      '/komga.nothing',
      '/constructor',
      '/komga.books?tag=library:x',
      '/komga.libraries?tag=library:x',
      '/komga.books?tag=type:x',
    ])
      t.equal((await metric(path)).status, 404, path)
  })
})
