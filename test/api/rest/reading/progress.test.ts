import t, { type Test } from 'tap'
import { userRoutes } from '#api/rest/account/users.ts'
import { bookRoutes } from '#api/rest/catalog/books.ts'
import { homeShelfRoutes } from '#api/rest/catalog/home-shelves.ts'
import { seriesRoutes } from '#api/rest/catalog/series.ts'
import { progressRoutes } from '#api/rest/reading/progress.ts'
import type { Book } from '#core/catalog/book.ts'
import type { Series } from '#core/catalog/series.ts'
import { changeSettings } from '#core/settings/chosen-setting-store.ts'
import { findContract } from '#test/support/contract.ts'
import { addBook, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { ADMIN, openTestServer } from '#test/support/server.ts'

type Json = Record<string, unknown>
const checkBook = findContract('Book')

async function openShelf(t: Test) {
  const server = await openTestServer(t, { routes: [...bookRoutes, ...seriesRoutes, ...progressRoutes, ...homeShelfRoutes, ...userRoutes] })
  const { database } = server
  const library_id = await addLibrary(database)
  const run = await addSeries(database, { library_id, title: 'Run' })
  const solo = await addSeries(database, { library_id, title: 'Solo' })
  const secret = await addSeries(database, { library_id, title: 'Secret' })
  const books: string[] = []
  for (let n = 1; n <= 4; n++)
    books.push(await addBook(database, { library_id, series_id: run, title: `Issue ${n}`, number: n, page_count: 10 }))
  const pending = await addBook(database, { library_id, series_id: solo, title: 'Pending', state: 'pending', page_count: 0 })
  const hidden = await addBook(database, { library_id, series_id: secret, title: 'Hidden', page_count: 10 })
  const { id: userId, token } = await server.signUp({ username: 'rita' })
  await shareSeries(database, { seriesId: secret, caller: { userId }, mode: 'deny' })
  const ask = <T = Json>(method: string, path: string, body?: unknown) =>
    server.request<T>(method, `/api/v1/${path}`, { token, ...(body !== undefined && { body }) })
  const titles = async (path: string) => {
    const { json } = await ask<{ data: { title: string }[] } | { title: string }[]>('GET', path)
    return (Array.isArray(json) ? json : json.data).map(({ title }) => title)
  }
  return { server, database, library_id, run, solo, secret, books, pending, hidden, userId, ask, titles }
}

t.test('one book: put, get, finish, forget', async (t) => {
  const { ask, books, userId, server } = await openShelf(t)
  const [book] = books
  t.equal((await ask('GET', `books/${book}/progress`)).json, null)
  const put = await ask('PUT', `books/${book}/progress`, { currentPage: 4 })
  t.match(put.json, { bookId: book, userId, currentPage: 4, progressPercentage: 0.4, completed: false, completedAt: null })
  const shown = (await ask<{ book: Book }>('GET', `books/${book}`)).json.book
  t.match(shown.readProgress, { currentPage: 4 })
  t.same(checkBook(shown), [])
  t.equal((await server.request<{ book: Book }>('GET', `/api/v1/books/${book}`, { token: server.adminToken })).json.book.readProgress, null)
  const done = await ask('PUT', `books/${book}/progress`, { currentPage: 10 })
  t.match(done.json, { completed: true, completedAt: String, startedAt: put.json.startedAt })
  const again = await ask('PUT', `books/${book}/progress`, { currentPage: 10 })
  t.equal(again.json.completedAt, done.json.completedAt)
  t.match((await ask('PUT', `books/${book}/progress`, { currentPage: 2 })).json, { completed: false, completedAt: null })
  t.match((await ask('POST', `books/${book}/read`)).json, { completed: true, currentPage: 10, progressPercentage: 1 })
  t.match((await ask('GET', 'progress')).json, { total: 1, progress: [{ bookId: book }], asOf: String })
  t.equal((await ask('POST', `books/${book}/unread`)).status, 204)
  t.equal((await ask('DELETE', `books/${book}/progress`)).status, 204, 'forgetting nothing is no mistake')
  t.match((await ask('GET', 'progress')).json, { total: 0, progress: [] })
})

t.test('administrators see the progress of a user if the server says so, without what either of them may not see', async (t) => {
  const { server, database, ask, books, secret, solo, pending, hidden, userId } = await openShelf(t)
  for (const book of [books[0], books[2], pending]) await ask('PUT', `books/${book}/progress`, { currentPage: 1 })
  // From before the series was hidden from the user.
  await database('read_progress').insert({ user_id: userId, book_id: hidden, current_page: 3 })
  const path = `/api/v1/users/${userId}/progress`
  const admin = (query = '', token = server.adminToken) => server.request<Json>('GET', path + query, { token })
  const off = await admin()
  t.match([off.status, off.json], [403, { message: /progress\.shown_to_administrators is off/ }])
  const { id: adminId } = await database('users').where('username', ADMIN.username).first('id')
  const set = (value: string | null) =>
    changeSettings(database, [{ key: 'progress.shown_to_administrators', value }], { userId: adminId, reason: null, address: '127.0.0.1' })
  await set('true')
  const all = await admin()
  t.match(all.json, { total: 3, page: 1, totalPages: 1, data: [{ userId, bookId: pending }, { bookId: books[2] }, { bookId: books[0] }] })
  t.same(all.json['data'], ((await ask('GET', 'progress')).json as { progress: unknown }).progress, 'what the user sees')
  t.match((await admin('?page=2&pageSize=2')).json, { total: 3, totalPages: 2, data: [{ bookId: books[0] }] })
  await shareSeries(database, { seriesId: solo, caller: { userId: adminId }, mode: 'deny' })
  t.match(
    (await admin()).json,
    { total: 2, data: [{ bookId: books[2] }, { bookId: books[0] }] },
    'nor what is hidden from the administrator',
  )
  t.notOk(JSON.stringify((await admin()).json).includes(secret))

  t.equal((await ask('GET', `users/${userId}/progress`)).status, 403, 'a reader does not even see their own there')
  const { token: other } = await server.signUp({ username: 'olga' })
  t.equal((await admin('', other)).status, 403)
  t.equal((await server.request('GET', `/api/v1/users/${books[0]}/progress`, { token: server.adminToken })).status, 404)
  for (const value of ['false', null]) {
    await set('true')
    await set(value)
    t.equal((await admin()).status, 403, 'off again')
  }
})

t.test('series and many at once, and the lists follow at once', async (t) => {
  const { ask, books, run, solo, pending, titles, library_id } = await openShelf(t)
  const unread = async () => (await ask<Series>('GET', `series/${run}`)).json.unreadCount
  t.equal(await unread(), 4)
  t.match((await ask('POST', 'books/bulk/read', { bookIds: [books[0], books[0]] })).json, { count: 1 })
  t.equal(await unread(), 3)
  t.same(await titles('books/on-deck'), ['Issue 2'])
  t.same(await titles(`libraries/${library_id}/books/on-deck`), ['Issue 2'])
  t.same(await titles('series/in-progress'), ['Run'])
  await ask('PUT', `books/${books[1]}/progress`, { currentPage: 5 })
  t.same(await titles('books/on-deck'), [], 'an open book is in progress instead')
  t.same(await titles('books/in-progress'), ['Issue 2'])
  t.same(await titles('books/recently-read?limit=1'), ['Issue 2'])
  t.same(await titles('books/recently-read'), ['Issue 2', 'Issue 1'])
  t.match((await ask('POST', `series/${run}/read`)).json, { count: 3 })
  t.match((await ask('POST', `series/${run}/read`)).json, { count: 0 })
  t.same([await unread(), await titles('series/in-progress'), await titles('books/in-progress')], [0, [], []])
  t.match((await ask('POST', 'series/bulk/unread', { seriesIds: [run, solo] })).json, { count: 4 })
  t.equal(await unread(), 4)
  t.match((await ask('POST', 'series/bulk/read', { seriesIds: [run, solo] })).json, { count: 5 })
  t.match((await ask('GET', `books/${pending}/progress`)).json, { currentPage: 1, completed: true })
  t.match((await ask('POST', 'books/bulk/unread', { bookIds: books })).json, { count: 4 })
  t.same((await titles('books/recently-added')).length, 5)
  t.same((await titles('series/recently-added')).length, 2)
  t.same((await titles(`libraries/${library_id}/series/recently-updated`)).length, 2)
})

t.test('Readium readers keep their place in a book', async (t) => {
  const { ask, books } = await openShelf(t)
  const path = `books/${books[0]}/progression`
  t.equal((await ask('GET', path)).status, 204)
  const device = { id: 'urn:uuid:1', name: 'Reader' }
  const at = (modified: string, locations: Json) => ({
    modified,
    device,
    locator: { href: 'c1.xhtml', type: 'application/xhtml+xml', locations },
  })
  t.equal((await ask('PUT', path, at('2026-01-02T10:00:00Z', { position: 5, progression: 0.5, 'x-own': 1 }))).status, 204)
  t.match((await ask('GET', path)).json, {
    modified: '2026-01-02T10:00:00.000Z',
    device,
    locator: { href: 'c1.xhtml', locations: { position: 5, 'x-own': 1 } },
  })
  t.match((await ask('GET', `books/${books[0]}/progress`)).json, { currentPage: 5, progressPercentage: 0.5, completed: false })
  const late = await ask('PUT', path, at('2026-01-01T10:00:00Z', { position: 2 }))
  t.match([late.status, late.json.error], [409, 'conflict'], 'a device that was offline does not turn back what was read since')
  t.match((await ask('GET', `books/${books[0]}/progress`)).json, { currentPage: 5 })
  t.equal((await ask('PUT', path, at('2026-01-03T10:00:00Z', { totalProgression: 1 }))).status, 204)
  t.match((await ask('GET', `books/${books[0]}/progress`)).json, { currentPage: 10, completed: true })
  await ask('PUT', `books/${books[0]}/progress`, { currentPage: 3 })
  t.match((await ask('GET', path)).json, { locator: { locations: { position: 3, totalProgression: 0.3 } } })
  t.equal((await ask('PUT', path, at('2126-01-01T10:00:00Z', { position: 4 }))).status, 204)
  t.ok(Date.parse((await ask('GET', path)).json.modified as string) <= Date.now(), 'a clock that is ahead locks nobody out')
  t.equal((await ask('PUT', path, at('2126-01-01T10:00:00Z', { position: 11 }))).status, 422)
  t.equal((await ask('PUT', path, { ...at('2026-01-01T10:00:00Z', {}), modified: 'yesterday' })).status, 422)
})

t.test('a page and a progression tell of one place', async (t) => {
  const { ask, books } = await openShelf(t)
  const path = `books/${books[0]}`
  const at = (modified: string, locations: Json) => ({
    ...{ modified, device: { id: 'urn:uuid:1', name: 'Reader' } },
    locator: { href: 'pages/4', type: 'image/jpeg', locations },
  })
  const first = at('2026-01-02T10:00:00Z', { position: 4, totalProgression: 0.37, fragments: ['panel=2'] })
  await ask('PUT', `${path}/progression`, first)
  await ask('PUT', `${path}/progress`, { currentPage: 4 })
  t.match(
    (await ask('GET', `${path}/progression`)).json,
    { ...first, modified: '2026-01-02T10:00:00.000Z' },
    'the finer place of the same page stays',
  )
  t.match((await ask('GET', `${path}/progress`)).json, { currentPage: 4, progressPercentage: 0.37 })
  t.equal((await ask('PUT', `${path}/progression`, at('2026-01-02T10:00:01Z', { position: 4, totalProgression: 0.38 }))).status, 204)
  t.equal((await ask('PUT', `${path}/progression`, at('2026-01-02T10:00:01Z', { position: 4 }))).status, 204, 'the same time is no clash')
  t.equal((await ask('PUT', `${path}/progression`, at('2026-01-02T10:00:00Z', { position: 4 }))).status, 409)
  await ask('PUT', `${path}/progress`, { currentPage: 6 })
  t.match((await ask('GET', `${path}/progression`)).json, {
    device: { id: 'carrel' },
    locator: { href: 'pages/6', locations: { position: 6 } },
  })
  t.equal((await ask('PUT', `${path}/progression`, at('2026-01-02T10:00:02Z', { position: 5 }))).status, 204, 'a page moves no clock')
  t.match((await ask('GET', `${path}/progress`)).json, { currentPage: 5 })
  await ask('PUT', `${path}/progression`, at('2026-01-02T10:00:03Z', { position: 5, totalProgression: 0.47 }))
  await ask('PUT', `${path}/progress`, { currentPage: 6, progressPercentage: 0.49 })
  t.match((await ask('GET', `${path}/progression`)).json, { device: { id: 'urn:uuid:1' } }, 'readers round in different ways')
  await ask('POST', `${path}/read`)
  t.match((await ask('GET', `${path}/progression`)).json, { locator: { locations: { position: 10, totalProgression: 1 } } })
  await ask('DELETE', `${path}/progress`)
  t.equal((await ask('GET', `${path}/progression`)).status, 204)
  t.equal(
    (await ask('PUT', `${path}/progression`, at('2026-01-01T10:00:00Z', { position: 2 }))).status,
    204,
    'nothing is remembered of what was forgotten',
  )
})

t.test('of a book whose pages are not counted the last report stands alone', async (t) => {
  const { ask, pending, database } = await openShelf(t)
  for (const format of ['epub', 'cbz', 'pdf'] as const) {
    await database('books').where({ id: pending }).update({ file_format: format, page_source: 'none' })
    const path = `books/${pending}`
    const at = (modified: string, locations: object) => ({
      ...{ modified, device: { id: 'urn:uuid:1', name: 'Thorium' } },
      locator: { href: 'chapter.xhtml', type: 'application/xhtml+xml', locations },
    })
    const shown = async () => (await ask('GET', `${path}/progression`)).json
    t.equal((await ask('GET', `${path}/progression`)).status, 204, `${format}: not begun`)
    t.equal((await ask('PUT', `${path}/progression`, at('2026-01-02T10:00:00Z', { totalProgression: 0.2 }))).status, 204)
    await ask('PUT', `${path}/progress`, { currentPage: 1, progressPercentage: 0.2 })
    t.match(await shown(), { device: { name: 'Thorium' }, locator: { href: 'chapter.xhtml' } }, 'the same place, told twice')
    await ask('PUT', `${path}/progress`, { currentPage: 1, progressPercentage: 0.9 })
    t.match(await shown(), { device: { name: 'Carrel' }, locator: { locations: { totalProgression: 0.9 } } }, 'further on')
    t.match((await ask('GET', `${path}/progress`)).json, { progressPercentage: 0.9, completed: false })
    t.equal((await ask('PUT', `${path}/progression`, at('2026-01-02T09:59:59Z', { totalProgression: 0.1 }))).status, 409, 'an older one')
    t.equal((await ask('PUT', `${path}/progression`, at('2026-01-02T10:00:00Z', { totalProgression: 0.1 }))).status, 204, 'the same time')
    t.equal((await ask('PUT', `${path}/progression`, at('2026-01-02T10:00:01Z', { totalProgression: 0.3 }))).status, 204)
    await ask('PUT', `${path}/progress`, { currentPage: 1 })
    t.match(await shown(), { device: { name: 'Carrel' }, locator: { locations: { position: 1 } } }, 'a page says nothing of a part')
    t.match((await ask('GET', `${path}/progress`)).json, { progressPercentage: null })
    t.equal((await ask('PUT', `${path}/progression`, at('2026-01-02T10:00:02Z', { position: 700 }))).status, 204)
    await ask('PUT', `${path}/progress`, { currentPage: 700 })
    t.match(await shown(), { device: { name: 'Thorium' }, locator: { locations: { position: 700 } } }, 'the same page')
    await ask('PUT', `${path}/progress`, { currentPage: 701 })
    t.match(await shown(), { device: { name: 'Carrel' }, locator: { locations: { position: 701 } } })
    await ask('DELETE', `${path}/progress`)
  }
})

t.test('times of progressions as clients write them', async (t) => {
  const { ask, books } = await openShelf(t)
  const path = `books/${books[0]}/progression`
  const put = async (modified: string) => {
    const locator = { href: 'pages/2', type: 'image/jpeg', locations: { position: 2 } }
    return await ask('PUT', path, { modified, device: { id: '1', name: 'x' }, locator })
  }
  for (const [modified, utc] of [
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
    ['2026-01-02T23:59:00+23:59', '2026-01-02T00:00:00.000Z'],
    ['2026-01-03T10:00:00+14:00', '2026-01-02T20:00:00.000Z'],
    ['2026-01-03T10:00:00-00:00', '2026-01-03T10:00:00.000Z'],
    ['2026-01-03T16:00:00.25+0530', '2026-01-03T10:30:00.250Z'],
  ] as const) {
    t.equal((await put(modified)).status, 204, modified)
    t.equal((await ask('GET', path)).json['modified'], utc, modified)
  }
  for (const modified of ['0000-06-01T00:00:00Z', '10000-01-01T00:00:00Z', '9999-12-31T23:59:59-14:00', '2026-02-30T10:00:00Z', 'today'])
    t.match(await put(modified), { status: 422, json: { details: [{ path: '/modified', message: /years 1 to 9999/ }] } }, modified)
})

t.test('two devices at once, and nothing is lost or doubled', async (t) => {
  const { ask, books, run, database, userId } = await openShelf(t)
  const answers = await Promise.all([
    ...Array.from({ length: 10 }, (_, index) => ask('PUT', `books/${books[0]}/progress`, { currentPage: index + 1 })),
    ...Array.from({ length: 5 }, () => ask('POST', `series/${run}/read`)),
    ...Array.from({ length: 5 }, () => ask('POST', 'books/bulk/read', { bookIds: [...books].reverse() })),
  ])
  t.ok(answers.every(({ status }) => status === 200))
  t.equal((await database('read_progress').where({ user_id: userId })).length, 4)
})

t.test('progress that cannot be is refused', async (t) => {
  const { ask, books, hidden, secret, pending } = await openShelf(t)
  const cases: [string, string, unknown, number][] = [
    ['PUT', `books/${books[0]}/progress`, { currentPage: 11 }, 422],
    ['PUT', `books/${books[0]}/progress`, { currentPage: 0 }, 422],
    ['PUT', `books/${books[0]}/progress`, { currentPage: 1.5 }, 400],
    ['PUT', `books/${books[0]}/progress`, { currentPage: 2 ** 40 }, 422],
    ['PUT', `books/${books[0]}/progress`, { currentPage: 1, progressPercentage: 1.1 }, 422],
    ['PUT', `books/${books[0]}/progress`, { currentPage: 1, page: 2 }, 400],
    ['PUT', `books/${books[0]}/progress`, {}, 400],
    ['PUT', `books/${hidden}/progress`, { currentPage: 1 }, 404],
    ['GET', `books/${hidden}/progress`, undefined, 404],
    ['GET', `books/${hidden}/progression`, undefined, 404],
    ['POST', `books/${hidden}/read`, undefined, 404],
    ['POST', `series/${secret}/read`, undefined, 404],
    ['POST', 'books/bulk/read', { bookIds: [books[0], hidden] }, 404],
    ['POST', 'series/bulk/read', { seriesIds: Array.from({ length: 101 }, () => secret) }, 422],
    ['PUT', `user/want-to-read/${secret}`, undefined, 404],
    ['GET', 'books/recently-read?limit=101', undefined, 400],
  ]
  for (const [method, path, body, status] of cases)
    t.equal((await ask(method, path, body)).status, status, `${method} ${path} ${JSON.stringify(body)?.slice(0, 60)}`)
  t.same((await ask('GET', 'progress')).json.total, 0)
  t.match((await ask('PUT', `books/${pending}/progress`, { currentPage: 700 })).json, {
    currentPage: 700,
    completed: false,
    progressPercentage: null,
  })
})

t.test('what I want to read', async (t) => {
  const { ask, run, titles, secret, database, userId } = await openShelf(t)
  t.equal((await ask('PUT', `user/want-to-read/${run}`)).status, 204)
  t.equal((await ask('PUT', `user/want-to-read/${run}`)).status, 204)
  await database('want_to_read').insert({ user_id: userId, series_id: secret })
  t.same(await titles('user/want-to-read'), ['Run'], 'what was hidden since is not shown')
  t.equal((await ask('DELETE', `user/want-to-read/${run}`)).status, 204)
  t.same(await titles('user/want-to-read'), [])
})
