import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { annotationRoutes } from '#api/rest/reading/annotations.ts'
import { addBook, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'

interface Annotations {
  total: number
  data: { id: string; note: string | null }[]
}

async function openBook(t: Test) {
  const server = await openTestServer(t, { routes: annotationRoutes })
  const { database } = server
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Saga' })
  const book = await addBook(database, { library_id, series_id, title: 'One', file_hash: 'c0ffee' })
  const other = await addBook(database, { library_id, series_id, title: 'Two' })
  const { id: userId, token } = await server.signUp({ username: 'rita' })
  const ask = async <T = Record<string, unknown>>(method: string, path: string, body?: unknown, as = token) =>
    await server.request<T>(method, `/api/v1/books/${path}`, { token: as, ...(body !== undefined && { body }) })
  return { server, database, series_id, book, other, userId, ask }
}

const locator = (totalProgression?: number) => ({
  href: 'text/c1.xhtml',
  type: 'application/xhtml+xml',
  locations: { ...(totalProgression !== undefined && { totalProgression }), fragments: ['epubcfi(/6/4!/4/2)'], ours: { any: [1] } },
  text: { highlight: 'a <b>word</b> \u202Eworld' },
})

t.test('bookmarks and highlights are kept as they were sent, in the order of the book', async (t) => {
  const { ask, book } = await openBook(t)
  t.match((await ask('GET', `${book}/annotations`)).json, { total: 0, data: [] })
  const [late, early, unknown] = [randomUUID(), randomUUID(), randomUUID()]
  const added = await ask('PUT', `${book}/annotations/${late}`, {
    kind: 'highlight',
    locator: locator(0.9),
    color: 'yellow',
    note: '<script>',
  })
  t.match(added.json, { id: late, bookId: book, kind: 'highlight', color: 'yellow', note: '<script>', bookFileHash: 'c0ffee' })
  t.same(added.json['locator'], locator(0.9))
  await ask('PUT', `${book}/annotations/${unknown}`, { kind: 'bookmark', locator: locator() })
  await ask('PUT', `${book}/annotations/${early}`, { kind: 'bookmark', locator: locator(0.1) })
  const replaced = await ask('PUT', `${book}/annotations/${late}`, { kind: 'highlight', locator: locator(0.8), note: null })
  t.match(replaced.json, { color: null, note: null, createdAt: added.json['createdAt'] })
  const ids = async () => (await ask<Annotations>('GET', `${book}/annotations`)).json.data.map(({ id }) => id)
  t.same(await ids(), [early, late, unknown])
  t.match((await ask('GET', `${book}/annotations?page=2&pageSize=2`)).json, { total: 3, data: [{ id: unknown }] })
  t.equal((await ask('DELETE', `${book}/annotations/${early}`)).status, 204)
  t.equal((await ask('DELETE', `${book}/annotations/${early}`)).status, 404)
  t.same(await ids(), [late, unknown])
  t.equal((await ask('DELETE', `${book}/annotations`)).status, 204)
  t.same(await ids(), [])
})

t.test('annotations belong to one user and one book, and go with the user', async (t) => {
  const { server, ask, book, other, database, userId, series_id } = await openBook(t)
  const id = randomUUID()
  const edit = { kind: 'bookmark', locator: locator(0.5), note: 'mine' }
  await ask('PUT', `${book}/annotations/${id}`, edit)
  const otto = await server.signUp({ username: 'otto' })
  t.match((await ask('GET', `${book}/annotations`, undefined, otto.token)).json, { total: 0 })
  t.equal((await ask('DELETE', `${book}/annotations/${id}`, undefined, otto.token)).status, 404)
  t.equal((await ask('PUT', `${book}/annotations/${id}`, { ...edit, note: 'his' }, otto.token)).status, 200, 'ids of others mean nothing')
  t.equal((await ask('PUT', `${other}/annotations/${id}`, { ...edit, note: 'two' })).status, 200)
  t.match((await ask('GET', `${book}/annotations`)).json, { total: 1, data: [{ note: 'mine' }] })
  await shareSeries(database, { seriesId: series_id, caller: { userId }, mode: 'deny' })
  for (const [method, path, body] of [
    ['GET', `${book}/annotations`],
    ['PUT', `${book}/annotations/${id}`, edit],
    ['DELETE', `${book}/annotations/${id}`],
    ['DELETE', `${book}/annotations`],
  ] as [string, string, unknown][])
    t.equal((await ask(method, path, body)).status, 404, `${method} of a hidden book`)
  await database('users').where('id', userId).delete()
  t.equal((await database('annotations')).length, 1)
})

t.test('annotations are limited in size and number', async (t) => {
  const { ask, book, database, userId } = await openBook(t)
  const put = async (body: unknown, id: string = randomUUID()) => (await ask('PUT', `${book}/annotations/${id}`, body)).status
  const bad: unknown[] = [
    { kind: 'note', locator: locator() },
    { kind: 'bookmark' },
    { kind: 'bookmark', locator: { ...locator(), locations: { totalProgression: 2 } } },
    { kind: 'bookmark', locator: { ...locator(), extra: 'x'.repeat(9_000) } },
    { kind: 'bookmark', locator: locator(), note: 'x'.repeat(4_001) },
    { kind: 'bookmark', locator: locator(), color: 'x'.repeat(41) },
    { kind: 'bookmark', locator: locator(), userId },
  ]
  for (const body of bad) t.ok([400, 422].includes(await put(body)), JSON.stringify(body).slice(0, 80))
  t.ok([400, 404].includes(await put({ kind: 'bookmark', locator: locator() }, 'x')))
  await database.raw(
    `INSERT INTO annotations (user_id, book_id, id, kind, locator) SELECT ?, ?, gen_random_uuid(), 'bookmark', '{}' FROM generate_series(1, 1995)`,
    [userId, book],
  )
  const ids = Array.from({ length: 10 }, () => randomUUID() as string)
  const statuses = await Promise.all(ids.map((id) => put({ kind: 'bookmark', locator: locator() }, id)))
  t.same(statuses.sort(), [...Array(5).fill(200), ...Array(5).fill(409)], 'at once as well')
  const { id } = await database('annotations').where('user_id', userId).first('id')
  t.equal(await put({ kind: 'bookmark', locator: locator(), note: 'changed' }, id), 200, 'one that exists can be changed')
})

t.test('a user has a limited number of annotations in all books, of which each can still be changed', async (t) => {
  const { ask, book, other, database, userId, server } = await openBook(t)
  const row = await database('books').where('id', other).first('library_id', 'series_id')
  const full = Array.from({ length: 24 }, (_, index) => addBook(database, { ...row, title: `Full ${index}` }))
  await database.raw(
    `INSERT INTO annotations (user_id, book_id, id, kind, locator)
     SELECT CAST(? AS uuid), book, gen_random_uuid(), 'bookmark', CAST('{}' AS jsonb) FROM unnest(CAST(? AS uuid[])) AS book, generate_series(1, 2000)
     UNION ALL SELECT CAST(? AS uuid), CAST(? AS uuid), gen_random_uuid(), 'bookmark', '{}' FROM generate_series(1, 1999)`,
    [userId, await Promise.all(full), userId, other],
  )
  const put = async (id: string, as?: string) => await ask('PUT', `${book}/annotations/${id}`, { kind: 'bookmark', locator: locator() }, as)
  const last = randomUUID()
  t.equal((await put(last)).status, 200)
  t.match(await put(randomUUID()), { status: 409, json: { message: /50000 bookmarks and highlights in all books/ } })
  t.equal((await put(last)).status, 200)
  const { token } = await server.signUp({ username: 'otto' })
  t.equal((await put(randomUUID(), token)).status, 200)
})
