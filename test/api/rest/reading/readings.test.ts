import t, { type Test } from 'tap'
import { bookRoutes } from '#api/rest/catalog/books.ts'
import { progressRoutes } from '#api/rest/reading/progress.ts'
import { readingHistoryRoutes } from '#api/rest/reading/readings.ts'
import { setTestRule } from '#test/support/access-rules.ts'
import { findContract } from '#test/support/contract.ts'
import { addBook, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'

interface Days {
  total: number
  data: {
    day: string
    readingId: string
    bookId: string
    firstPage: number
    lastPage: number
    seconds: number
    finishedAt: string | null
  }[]
}

async function openHistory(t: Test) {
  const server = await openTestServer(t, { routes: [...bookRoutes, ...progressRoutes, ...readingHistoryRoutes] })
  const { database } = server
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Saga' })
  const books: string[] = []
  for (const title of ['One', 'Two', 'Three']) books.push(await addBook(database, { library_id, series_id, title, page_count: 10 }))
  const { id: userId, token } = await server.signUp({ username: 'rita' })
  const ask = async <T = Record<string, unknown>>(method: string, path: string, body?: unknown) =>
    await server.request<T>(method, `/api/v1/${path}`, { token, ...(body !== undefined && { body }) })
  const list = async (query = '') => (await ask<Days>('GET', `user/readings${query}`)).json
  const record = async (book: string | undefined) =>
    (await ask<{ book: { readCount: number; lastReadAt: string | null } }>('GET', `books/${book}`)).json.book
  /** Moves what has been read so far into the past. */
  const pass = (hours: number) =>
    database.raw(
      `WITH a AS (UPDATE readings SET begun_at = begun_at - :by, last_at = last_at - :by, finished_at = finished_at - :by)
       UPDATE reading_sittings SET begun_at = begun_at - :by, ended_at = ended_at - :by`.replaceAll(':by', `interval '${hours} hours'`),
    )
  return { server, database, books, series_id, userId, token, ask, list, record, pass }
}

t.test('each reading of a book is kept, also when it is read again or marked as unread', async (t) => {
  const { ask, books, list, record, pass, database } = await openHistory(t)
  const [book] = books
  t.match(await record(book), { readCount: 0, lastReadAt: null })
  const put = (currentPage: number) => ask('PUT', `books/${book}/progress`, { currentPage })
  for (const page of [2, 5, 4]) await put(page)
  await pass(48)
  for (const page of [6, 10, 10]) await put(page)
  const first = await list()
  t.match(first, {
    total: 2,
    data: [
      { bookId: book, firstPage: 6, lastPage: 10, pageCount: 10 },
      { firstPage: 2, lastPage: 5 },
    ],
  })
  t.equal(first.data[0]?.readingId, first.data[1]?.readingId, 'it is one reading')
  t.ok(first.data[0]?.finishedAt)
  t.match(await record(book), { readCount: 1, lastReadAt: String })
  await pass(48)
  await put(1)
  await ask('POST', `books/${book}/unread`)
  await put(3)
  t.equal((await list()).total, 4)
  t.equal(new Set((await list()).data.map(({ readingId }) => readingId)).size, 3)
  t.match(await record(book), { readCount: 1 })
  await ask('POST', 'books/bulk/read', { bookIds: books })
  t.same(
    (await Promise.all(books.map(record))).map(({ readCount }) => readCount),
    [2, 1, 1],
  )
  await ask('POST', 'books/bulk/read', { bookIds: books })
  t.equal((await record(book)).readCount, 2, 'what is read already is not read once more')
  t.equal(Number((await database('readings').where('is_open', true).count({ n: '*' }).first())?.['n']), 0)
  const listed = await ask<{ data: { id: string; readCount: number }[] }>('GET', 'books')
  t.same(listed.json.data.map(({ readCount }) => readCount).sort(), [1, 1, 2])
  t.same(findContract('Book')(listed.json.data[0]), [])
})

t.test('readings are listed by the days of a time zone', async (t) => {
  const { ask, books, list, database } = await openHistory(t)
  await ask('PUT', `books/${books[0]}/progress`, { currentPage: 2 })
  await database('reading_sittings').update({ begun_at: '2026-03-01T23:30:00Z', ended_at: '2026-03-01T23:40:00Z' })
  t.match(await list(), { total: 1, data: [{ day: '2026-03-01', seconds: 600 }] })
  t.match(await list('?timeZone=Europe/Berlin'), { data: [{ day: '2026-03-02' }] })
  const counts: [query: string, total: number][] = [
    ['from=2026-03-02', 0],
    ['from=2026-03-01&to=2026-03-01', 1],
    ['to=2026-02-28', 0],
    ['from=2026-03-02&timeZone=Europe/Berlin', 1],
    [`bookId=${books[0]}`, 1],
    [`bookId=${books[1]}`, 0],
    ['page=2', 1],
  ]
  for (const [query, total] of counts) t.equal((await list(`?${query}`)).total, total, query)
  for (const query of ['from=2026-02-30', 'to=0000-01-01', 'from=x', 'timeZone=Mars', 'bookId=1'])
    t.ok([400, 422].includes((await ask('GET', `user/readings?${query}`)).status), query)
  await database('reading_sittings').update({ begun_at: '9999-12-31T23:30:00Z', ended_at: '9999-12-31T23:40:00Z' })
  t.equal((await list('?to=9999-12-31')).total, 1)
})

t.test('days of an offset begin when they do there, and a zone that the database does not know is refused', async (t) => {
  const { ask, books, list, database } = await openHistory(t)
  await ask('PUT', `books/${books[0]}/progress`, { currentPage: 3 })
  await database('reading_sittings').update({ begun_at: '2026-01-31T22:00:00Z', ended_at: '2026-01-31T22:10:00Z' })
  const dayIn = async (zone: string) => (await list(`?timeZone=${encodeURIComponent(zone)}`)).data[0]?.day
  t.equal(await dayIn('+05:30'), '2026-02-01')
  t.equal(await dayIn('-05:30'), '2026-01-31')
  t.equal((await list(`?timeZone=${encodeURIComponent('+05:30')}&from=2026-02-01`)).total, 1)
  t.match(await ask('GET', 'user/readings?timeZone=US/Pacific-New'), { status: 422, json: { error: 'invalid_value' } })
  t.equal((await ask('DELETE', 'user/readings?timeZone=US/Pacific-New&from=2026-01-01')).status, 422)
})

t.test('readings belong to their user, who may delete them', async (t) => {
  const { server, ask, books, series_id, userId, list, record, database } = await openHistory(t)
  for (const book of books) await ask('PUT', `books/${book}/progress`, { currentPage: 10 })
  const other = await server.signUp({ username: 'otto' })
  const asOther = (method: string, path: string) => server.request<Days>(method, `/api/v1/${path}`, { token: other.token })
  t.equal((await asOther('GET', 'user/readings')).json.total, 0)
  const [one] = (await list()).data
  t.equal((await asOther('DELETE', `user/readings/${one?.readingId}`)).status, 404)
  t.equal((await ask('DELETE', `user/readings/${one?.readingId}`)).status, 204)
  t.equal((await ask('DELETE', `user/readings/${one?.readingId}`)).status, 404)
  t.match(await record(one?.bookId), { readCount: 0, lastReadAt: null, readProgress: { completed: true } })
  t.same((await ask('DELETE', `user/readings?bookId=${books[0]}`)).json, { count: 1 })
  t.same((await asOther('DELETE', 'user/readings')).json, { count: 0 })
  await shareSeries(database, { seriesId: series_id, caller: { userId }, mode: 'deny' })
  t.equal((await list()).total, 0, 'what is hidden now is not listed')
  t.same((await ask('DELETE', 'user/readings?from=2000-01-01&to=2000-01-02')).json, { count: 0 })
  const [{ id: hidden }] = await database('readings').select('id')
  t.equal((await ask('DELETE', `user/readings/${hidden}`)).status, 404, 'nor found')
  t.same((await ask('DELETE', 'user/readings')).json, { count: 0 }, 'nor counted')
  t.same(await database('readings'), [], 'but deleted with all that the user has read')
  await ask('PUT', `books/${books[0]}/progress`, { currentPage: 3 })
  await database('users').where('id', userId).delete()
  t.same([await database('readings'), await database('reading_sittings')], [[], []])
})

t.test('an API key deletes only readings of books that it may see', async (t) => {
  const { server, ask, books, list, token, database } = await openHistory(t)
  for (const book of books) await ask('PUT', `books/${book}/progress`, { currentPage: 10 })
  const caller = await server.accounts.callers.ofToken(token, 'token')
  if (!caller) throw new Error('Rita is signed in.')
  const { key, id } = await server.accounts.createApiKey({ name: 'tablet' }, caller)
  await setTestRule(database, { api_key_id: id }, { libraries: [] })
  const byKey = (path: string) => server.request('DELETE', `/api/v1/${path}`, { token: key })
  t.match(await byKey(`user/readings/${(await list()).data[0]?.readingId}`), { status: 404 })
  t.match(await byKey('user/readings'), { status: 200, json: { count: 0 } })
  t.equal((await list()).total, 3)
})

t.test('somebody who marks a book again and again keeps the latest hundred readings', async (t) => {
  const { ask, books, database, userId } = await openHistory(t)
  for (let time = 0; time < 103; time++) {
    await database('read_progress').insert({ user_id: userId, book_id: books[0], current_page: 10, completed: true })
    await database('read_progress').delete()
  }
  t.equal((await ask<Days>('GET', 'user/readings')).json.total, 100)
})
