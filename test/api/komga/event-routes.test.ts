import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { changeSettings } from '#core/settings/chosen-setting-store.ts'
import { openComposedServer } from '#test/support/composed-server.ts'
import { type EventReader, followEvents } from '#test/support/event-reading.ts'
import { type Decoder, decoderErrors } from '#test/support/komga-server.ts'
import { comic, until } from '#test/support/library-fixture.ts'

t.setTimeout(60_000)

const PATH = '/komga/sse/v1/events'

/** What the decoders of Komelia's client require of each event; there is no member that may be missing. */
const EVENTS: Record<string, Decoder> = {
  ...Object.fromEntries(
    ['Added', 'Changed', 'Deleted'].flatMap((how) => [
      [`Library${how}`, { libraryId: 'text' }],
      [`Series${how}`, { seriesId: 'text', libraryId: 'text' }],
      [`Book${how}`, { bookId: 'text', seriesId: 'text', libraryId: 'text' }],
      [`Collection${how}`, { collectionId: 'text', seriesIds: 'texts' }],
      [`ReadList${how}`, { readListId: 'text', bookIds: 'texts' }],
    ]),
  ),
  ReadProgressChanged: { bookId: 'text', userId: 'text' },
  ReadProgressDeleted: { bookId: 'text', userId: 'text' },
  ThumbnailBookAdded: { bookId: 'text', seriesId: 'text', selected: 'flag' },
  ThumbnailSeriesAdded: { seriesId: 'text', selected: 'flag' },
  TaskQueueStatus: { count: 'whole', countByType: {} },
}

/** Every block is one of a name that the client knows, with its members, or only says where the client is. */
function decode(t: Test, { events }: EventReader): void {
  for (const { type, data } of events) {
    t.ok(Object.hasOwn(EVENTS, type), `${type} is an event of Komga`)
    t.same(decoderErrors(EVENTS[type] as Decoder, data), [], `${type} ${JSON.stringify(data)}`)
  }
}

t.test('reader apps are told the same as others, in the words that they know', async (t) => {
  const server = await openComposedServer(t)
  const { database, services, url, adminToken, start } = server
  await start()
  const { id: adminId } = await database('users').first('id')
  await t.rejects(followEvents(url, adminToken, { path: PATH }), /404/, 'as if there were nothing until it is switched on')
  const changes = [{ key: 'compatibilityApi.enabled', value: 'true' }]
  await changeSettings(database, changes, { userId: adminId, reason: null, address: '127.0.0.1' })
  await t.rejects(followEvents(url, 'nobody', { path: PATH }), /401/)

  const root = mkdtempSync(join(tmpdir(), 'carrel-komga-events-'))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  for (const series of ['Open', 'Hidden']) {
    mkdirSync(join(root, series))
    writeFileSync(join(root, series, `${series} 1.cbz`), comic(series, 2))
  }
  async function ask<T = unknown>(method: string, path: string, body?: object, token = adminToken): Promise<T> {
    const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) }
    const answer = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return (answer.status === 204 ? undefined : await answer.json()) as T
  }
  async function addReader(username: string) {
    const password = 'a long enough password'
    const { id } = await services.accounts.createUser({ username, email: `${username}@example.org`, password, role: 'reader' }, null)
    return { id, token: (await services.accounts.login({ username, password, address: '127.0.0.1' })).accessToken }
  }
  const [free, bound] = [await addReader('free'), await addReader('bound')]
  const tag = await ask<{ id: string }>('POST', '/api/v1/admin/sharing-tags', { name: 'kept away' })
  await ask('PUT', `/api/v1/users/${bound.id}/sharing-tags`, { sharingTagId: tag.id, accessMode: 'deny' })
  const admin = await followEvents(url, adminToken, { path: PATH })
  const library = await ask<{ id: string }>('POST', '/api/v1/libraries', { name: 'Comics', path: root, scanImmediately: true })
  const is =
    (type: string, members: Record<string, unknown> = {}) =>
    (event: { type: string; data: Record<string, unknown> }) =>
      event.type === type && Object.entries(members).every(([name, value]) => event.data[name] === value)
  await admin.find(is('LibraryAdded', { libraryId: library.id }))
  const idOf = async (path: string): Promise<string> => (await database('series').where({ path }).first('id')).id
  await admin.find(is('SeriesAdded'))
  await until(() => admin.events.filter(is('ThumbnailBookAdded')).length >= 2)
  const [open, hidden] = [await idOf('Open'), await idOf('Hidden')]
  const [openBook] = await database('books').where('series_id', open).pluck('id')
  const [hiddenBook] = await database('books').where('series_id', hidden).pluck('id')
  await admin.find(is('BookAdded', { bookId: openBook, seriesId: open, libraryId: library.id }))
  await admin.find(is('BookChanged', { bookId: hiddenBook }))
  await admin.find(is('TaskQueueStatus', { count: 0 }))

  await ask('PUT', `/api/v1/series/${hidden}/sharing-tags`, { sharingTagIds: [tag.id] })
  await admin.find(is('SeriesChanged', { seriesId: hidden }))
  const [watcher, restricted] = [await followEvents(url, free.token, { path: PATH }), await followEvents(url, bound.token, { path: PATH })]
  const make = async (name: string, seriesIds: string[]) =>
    (await ask<{ id: string }>('POST', '/api/v1/collections', { name, seriesIds })).id
  const [secret, mixed] = [await make('Secret', [hidden]), await make('Mixed', [hidden, open])]
  const list = (await ask<{ id: string }>('POST', '/api/v1/read-lists', { name: 'Order', bookIds: [openBook] })).id
  await ask('PATCH', `/api/v1/collections/${secret}`, { name: 'Most secret' })
  await ask('PUT', `/api/v1/books/${openBook}/progress`, { currentPage: 1 }, free.token)
  await ask('DELETE', `/api/v1/books/${openBook}/progress`, undefined, free.token)
  for (const id of [secret, mixed]) await ask('DELETE', `/api/v1/collections/${id}`)
  await ask('DELETE', `/api/v1/read-lists/${list}`)
  await watcher.find(is('CollectionAdded', { collectionId: secret }))
  await watcher.find(is('CollectionChanged', { collectionId: secret }))
  await watcher.find(is('CollectionDeleted', { collectionId: secret }))
  await watcher.find(is('ReadProgressChanged', { bookId: openBook, userId: free.id }))
  await watcher.find(is('ReadProgressDeleted', { bookId: openBook, userId: free.id }))
  for (const reader of [watcher, restricted, admin]) {
    await reader.find(is('CollectionAdded', { collectionId: mixed }))
    await reader.find(is('CollectionDeleted', { collectionId: mixed }))
    await reader.find(is('ReadListAdded', { readListId: list }))
    await reader.find(is('ReadListDeleted', { readListId: list }))
  }
  for (const id of [secret, hidden, hiddenBook]) t.notOk(restricted.text().includes(id), 'not a byte of what is hidden')
  for (const reader of [restricted, admin]) t.notOk(reader.text().includes('ReadProgress'), 'progress is for its reader alone')
  for (const reader of [watcher, restricted]) t.notOk(reader.text().includes('TaskQueue'), 'tasks are for who may read tasks')

  await t.test('and go on where they were', async (t) => {
    const place = watcher.lastId()
    await watcher.close()
    await ask('PATCH', `/api/v1/series/${open}/metadata`, { summary: 'Seen' })
    const resumed = await followEvents(url, free.token, { path: PATH, after: place })
    await resumed.find(is('SeriesChanged', { seriesId: open }))
    t.notOk(resumed.text().includes('CollectionAdded'), 'nothing twice')
    decode(t, resumed)
    await resumed.close()
  })
  for (const reader of [admin, watcher, restricted]) {
    decode(t, reader)
    await reader.close()
  }
})
