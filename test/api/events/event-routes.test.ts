import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Check } from 'typebox/value'
import { EVENT_TYPES, type EventType, eventSchema } from '#core/events/event.ts'
import { openComposedServer, openNode } from '#test/support/composed-server.ts'
import { type EventReader, followEvents } from '#test/support/event-reading.ts'
import { comic, until } from '#test/support/library-fixture.ts'

t.setTimeout(240_000)

type Composed = Awaited<ReturnType<typeof openComposedServer>>

/** Not in the data folder, which is no library. */
function tempFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-events-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Another node of the same database and data folder. */
async function openOtherNode(t: Test, composed: Composed): Promise<string> {
  const { start, url } = await openNode(t, composed)
  await start()
  return url
}

async function addReader({ services }: Composed, username: string, role: 'reader' | 'maintainer' = 'reader') {
  const password = 'a long enough password'
  const { id } = await services.accounts.createUser({ username, email: `${username}@example.org`, password, role }, null)
  const { accessToken } = await services.accounts.login({ username, password, address: '127.0.0.1' })
  return { id, token: accessToken }
}

async function ask<T = unknown>(url: string, token: string, method: string, path: string, body?: object): Promise<T> {
  const answer = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
  return (text === '' ? undefined : JSON.parse(text)) as T
}

const isOf =
  (type: EventType, members: Record<string, unknown> = {}) =>
  ({ data }: { data: Record<string, unknown> }) =>
    data['type'] === type && Object.entries(members).every(([name, value]) => data[name] === value)

/** What became of the files of a scan, as far as the reader was told. */
const namesOfFiles = ({ events }: EventReader) =>
  events
    .filter(isOf('scan_files'))
    .flatMap(({ data }) =>
      (data['finished'] as { fileName: string; outcome: string }[]).map(({ fileName, outcome }) => `${fileName} ${outcome}`),
    )

function checkForms(t: Test, { events }: EventReader): void {
  for (const { type, data } of events) {
    t.equal(type, data.type, 'the event is named as in its data')
    t.ok(
      EVENT_TYPES.includes(data.type as EventType) && Check(eventSchema(data.type as EventType), data),
      `has the form: ${JSON.stringify(data)}`,
    )
  }
}

t.test('a scan and its analyses, seen by one reader and not by another; cut, resumed, on two nodes', async (t) => {
  const server = await openComposedServer(t)
  const { database, url, adminToken, start } = server
  await start()
  const other = await openOtherNode(t, server)
  const root = tempFolder(t)
  for (const series of ['Open', 'Hidden']) {
    mkdirSync(join(root, series), { recursive: true })
    writeFileSync(join(root, series, `${series} 1.cbz`), comic(series, 2))
  }
  const libraryId = (await ask<{ id: string }>(url, adminToken, 'POST', '/api/v1/libraries', { name: 'Comics', path: root })).id
  const tag = await ask<{ id: string }>(url, adminToken, 'POST', '/api/v1/admin/sharing-tags', { name: 'kept away' })
  const free = await addReader(server, 'free')
  const bound = await addReader(server, 'bound')
  const only = await addReader(server, 'only')
  await ask(url, adminToken, 'PUT', `/api/v1/users/${bound.id}/sharing-tags`, { sharingTagId: tag.id, accessMode: 'deny' })
  const shown = await ask<{ id: string }>(url, adminToken, 'POST', '/api/v1/admin/sharing-tags', { name: 'for all' })
  await ask(url, adminToken, 'PUT', `/api/v1/users/${only.id}/sharing-tags`, { sharingTagId: shown.id, accessMode: 'allow' })

  // A first scan, of which only what is not tagged yet tells.
  const admin = await followEvents(other, adminToken)
  const watcher = await followEvents(url, free.token)
  const selective = await followEvents(url, only.token)
  await ask(url, adminToken, 'POST', `/api/v1/libraries/${libraryId}/scan`)
  for (const reader of [admin, watcher]) {
    for (const series of ['Open', 'Hidden']) {
      const row = await until<{ id: string }>(async () => (await database('series').where('path', series).first('id')) ?? null)
      await reader.find(isOf('series_created', { seriesId: row.id, libraryId }))
      const book = await database('books').where('series_id', row.id).first('id')
      await reader.find(isOf('book_created', { bookId: book.id, seriesId: row.id }))
      const { data } = await reader.find(isOf('book_updated', { bookId: book.id }))
      t.match(data['fields'], ['analyzed', 'pageCount', 'fileHash'])
      await reader.find(isOf('cover_updated', { entityType: 'book', entityId: book.id }))
    }
    await reader.find(isOf('scan_updated', { libraryId, status: 'completed', filesTotal: 2 }))
  }
  await admin.find(isOf('task_updated', { taskType: 'scan_library', status: 'completed' }))
  await selective.find(isOf('scan_updated', { status: 'completed', filesTotal: 0 }))
  t.same(
    selective.events.filter(({ type }) => /book|series|cover|task/.test(type)),
    [],
    'who is allowed only what is tagged is told nothing of what is not, nor of its numbers',
  )
  await until(() => namesOfFiles(admin).length >= 2)
  t.same(namesOfFiles(admin).sort(), ['Hidden 1.cbz analyzed', 'Open 1.cbz analyzed'])
  for (const reader of [watcher, selective]) t.notOk(reader.text().includes('scan_files'), 'files are for who may change libraries')
  t.notOk(watcher.text().includes('task_updated'), 'tasks are for who may read tasks')
  t.notOk(watcher.text().includes(root), 'and paths of files for nobody else')

  const [openId, hiddenId] = await Promise.all(
    ['Open', 'Hidden'].map(async (path) => (await database('series').where({ path }).first('id')).id),
  )
  await ask(url, adminToken, 'PUT', `/api/v1/series/${hiddenId}/sharing-tags`, { sharingTagIds: [tag.id] })
  await ask(url, adminToken, 'PUT', `/api/v1/series/${openId}/sharing-tags`, { sharingTagIds: [shown.id] })
  await selective.find(isOf('series_updated', { seriesId: openId }))
  const [openBook] = await database('books').where('series_id', openId).pluck('id')
  const [hiddenBook] = await database('books').where('series_id', hiddenId).pluck('id')
  const secrets = [hiddenId, hiddenBook]

  // The one from whom it is kept listens on both nodes, and is cut in between.
  const before = await followEvents(url, bound.token)
  const place = before.lastId()
  await before.close()
  const cut = await followEvents(url, free.token)
  const cutAt = cut.lastId()
  await cut.close()
  for (const bookId of [hiddenBook, openBook])
    await ask(url, adminToken, 'PATCH', `/api/v1/books/${bookId}/metadata`, { summary: `About ${bookId}` })
  await ask(url, adminToken, 'PATCH', `/api/v1/series/${hiddenId}/metadata`, { summary: 'Nothing for everybody' })
  const isEdited = isOf('book_updated', { bookId: openBook })
  for (const node of [url, other]) {
    const restricted = await followEvents(node, bound.token, { after: place })
    t.same((await restricted.find(isEdited)).data['fields'], ['summary'], 'what was missed comes first')
    const resumed = await followEvents(node, free.token, { after: cutAt })
    const { id } = await resumed.find(isOf('book_updated', { bookId: hiddenBook }))
    await resumed.find(isOf('series_updated', { seriesId: hiddenId }))
    t.equal(resumed.events.filter(isEdited).length, 1, 'once')
    // Once more from the middle of it.
    const later = await followEvents(node, free.token, { after: id })
    await later.find(isEdited)
    t.equal(later.events.some(isOf('book_updated', { bookId: hiddenBook })), false, 'and nothing twice')
    // A new EventSource has no header; one that reconnects sends both.
    const path = `/api/v1/events?lastEventId=${cutAt}`
    const queried = await followEvents(node, free.token, { path })
    await queried.find(isOf('book_updated', { bookId: hiddenBook }))
    await queried.find(isEdited)
    const both = await followEvents(node, free.token, { path, after: id })
    await both.find(isEdited)
    t.equal(both.events.some(isOf('book_updated', { bookId: hiddenBook })), false, 'the header counts')
    await Promise.all([queried.close(), both.close()])
    for (const reader of [restricted, resumed, later]) checkForms(t, reader)
    for (const secret of secrets) t.notOk(restricted.text().includes(secret), 'not a byte of what is hidden')
    await Promise.all([restricted, resumed, later].map((reader) => reader.close()))
  }

  await t.test('progress, ratings, series to read and exports are told to their reader alone', async (t) => {
    const mine = await followEvents(other, free.token)
    const theirs = await followEvents(url, bound.token)
    await ask(url, free.token, 'PUT', `/api/v1/books/${openBook}/progress`, { currentPage: 1 })
    await mine.find(isOf('progress_updated', { bookId: openBook, seriesId: openId, libraryId }))
    await ask(url, free.token, 'DELETE', `/api/v1/books/${openBook}/progress`)
    await mine.find(isOf('progress_deleted', { bookId: openBook }))
    await ask(url, free.token, 'PUT', `/api/v1/series/${openId}/rating`, { rating: 70 })
    await ask(url, free.token, 'PUT', `/api/v1/user/want-to-read/${openId}`)
    await mine.find(isOf('rating_updated', { seriesId: openId, libraryId }))
    await mine.find(isOf('want_to_read_updated', { seriesId: openId, libraryId }))
    const wanted = { format: 'json', libraryIds: [libraryId], fields: [] }
    const made = await ask<{ id: string }>(url, free.token, 'POST', '/api/v1/user/exports/series', wanted)
    await mine.find(isOf('export_updated', { exportId: made.id, status: 'completed' }))
    // What comes after it has come, so it would have.
    await ask(url, adminToken, 'PATCH', `/api/v1/libraries/${libraryId}`, { description: 'Many' })
    for (const reader of [theirs, admin]) {
      await reader.find(isOf('library_updated', { libraryId }))
      for (const own of ['progress_', 'rating_', 'want_to_read_', 'export_updated'])
        t.notOk(reader.text().includes(own), 'and to nobody else')
    }
    await Promise.all([mine.close(), theirs.close()])
  })

  await t.test('what is gone is told by what was known of it', async (t) => {
    const restricted = await followEvents(url, bound.token)
    const allowed = await followEvents(url, only.token)
    await database('books').whereIn('id', [hiddenBook, openBook]).update({ deleted_at: new Date() })
    await ask(url, adminToken, 'DELETE', `/api/v1/libraries/${libraryId}/purge-deleted`)
    await watcher.find(isOf('series_deleted', { seriesId: hiddenId }))
    await watcher.find(isOf('book_deleted', { bookId: hiddenBook }))
    await watcher.find(isOf('series_bulk_purged', { seriesId: hiddenId, count: 1 }))
    for (const reader of [restricted, allowed]) {
      await reader.find(isOf('series_deleted', { seriesId: openId }))
      for (const secret of secrets) t.notOk(reader.text().includes(secret))
    }
    await Promise.all([restricted.close(), allowed.close()])
  })
  for (const reader of [admin, watcher, selective]) {
    checkForms(t, reader)
    await reader.close()
  }
})

t.test('streams end when their user may do something else, and are few enough', async (t) => {
  const server = await openComposedServer(t)
  const { url, adminToken, start } = server
  await start()
  const { id, token } = await addReader(server, 'ben')
  const other = await openOtherNode(t, server)
  const own = await followEvents(url, token)
  const elsewhere = await followEvents(other, token)
  const admins = await followEvents(url, adminToken)
  await ask(url, adminToken, 'PATCH', `/api/v1/users/${id}`, { isActive: false })
  await until(() => own.isOver() && elsewhere.isOver())
  for (const { events } of [own, elsewhere]) t.match(events, [{ type: 'reload' }], 'told to look again')
  for (const node of [url, other])
    await t.rejects(followEvents(node, token), /401/, 'and not let in any more, by no node that remembered them')
  t.same([admins.isOver(), admins.events], [false, []], 'others stay, and are told nothing')

  t.match(await followEvents(url, adminToken, { after: 'never-was-here' }).then((reader) => reader.find(isOf('reload'))), {
    type: 'reload',
  })
  for (const path of ['/api/v1/events', '/api/v1/events/stream', '/api/v1/tasks/stream', '/api/v1/scans/stream']) {
    const lost = await followEvents(url, adminToken, { path: `${path}?lastEventId=never-was-here` })
    t.match(await lost.find(({ data }) => data.type === 'reload'), { data: { type: 'reload' } }, path)
    await lost.close()
    const empty = await followEvents(url, adminToken, { path: `${path}?lastEventId=` })
    t.same(empty.events, [], 'an empty id is none')
    await empty.close()
    await t.rejects(followEvents(url, adminToken, { path: `${path}?lastEventId=${'x'.repeat(65)}` }), /400/)
  }
  const many = await Promise.all(Array.from({ length: 98 }, () => followEvents(url, adminToken)))
  await t.rejects(followEvents(url, adminToken), /429.*rate_limit_exceeded/, 'one user has no thousands')
  await Promise.all(many.map((reader) => reader.close()))
  await until(
    async () =>
      await followEvents(url, adminToken).then(
        () => true,
        () => false,
      ),
  )
  t.equal((await fetch(`${url}/api/v1/events`)).status, 401)
})

t.test('the streams of existing clients: a line of data, and the id in a block of its own', async (t) => {
  const server = await openComposedServer(t)
  const { url, adminToken, start } = server
  await start()
  const root = tempFolder(t)
  mkdirSync(join(root, 'One'), { recursive: true })
  writeFileSync(join(root, 'One', 'One 1.cbz'), comic('one'))
  const { token } = await addReader(server, 'ben')
  const paths = ['/api/v1/events/stream', '/api/v1/tasks/stream', '/api/v1/scans/stream'] as const
  const readers = await Promise.all(paths.map((path) => followEvents(url, adminToken, { path })))
  const tasksOfReader = await followEvents(url, token, { path: '/api/v1/tasks/stream' })
  const { id } = await ask<{ id: string }>(url, adminToken, 'POST', '/api/v1/libraries', {
    name: 'Comics',
    path: root,
    scanImmediately: true,
  })
  const [entities, tasks, scans] = readers as [EventReader, EventReader, EventReader]
  await entities.find(({ data }) => data.type === 'book_created')
  await entities.find(({ data }) => data.type === 'cover_updated')
  await tasks.find(({ data }) => data.type === 'task_updated' && data['taskType'] === 'scan_library' && data['status'] === 'completed')
  t.match((await scans.find(({ data }) => data['status'] === 'completed')).data, {
    ...{ type: 'scan_updated', libraryId: id, filesTotal: 1, filesProcessed: 1, booksFound: 1, seriesFound: 1, errors: [] },
    ...{ mode: 'normal', pendingAnalysis: Number, guard: null },
    ...{ startedAt: String, completedAt: String },
  })
  for (const [index, only] of [/^(book|series|library|cover)_/, /^task_/, /^scan_/].entries()) {
    const reader = readers[index] as EventReader
    const [first, ...blocks] = reader.text().trimEnd().split('\n\n')
    t.equal(first, 'retry: 3000')
    for (const block of blocks) t.match(block, /^(data: \{.*\}|id: [\w-]+|:)$/, 'one line a block')
    t.same(
      reader.events.filter(({ data }) => !only.test(data.type)),
      [],
    )
  }
  t.same(tasksOfReader.events, [], 'tasks are for who may read them')
  const again = await followEvents(url, adminToken, { path: paths[2], after: scans.events[0]?.id as string })
  await again.find(({ data }) => data['status'] === 'completed')
  for (const reader of [...readers, tasksOfReader, again]) await reader.close()
})
