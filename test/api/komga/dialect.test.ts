import t from 'tap'
import { openKomgaServer, setSetting } from '#test/support/komga-server.ts'

t.setTimeout(60_000)

interface Listed {
  content: { id: string; seriesId: string; libraryId: string }[]
  totalElements: number
  pageable: { unpaged: boolean }
}
interface Refused {
  status: number
  violations: { fieldName: string; message: string }[]
}

t.test('flags and statuses of the dialect', async (t) => {
  const komga = await openKomgaServer(t)
  const { ask, server } = komga
  await setSetting(komga, 'compatibilityApi.enabled', 'true')
  const books = await ask<Listed>('GET', '/komga/api/v1/books?unpaged=true&sort=name,asc')
  const [book] = books.json.content as [Listed['content'][0]]

  await t.test('flags in any case, and empty ones', async (t) => {
    for (const [query, expected] of [
      ['unpaged=True', { pageable: { unpaged: true }, totalElements: 6 }],
      ['unpaged=TRUE&deleted=False', { pageable: { unpaged: true }, totalElements: 6 }],
      ['unpaged=1&deleted=0', { pageable: { unpaged: true }, totalElements: 6 }],
      ['deleted=True', { totalElements: 0 }],
      ['unpaged=&deleted=', { pageable: { unpaged: false }, totalElements: 6 }],
    ] as const)
      t.match((await ask('GET', `/komga/api/v1/books?${query}`)).json, expected, query)
    for (const query of ['oneshot=', 'complete=&oneshot=False', 'unpaged=Yes&oneshot=%20', 'deleted=OFF'])
      t.equal((await ask<Listed>('GET', `/komga/api/v1/series?${query}`)).json.totalElements, 3, query)
    t.equal((await ask('GET', `/komga/api/v1/books/${book.id}/pages/0?zero_based=True`)).status, 200)
    t.match((await ask('GET', '/komga/api/v1/books?unpaged=perhaps')).json, { violations: [{ fieldName: 'unpaged' }] })
    for (const path of [
      'series',
      'books',
      'collections',
      'readlists',
      'genres',
      'tags',
      'publishers',
      'authors',
      'series/alphabetical-groups',
    ]) {
      const at = `/komga/api/v1/${path}`
      const plain = await ask('GET', at)
      const empty = 'library_id=&collection_id=&series_id=&page=&size=&search=&author=&tag=%20&status=&read_status=&sort='
      const unchosen = await ask('GET', `${at}?${empty}`)
      t.same([unchosen.status, unchosen.bytes.toString()], [plain.status, plain.bytes.toString()], path)
    }
    const signedIn = await ask('GET', '/komga/api/v2/users/me?remember-me=True')
    t.match(signedIn.headers.getSetCookie().join(), /komga-remember-me=/)
    t.equal((await ask('GET', '/api/v1/series?full=True', { headers: server.headers })).status, 400, 'in this API only')
  })

  await t.test('refusals have the statuses of the Komga API', async (t) => {
    const make = (path: string, body: object) => ask<{ id: string; status: number }>('POST', `/komga/api/v1/${path}`, { body })
    const shelf = await make('collections', { name: 'Best', ordered: false, seriesIds: [book.seriesId] })
    const other = await make('collections', { name: 'Other', seriesIds: [book.seriesId] })
    const list = await make('readlists', { name: 'Next', bookIds: [book.id] })
    t.match([shelf.status, other.status, list.status], [200, 200, 200])
    const changed = (method: string, path: string, body: object) => async () =>
      await ask<Refused>(method, `/komga/api/v1/${path}`, { body })
    const wrong: Record<string, () => Promise<{ status: number; json: Refused }>> = {
      'a name that exists': () => make('collections', { name: 'best', seriesIds: [book.seriesId] }) as never,
      'the name of another': changed('PATCH', `collections/${other.json.id}`, { name: 'Best' }),
      'a read list that exists': changed('POST', 'readlists', { name: 'Next', bookIds: [book.id] }),
      'a collection without series': changed('POST', 'collections', { name: 'None', seriesIds: [] }),
      'a collection that loses its series': changed('PATCH', `collections/${other.json.id}`, { seriesIds: [] }),
      'a read list without books': changed('POST', 'readlists', { name: 'None', bookIds: [] }),
      'no number': changed('PATCH', `books/${book.id}/metadata`, { number: '' }),
      'a blank number': changed('PATCH', `books/${book.id}/metadata`, { number: '  ' }),
      'no number in bulk': changed('PATCH', 'books/metadata', { [book.id]: { number: '' } }),
      'no language': changed('PATCH', `series/${book.seriesId}/metadata`, { language: '' }),
      'no books at all': changed('PATCH', `series/${book.seriesId}/metadata`, { totalBookCount: 0 }),
      'no status': changed('PATCH', `series/${book.seriesId}/metadata`, { status: '' }),
      'no title': changed('PATCH', `series/${book.seriesId}/metadata`, { title: '' }),
      'page 0': changed('GET', `books/${book.id}/pages/0`, undefined as never),
      'page -5': changed('GET', `books/${book.id}/pages/-5`, undefined as never),
      'page 25': changed('GET', `books/${book.id}/pages/25`, undefined as never),
      'page 25 counted from 0': changed('GET', `books/${book.id}/pages/25?zero_based=true`, undefined as never),
      'the thumbnail of page 25': changed('GET', `books/${book.id}/pages/25/thumbnail`, undefined as never),
      'page 25 as it is': changed('GET', `books/${book.id}/pages/25/raw`, undefined as never),
    }
    for (const [what, send] of Object.entries(wrong)) t.equal((await send()).status, 400, what)
    t.match((await ask('GET', `/api/v1/books/${book.id}/pages/25`, { headers: server.headers })).status, 404, 'as before in our own API')
    for (const path of [
      'books/x',
      'books/0123456789ABC/pages',
      'series/1/books',
      'collections/x',
      'readlists/x/books/y/next',
      'libraries/1',
    ])
      t.equal((await ask('GET', `/komga/api/v1/${path}`)).status, 404, path)
    for (const [method, path] of [
      ['DELETE', 'collections/x'],
      ['PATCH', 'books/x/read-progress'],
      ['DELETE', 'users/x'],
    ] as const)
      t.equal((await ask(method, `/komga/api/v1/${path}`, { body: {} })).status, 404, path)
    t.equal((await ask('GET', `/komga/api/v1/books/${book.id}/pages/x`)).status, 400, 'a page number is no id')
  })

  await t.test('administration by somebody without the right', async (t) => {
    const reader = { email: 'reader@example.org', password: 'a long password' }
    t.equal((await ask('POST', '/komga/api/v2/users', { body: reader })).status, 201)
    t.equal((await ask('POST', '/komga/api/v2/users', { body: reader })).status, 400, 'a person that exists')
    const authorization = `Basic ${Buffer.from(`reader:${reader.password}`).toString('base64')}`
    for (const [method, path] of [
      ['POST', 'libraries'],
      ['PUT', `libraries/${book.libraryId}`],
      ['PATCH', `libraries/${book.libraryId}`],
      ['DELETE', `libraries/${book.libraryId}`],
      ['POST', `libraries/${book.libraryId}/scan`],
      ['POST', 'books/import'],
      ['DELETE', `books/${book.id}/file`],
      ['DELETE', `series/${book.seriesId}/file`],
      ['POST', 'transient-books'],
      ['PUT', 'page-hashes'],
      ['PUT', 'announcements'],
      ['PATCH', 'client-settings/global'],
      ['PATCH', 'settings'],
      ['GET', 'settings'],
      ['POST', 'users'],
      ['DELETE', 'tasks'],
    ] as const) {
      const at = `/komga/api/v1/${path}`
      const json = { 'content-type': 'application/json' }
      t.equal((await ask(method, at, { headers: json })).status, 401, `${method} ${path} by nobody`)
      t.equal((await ask(method, at, { headers: { authorization } })).status, 403, `${method} ${path} by a reader`)
    }
    t.match((await ask('POST', '/komga/api/v1/libraries', { body: {} })).json, { status: 405, message: /\/api\/v1\/libraries/ })
  })

  await t.test('a slash at the end of an address changes nothing', async (t) => {
    const forms = ['books', 'series', 'libraries', `books/${book.id}`, `series/${book.seriesId}/books`, 'collections', 'users/me']
    const paths = [...forms.map((path) => `/komga/api/v1/${path}`), ...forms.slice(0, 5).map((path) => `/api/v1/${path}`)]
    for (const path of [...paths.filter((path) => path !== '/api/v1/users/me'), '/health', '/opds/v2', '/opds/v1/catalog']) {
      const headers = path.startsWith('/api') ? server.headers : { authorization: komga.basic }
      const [plain, slashed] = [await ask('GET', path, { headers }), await ask('GET', `${path}/`, { headers })]
      t.same([slashed.status, slashed.bytes.toString()], [plain.status, plain.bytes.toString()], path)
      t.equal(plain.status, 200, path)
      t.equal((await ask('GET', `${path}/?size=1`, { headers })).status, (await ask('GET', `${path}?size=1`, { headers })).status)
    }
    t.equal((await ask('POST', '/komga/api/v1/books/list/', { body: {} })).status, 200)
    t.equal((await ask('DELETE', '/komga/api/v1/nothing/')).status, 404)
  })
})
