import t from 'tap'
import { BOOK, COLLECTION, LIBRARY, PAGE, pageOf, READ_LIST, SERIES, USER } from '#test/support/komga-decoders.ts'
import { decoderErrors, openKomgaServer, setSetting } from '#test/support/komga-server.ts'

interface Page<T> {
  content: T[]
  totalElements: number
  numberOfElements: number
  number: number
  size: number
  first: boolean
  last: boolean
  pageable: { unpaged: boolean }
}
interface Book {
  id: string
  seriesId: string
  number: number
  name: string
  metadata: { title: string; number: string; numberSort: number; authors: { name: string; role: string }[] }
  readProgress: { page: number; completed: boolean } | null
}
interface Series {
  id: string
  name: string
  libraryId: string
  booksReadCount: number
}

t.setTimeout(60_000)
t.test('the requests of reader apps', async (t) => {
  const komga = await openKomgaServer(t)
  const { server, ask, basic } = komga

  await t.test('are answered as if there were nothing until the interface is switched on', async (t) => {
    const nothing = await ask<{ error: string }>('GET', '/nothing/api/v1/users/me')
    for (const path of ['/komga/api/v1/users/me', '/komga/api/v2/users/me', '/komga/api/v1/series', '/komga']) {
      const answer = await ask<{ error: string }>('GET', path)
      t.match([answer.status, answer.json.error], [404, 'not_found'], path)
      t.equal(answer.headers.get('set-cookie'), null)
      t.equal(answer.headers.get('www-authenticate'), nothing.headers.get('www-authenticate'))
    }
    t.equal((await ask('DELETE', '/komga/api/v1/users/me')).status, 404, 'and no method is known')
  })

  await t.test('the settings are checked', async (t) => {
    for (const prefix of ['api', 'opds', 'KOREADER', 'a/b', '', '.', '../x', 'ä', 'x'.repeat(65)])
      t.equal((await setSetting(komga, 'compatibilityApi.prefix', prefix)).status, 422, prefix)
    t.equal((await setSetting(komga, 'compatibilityApi.enabled', 'yes')).status, 422)
    t.match(await setSetting(komga, 'compatibilityApi.enabled', 'true'), { status: 200 })
  })

  await t.test('the prefix may be changed while the server runs', async (t) => {
    t.equal((await ask('GET', '/komga/api/v2/users/me')).status, 200)
    t.match(await setSetting(komga, 'compatibilityApi.prefix', 'shelf'), { status: 200 })
    t.equal((await ask('GET', '/komga/api/v2/users/me')).status, 404)
    t.equal((await ask('GET', '/shelf/api/v2/users/me')).status, 200)
    t.match(await setSetting(komga, 'compatibilityApi.prefix', 'komga'), { status: 200 })
  })

  await t.test('refusals are in the dialect', async (t) => {
    const without = await ask<object>('GET', '/komga/api/v1/series', { headers: {} })
    t.match(without.json, { status: 401, error: 'Unauthorized', path: '/komga/api/v1/series', timestamp: /^\d{4}-.*\dZ$/ })
    t.match(without.headers.get('www-authenticate'), /^Basic /)
    const wrong = { authorization: `Basic ${Buffer.from('ada:not the password').toString('base64')}` }
    t.equal((await ask('GET', '/komga/api/v1/series', { headers: wrong })).status, 401)
    t.match((await ask('GET', '/komga/api/v1/no-such-thing')).json, { status: 404, error: 'Not Found' })
    t.match((await ask('DELETE', '/komga/api/v1/libraries')).json, { status: 405, error: 'Method Not Allowed' })
    t.match((await ask('GET', '/komga/api/v1/series/not-an-id')).json, { status: 404, error: 'Not Found' })
    t.match((await ask('GET', '/komga/api/v1/series?page=x')).json, { violations: [{ fieldName: 'page' }] })
    t.match((await ask('POST', '/komga/api/v1/books/list', { body: { condition: { nope: { operator: 'is' } } } })).json, {
      violations: [{ fieldName: 'condition.nope', message: /is no field/ }],
    })
  })

  await t.test('sessions of the Komga API begin and end', async (t) => {
    const first = await ask('GET', '/komga/api/v2/users/me?remember-me=true', { headers: { authorization: basic, 'x-auth-token': '' } })
    t.same(decoderErrors(USER, first.json), [])
    t.match(first.json, { roles: ['ADMIN', 'FILE_DOWNLOAD', 'PAGE_STREAMING', 'USER'] })
    const cookies = first.headers.getSetCookie()
    t.match(cookies, [/^KOMGA-SESSION=[^;]+; Path=\/komga; HttpOnly; SameSite=Strict$/, /^komga-remember-me=.*Max-Age=\d{6}/])
    const [cookie = ''] = (cookies[0] ?? '').split(';')
    const token = first.headers.get('x-auth-token') as string
    t.equal(`KOMGA-SESSION=${token}`, cookie)
    const shown: Record<string, string>[] = [{ cookie }, { 'x-auth-token': token }, { cookie: (cookies[1] ?? '').split(';')[0] as string }]
    for (const headers of shown)
      t.equal((await ask('GET', '/komga/api/v1/libraries', { headers })).status, 200, 'the session alone will do')
    t.equal((await ask('GET', '/api/v1/libraries', { headers: { cookie } })).status, 401, 'but not for our own interface')
    t.equal((await ask('GET', '/api/v1/libraries', { headers: { authorization: `Bearer ${token}` } })).status, 401)
    t.equal((await ask('GET', '/komga/api/v1/libraries', { headers: { cookie: `${cookie}x` } })).status, 401)
    t.equal((await ask('GET', '/komga/api/v1/libraries', { headers: { authorization: basic, cookie } })).headers.get('set-cookie'), null)
    const again = await ask('GET', '/komga/api/v1/libraries')
    t.match(again.headers.getSetCookie(), [cookie], 'apps without cookies do not leave a session behind with every request')
    const foreign = { cookie, 'sec-fetch-site': 'cross-site' }
    const { json: books } = await ask<Page<Book>>('GET', '/komga/api/v1/books?size=1')
    const progress = `/komga/api/v1/books/${books.content[0]?.id}/read-progress`
    t.equal((await ask('PATCH', progress, { headers: foreign, body: { page: 1 } })).status, 403, 'another site changes nothing')
    t.equal((await ask('PATCH', progress, { headers: { cookie }, body: { page: 1 } })).status, 204)
    t.equal((await ask('DELETE', progress, { headers: { cookie } })).status, 204)
    const out = await ask('POST', '/komga/api/logout', { headers: { cookie } })
    t.match([out.status, out.headers.getSetCookie()], [204, [/^KOMGA-SESSION=;.*Max-Age=0/, /^komga-remember-me=;.*Max-Age=0/]])
    t.equal((await ask('GET', '/komga/api/v1/libraries', { headers: { cookie } })).status, 401, 'it has ended')

    const { json: made } = await ask<{ key: string; id: string }>('POST', '/komga/api/v2/users/me/api-keys', {
      body: { comment: 'an app' },
    })
    const byKey = await ask('GET', '/komga/api/v1/libraries', { headers: { 'x-api-key': made.key } })
    const [keyCookie = ''] = (byKey.headers.getSetCookie()[0] ?? '').split(';')
    t.equal((await ask('GET', '/komga/api/v1/libraries', { headers: { cookie: keyCookie } })).status, 200)
    t.equal((await ask('DELETE', `/komga/api/v2/users/me/api-keys/${made.id}`)).status, 204)
    t.equal((await ask('GET', '/komga/api/v1/libraries', { headers: { cookie: keyCookie } })).status, 401, 'it ends with its key')
    const jwt = await ask('GET', '/komga/api/v1/libraries', { headers: server.headers })
    t.match([jwt.status, jwt.headers.get('set-cookie')], [200, null])
  })

  const libraries = await ask<{ id: string }[]>('GET', '/komga/api/v1/libraries')
  const series = await ask<Page<Series>>('GET', '/komga/api/v1/series?search=&page=0&deleted=false&sort=metadata.titleSort,asc')
  const watch = series.json.content.find(({ name }) => name.startsWith('Watch')) as Series

  await t.test('lists of the Komga API have what reader apps need', async (t) => {
    t.same(
      libraries.json.flatMap((library) => decoderErrors(LIBRARY, library)),
      [],
    )
    t.same(decoderErrors(pageOf(SERIES), series.json), [])
    t.match(series.json, { totalElements: 3, numberOfElements: 3, first: true, last: true, size: 20, number: 0 })
    const list = await ask<Page<Series>>('POST', '/komga/api/v1/series/list?page=0&size=1000', { body: { fullTextSearch: '' } })
    t.match(list.json, { totalElements: 3, size: 1000 })
    const words = `library_id=${watch.libraryId},${watch.libraryId}&genre=Drama&read_status=UNREAD&read_status=IN_PROGRESS&status=ONGOING,ENDED`
    const narrow = await ask<Page<Series>>('GET', `/komga/api/v1/series?${words}&author=Alan%20Moore,writer&tag[]=classic`)
    t.same(
      narrow.json.content.map(({ id }) => id),
      [watch.id],
    )
    const past = await ask<Page<Series>>('GET', '/komga/api/v1/series?page=7&size=2')
    t.match(past.json, { content: [], empty: true, totalElements: 3, number: 7, last: true })
    t.equal((await ask('GET', '/komga/api/v1/series?page=-1&size=0')).status, 200)
    for (const name of ['new', 'updated', 'latest'])
      t.same(decoderErrors(pageOf(SERIES), (await ask('GET', `/komga/api/v1/series/${name}?deleted=false`)).json), [], name)
    const groups = await ask('POST', '/komga/api/v1/series/list/alphabetical-groups', { body: {} })
    t.match(groups.json, [{ group: 'u', count: 1 }, { group: 'w' }, { group: 'z' }])
  })

  const path = `/komga/api/v1/series/${watch.id}/books`
  const books = await ask<Page<Book>>('GET', `${path}?unpaged=true&media_status=READY&deleted=false`)
  const [one, two, three] = books.json.content as [Book, Book, Book]

  await t.test('books of a series', async (t) => {
    t.same(decoderErrors(pageOf(BOOK), books.json), [])
    t.match(books.json, { totalElements: 3, pageable: { unpaged: true } })
    t.same(
      books.json.content.map(({ number, metadata }) => [number, metadata.number, metadata.numberSort]),
      [
        [1, '1', 1],
        [2, '2', 2],
        [3, '3', 3],
      ],
    )
    const backward = await ask<Page<Book>>('GET', `${path}?sort=metadata.numberSort,desc`)
    t.same(
      backward.json.content.map(({ number }) => number),
      [3, 2, 1],
    )
    const unnumbered = series.json.content.find(({ name }) => name === 'Unnumbered')
    const placed = await ask<Page<Book>>('GET', `/komga/api/v1/series/${unnumbered?.id}/books`)
    t.same(
      placed.json.content.map(({ name, number, metadata }) => [name, number, metadata.numberSort]),
      [
        ['Alpha', 1, 1],
        ['Beta', 2, 2],
      ],
    )
    const emma = await ask<Page<Book>>('GET', '/komga/api/v1/books?search=Emma')
    t.match(emma.json.content, [{ metadata: { authors: [{ name: 'Jane Austen', role: 'writer' }] } }], 'an author is a writer here')
  })

  await t.test('conditions of the Komga API filter lists', async (t) => {
    const count = async (condition: object) =>
      (await ask<Page<Book>>('POST', '/komga/api/v1/books/list?unpaged=true', { body: { condition } })).json.totalElements
    t.equal(
      await count({
        seriesId: { operator: 'Is', value: watch.id },
        deleted: { operator: 'IsFalse' },
        mediaStatus: { operator: 'is', value: 'ready' },
      }),
      3,
    )
    t.equal(
      await count({
        allOf: [{ anyOf: [{ readStatus: { operator: 'is', value: 'READ' } }] }, { seriesId: { operator: 'is', value: watch.id } }],
      }),
      0,
    )
    t.equal(await count({ releaseDate: { operator: 'after', dateTime: '1986-01-01T00:00:00Z' } }), 3)
    t.equal(await count({ releaseDate: { operator: 'isInTheLast', duration: 'P30D' } }), 0)
    t.equal(await count({ author: { operator: 'is', value: { name: 'Alan Moore', role: 'writer' } } }), 3)
    t.equal(await count({ author: { operator: 'is', value: { name: 'Alan Moore', role: 'penciller' } } }), 0)
    t.equal(await count({ mediaProfile: { operator: 'isNot', value: 'DIVINA' } }), 1)
    t.equal(await count({ title: { operator: 'doesNotBeginWith', value: 'Issue' } }), 3)
    t.equal(await count({ allOf: [] }), 6)
    const ofSeries = await ask<Page<Series>>('POST', '/komga/api/v1/series/list?page=0&size=40&sort=titleSort', {
      body: {
        condition: { allOf: [{ genre: { operator: 'isNot', value: 'Drama' } }, { libraryId: { operator: 'is', value: watch.libraryId } }] },
      },
    })
    t.equal(ofSeries.json.totalElements, 2)
  })

  await t.test('one book, its pages and its cover', async (t) => {
    t.same(decoderErrors(BOOK, (await ask('GET', `/komga/api/v1/books/${one.id}`)).json), [])
    t.match((await ask('GET', `/komga/api/v1/books/${one.id}/next`)).json, { id: two.id })
    t.match((await ask('GET', `/komga/api/v1/books/${two.id}/previous`)).json, { id: one.id })
    t.equal((await ask('GET', `/komga/api/v1/books/${one.id}/previous`)).status, 404)
    t.equal((await ask('GET', `/komga/api/v1/books/${three.id}/next`)).status, 404)
    const pages = await ask<{ number: number }[]>('GET', `/komga/api/v1/books/${one.id}/pages`)
    t.same(
      pages.json.flatMap((page) => decoderErrors(PAGE, page)),
      [],
    )
    t.same(
      pages.json.map(({ number }) => number),
      [1, 2, 3, 4],
    )
    const image = await ask('GET', `/komga/api/v1/books/${one.id}/pages/2`, { headers: { authorization: basic, accept: 'image/*' } })
    t.match([image.status, image.headers.get('content-type')], [200, /^image\//])
    const png = await ask('GET', `/komga/api/v1/books/${one.id}/pages/2?convert=png`)
    t.match([png.status, png.headers.get('content-type'), png.bytes.subarray(1, 4).toString()], [200, 'image/png', 'PNG'])
    t.equal((await ask('GET', `/komga/api/v1/books/${one.id}/pages/1?zero_based=true`)).headers.get('etag'), image.headers.get('etag'))
    t.equal((await ask('GET', `/komga/api/v1/books/${one.id}/pages/0`)).status, 400)
    t.equal((await ask('GET', `/komga/api/v1/books/${one.id}/pages/5`)).status, 400)
    for (const thing of [`series/${watch.id}`, `books/${one.id}`, `libraries/${watch.libraryId}`, `books/${one.id}/pages/1`]) {
      const cover = await ask('GET', `/komga/api/v1/${thing}/thumbnail`)
      t.match([cover.status, cover.headers.get('content-type')], [200, 'image/jpeg'], thing)
      const headers = { authorization: basic, 'if-none-match': cover.headers.get('etag') as string }
      t.equal((await ask('GET', `/komga/api/v1/${thing}/thumbnail`, { headers })).status, 304, thing)
    }
    const part = await ask('GET', `/komga/api/v1/books/${one.id}/file`, { headers: { authorization: basic, range: 'bytes=0-3' } })
    t.match([part.status, part.bytes.toString('latin1')], [206, 'PK\u0003\u0004'])
  })

  await t.test('progress is read and written by the Komga API', async (t) => {
    const progress = `/komga/api/v1/books/${one.id}/read-progress`
    const state = async (id = one.id) => (await ask<Book>('GET', `/komga/api/v1/books/${id}`)).json.readProgress
    t.equal((await ask('PATCH', progress, { body: { completed: false, page: 2 } })).status, 204)
    t.match(await state(), { page: 2, completed: false })
    for (const body of [{ page: 0 }, { page: 5 }, {}, { completed: false }]) {
      const { status, json } = await ask('PATCH', progress, { body })
      t.match([status, json], [400, { violations: [{ fieldName: 'page' }] }], JSON.stringify(body))
    }
    t.equal((await ask('PATCH', progress, { body: { page: 4 } })).status, 204)
    t.match(await state(), { page: 4, completed: true }, 'the last page completes')
    t.equal((await ask('DELETE', progress)).status, 204)
    t.equal(await state(), null)
    t.equal((await ask('PATCH', progress, { body: { completed: true } })).status, 204)
    t.match(await state(), { page: 4, completed: true }, 'completed is the last page')
    const deck = await ask<Page<Book>>('GET', '/komga/api/v1/books/ondeck?deleted=false')
    t.same(
      deck.json.content.map(({ id }) => id),
      [two.id],
    )
    t.match((await ask('GET', `/komga/api/v1/series/${watch.id}`)).json, {
      booksReadCount: 1,
      booksUnreadCount: 2,
      booksInProgressCount: 0,
    })
    t.equal((await ask('POST', `/komga/api/v1/series/${watch.id}/read-progress`)).status, 204)
    t.match(await state(three.id), { completed: true })
    t.equal((await ask('DELETE', `/komga/api/v1/series/${watch.id}/read-progress`)).status, 204)
    t.equal(await state(three.id), null)
  })

  await t.test('the tracker, by the session alone', async (t) => {
    const first = await ask('GET', '/komga/api/v1/libraries', { headers: { authorization: basic, 'x-auth-token': '' } })
    const headers = { 'x-auth-token': first.headers.get('x-auth-token') as string }
    const progress = `/komga/api/v2/series/${watch.id}/read-progress/tachiyomi`
    t.same((await ask('GET', progress, { headers })).json, {
      ...{ booksCount: 3, booksReadCount: 0, booksUnreadCount: 3, booksInProgressCount: 0 },
      ...{ lastReadContinuousNumberSort: 0, maxNumberSort: 3 },
    })
    t.equal((await ask('PUT', progress, { headers, body: { lastBookNumberSortRead: 2 } })).status, 204)
    t.match((await ask('GET', progress, { headers })).json, { booksReadCount: 2, booksUnreadCount: 1, lastReadContinuousNumberSort: 2 })
  })

  await t.test('read lists and collections', async (t) => {
    const made = await ask<{ id: string }>('POST', '/komga/api/v1/readlists', {
      body: { name: 'Next', summary: 'What comes', ordered: true, bookIds: [three.id, one.id] },
    })
    t.same(decoderErrors(READ_LIST, made.json), [])
    const list = `/komga/api/v1/readlists/${made.json.id}`
    const listed = await ask<Page<Book>>('GET', `${list}/books?unpaged=true&media_status=READY&deleted=false`)
    t.same(
      listed.json.content.map(({ id }) => id),
      [three.id, one.id],
    )
    t.match((await ask('GET', `${list}/books/${three.id}/next`)).json, { id: one.id })
    t.equal((await ask('GET', `${list}/books/${one.id}/next`)).status, 404)
    t.equal((await ask('GET', `${list}/thumbnail`)).status, 200)
    t.match((await ask('GET', `${list}/read-progress/tachiyomi`)).json, { booksCount: 2, booksReadCount: 1, lastReadContinuousIndex: 0 })
    t.equal((await ask('PUT', `${list}/read-progress/tachiyomi`, { body: { lastBookRead: 2 } })).status, 204)
    t.match((await ask('GET', `${list}/read-progress/tachiyomi`)).json, { booksReadCount: 2, lastReadContinuousIndex: 2 })
    t.equal((await ask('PATCH', list, { body: { name: 'Later', bookIds: [one.id] } })).status, 204)
    t.match((await ask('GET', list)).json, { name: 'Later', summary: 'What comes', bookIds: [one.id] })
    t.same(decoderErrors(pageOf(READ_LIST), (await ask('GET', '/komga/api/v1/readlists?search=late')).json), [])
    t.match((await ask('GET', `/komga/api/v1/books/${one.id}/readlists`)).json, [{ name: 'Later' }])
    t.equal((await ask('DELETE', list)).status, 204)
    t.equal((await ask('GET', list)).status, 404)

    const shelf = await ask<{ id: string }>('POST', '/komga/api/v1/collections', {
      body: { name: 'Best', ordered: false, seriesIds: [watch.id] },
    })
    t.same(decoderErrors(COLLECTION, shelf.json), [])
    const collection = `/komga/api/v1/collections/${shelf.json.id}`
    t.same(decoderErrors(pageOf(COLLECTION), (await ask('GET', '/komga/api/v1/collections?unpaged=true')).json), [])
    const inside = await ask<Page<Series>>('GET', `${collection}/series?page=0&size=500`)
    t.same(
      inside.json.content.map(({ id }) => id),
      [watch.id],
    )
    t.match((await ask('GET', `/komga/api/v1/series?collection_id=${shelf.json.id}`)).json, { totalElements: 1 })
    t.match((await ask('GET', `/komga/api/v1/series/${watch.id}/collections`)).json, [{ id: shelf.json.id }])
    t.equal((await ask('GET', `${collection}/thumbnail`)).status, 200)
    t.equal((await ask('PATCH', collection, { body: { name: 'Very best', summary: { not: 'a text' } } })).status, 204)
    t.match((await ask('GET', `/api/v1/collections/${shelf.json.id}`, { headers: server.headers })).json, {
      name: 'Very best',
      summary: null,
    })
    t.equal((await ask('DELETE', collection)).status, 204)
  })

  await t.test('what lists are filtered by', async (t) => {
    const words = async (path: string) => (await ask<unknown>('GET', `/komga/api/v1/${path}`)).json
    t.same(await words('genres'), ['Drama'])
    t.same(await words('publishers'), ['DC'])
    t.same(await words(`tags?library_id=${watch.libraryId}`), ['classic'])
    t.same(await words('tags/book'), ['classic'])
    t.match(await words('languages'), ['en'])
    t.same(await words('age-ratings'), [])
    t.same(await words('sharing-labels'), [])
    t.same(await words('series/release-dates'), ['1986'])
    const writer = { name: 'Alan Moore', role: 'writer' }
    t.match(await words('authors?search=moore'), [writer])
    t.match((await ask('GET', '/komga/api/v2/authors?role=writer')).json, { totalElements: 2, content: [writer, { name: 'Jane Austen' }] })
    t.same(await words('authors/roles'), ['penciller', 'writer'])
  })
})
