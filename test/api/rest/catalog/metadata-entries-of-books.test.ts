import t from 'tap'
import { metadataEntryRoutes } from '#api/rest/catalog/metadata-entries.ts'
import { changeNames, setNames } from '#core/metadata/edit-metadata.ts'
import { addBook, addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'

type Json = Record<string, unknown>

t.test('identifiers and links of a book: one of each source, seen and changed only by who may', async (t) => {
  const server = await openTestServer(t, { routes: [...metadataEntryRoutes] })
  const { database } = server
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Run' })
  const bookId = await addBook(database, { library_id, series_id, title: 'One' })
  const other = await addBook(database, { library_id, series_id, title: 'Two' })
  const ask = (method: string, path: string, body?: unknown, token = server.adminToken) =>
    server.request<Json>(method, `/api/v1/books/${path}`, { token, ...(body !== undefined && { body }) })

  t.same((await ask('GET', `${bookId}/external-ids`)).json, { externalIds: [] })
  t.same((await ask('GET', `${bookId}/external-links`)).json, { links: [] })
  const id = await ask('POST', `${bookId}/external-ids`, { source: 'plugin:x', externalId: '漫/1', externalUrl: 'https://x.example/1' })
  t.match([id.status, id.json], [201, { bookId, source: 'plugin:x', externalId: '漫/1', metadataHash: null, lastSyncedAt: null }])
  const again = await ask('POST', `${bookId}/external-ids`, { source: 'plugin:x', externalId: '2' })
  t.equal(again.status, 200, 'it was there already')
  t.match(again.json, { id: id.json.id, externalId: '2', externalUrl: null }, 'there is one of a source')
  const link = await ask('POST', `${bookId}/external-links`, { source: 'comicinfo', url: 'https://x.example/a?b=1&c=%20' })
  t.match([link.status, link.json], [201, { bookId, source: 'comicinfo', url: 'https://x.example/a?b=1&c=%20', externalId: null }])
  t.match((await ask('GET', `${bookId.toUpperCase()}/external-ids`)).json, { externalIds: [again.json] })
  t.match((await ask('GET', `${bookId}/external-links`)).json, { links: [link.json] })
  t.same((await ask('GET', `${other}/external-links`)).json, { links: [] }, 'of this book alone')

  const bad: [string, Json, number][] = [
    ['external-ids', { externalId: '1' }, 400],
    ['external-ids', { source: 'a', externalId: 1 }, 400],
    ['external-ids', { source: 'a', externalId: '1', more: 1 }, 400],
    ['external-ids', { source: '', externalId: '1' }, 422],
    ['external-ids', { source: 'a/b', externalId: '1' }, 422],
    ['external-ids', { source: 'a', externalId: '' }, 422],
    ['external-ids', { source: 'a', externalId: '1', externalUrl: 'javascript:alert(1)' }, 422],
    ['external-links', { source: 'a', url: 'ftp://x' }, 422],
    ['external-links', { source: 'a', url: `https://${'x'.repeat(2_000)}` }, 422],
    ['external-links', { source: 'a', url: 'https://x\0' }, 400],
  ]
  for (const [path, body, status] of bad) {
    const answer = await ask('POST', `${bookId}/${path}`, body)
    t.equal(answer.status, status, answer.text)
  }

  const { id: userId, token } = await server.signUp({ username: 'mia', role: 'reader' })
  t.equal((await ask('GET', `${bookId}/external-ids`, undefined, token)).status, 200)
  t.equal((await ask('POST', `${bookId}/external-ids`, { source: 'a', externalId: '1' }, token)).status, 403)
  t.equal((await ask('DELETE', `${bookId}/external-links/comicinfo`, undefined, token)).status, 403)
  await shareSeries(database, { seriesId: series_id, caller: { userId }, mode: 'deny' })
  for (const path of ['external-ids', 'external-links']) t.equal((await ask('GET', `${bookId}/${path}`, undefined, token)).status, 404)

  t.equal((await ask('DELETE', `${other}/external-ids/${id.json.id}`)).status, 404, 'of another book')
  t.equal((await ask('DELETE', `${bookId}/external-ids/${id.json.id}`)).status, 204)
  t.equal((await ask('DELETE', `${bookId}/external-ids/${id.json.id}`)).status, 404)
  t.equal((await ask('DELETE', `${bookId}/external-links/comicinfo`)).status, 204)
  t.same((await ask('GET', `${bookId}/external-links`)).json, { links: [] })
})

t.test('there is room for so many, also for those who come at once, and what is replaced needs none', async (t) => {
  const server = await openTestServer(t, { routes: [...metadataEntryRoutes] })
  const { database } = server
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Run' })
  await database.raw(
    "INSERT INTO series_alternate_titles (series_id, label, title) SELECT ?, 'Label', 'Title ' || n FROM generate_series(1, 45) n",
    [series_id],
  )
  const ask = (path: string, body: unknown) =>
    server.request<Json>('POST', `/api/v1/series/${series_id}/${path}`, { token: server.adminToken, body })
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, index) => ask('alternate-titles', { label: 'Label', title: `Further ${index}` })),
  )
  t.equal(answers.filter(({ status }) => status === 422).length, 7)
  t.equal(Number((await database('series_alternate_titles').count({ count: '*' }))[0]?.count), 50)

  await database.raw(
    "INSERT INTO series_external_ids (series_id, source, external_id) SELECT ?, 'source' || n, '1' FROM generate_series(1, 200) n",
    [series_id],
  )
  t.equal((await ask('external-ids', { source: 'more', externalId: '2' })).status, 422)
  t.match(await ask('external-ids', { source: 'source7', externalId: '2' }), { status: 200, json: { externalId: '2' } })

  // What stands beside a record is a part of what clients keep of it.
  const changedAt = async () => (await database('series').where({ id: series_id }).first('updated_at')).updated_at as Date
  const moves = async (what: string, change: () => Promise<unknown>) => {
    const before = await changedAt()
    await change()
    t.ok((await changedAt()) > before, what)
  }
  await moves('a link', () => ask('external-links', { source: 'x', url: 'https://x.example/' }))
  await moves('a link taken away', () =>
    server.request('DELETE', `/api/v1/series/${series_id}/external-links/x`, { token: server.adminToken }),
  )
  const caller = await addCaller(database)
  const genres = { kind: 'series', ids: [series_id], taxonomy: 'genre', add: ['Horror'], remove: [] } as const
  await moves('a genre', () => changeNames(database, caller, genres))
  const before = await changedAt()
  t.equal(await changeNames(database, caller, genres), 0)
  t.same(await changedAt(), before, 'nothing has changed')
  await moves('a genre beside it', () =>
    setNames(database, caller, { kind: 'series', id: series_id, taxonomy: 'genre', names: ['Horror', 'Drama'] }),
  )
  const bookId = await addBook(database, { library_id, series_id, title: 'One', updated_at: new Date(0) })
  const { updated_at } = await database('books').where({ id: bookId }).first('updated_at')
  await changeNames(database, caller, { kind: 'book', ids: [bookId], taxonomy: 'tag', add: ['Signed'], remove: [] })
  t.ok((await database('books').where({ id: bookId }).first('updated_at')).updated_at > updated_at, 'a tag of a book')
})
