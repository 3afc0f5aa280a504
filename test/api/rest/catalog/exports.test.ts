import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openExports } from '#core/exports/series-exports.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { readCsv } from '#test/support/csv-reader.ts'
import { until } from '#test/support/library-fixture.ts'
import { addBook, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { get, openTestServer } from '#test/support/server.ts'

t.setTimeout(60_000)

const PATH = '/api/v1/user/exports/series'
interface Export {
  id: string
  status: string
  fields: string[]
  bookFields: string[]
  fileSizeBytes: number | null
  rowCount: number | null
  taskId: string
}

t.test('from the catalog to the file', async (t) => {
  const dataFolder = mkdtempSync(join(tmpdir(), 'carrel-exports-'))
  const server = await openTestServer(t, { settings: { dataFolder } })
  const { database } = server
  const tasks = await openTaskQueue({ database, log: silentLog, nodeId: 'test' })
  const exports = await openExports({ database, tasks, dataFolder, log: silentLog })
  Object.assign(server.services, { tasks, exports })
  t.teardown(async () => {
    await tasks.stop()
    await exports.close()
    rmSync(dataFolder, { recursive: true, force: true })
  })
  const rita = await server.signUp({ username: 'rita' })
  const otto = await server.signUp({ username: 'otto' })
  const libraryId = await addLibrary(database)
  const open = await addSeries(database, { library_id: libraryId, title: '=Open, "1"' })
  const hidden = await addSeries(database, { library_id: libraryId, title: 'Hidden' })
  for (const seriesId of [open, hidden]) await addBook(database, { library_id: libraryId, series_id: seriesId, title: 'One' })
  await shareSeries(database, { seriesId: hidden, caller: { userId: rita.id }, mode: 'deny' })
  const ask = <T = Export>(method: string, path: string, body?: unknown, token = rita.token) =>
    server.request<T>(method, PATH + path, { token, ...(body !== undefined && { body }) })

  const fields = await ask<{ fields: { key: string; isAnchor: boolean; userSpecific: boolean; multiValue: boolean }[]; presets: object }>(
    'GET',
    '/fields',
  )
  t.equal(fields.status, 200)
  t.same(
    fields.json.fields.filter(({ isAnchor }) => isAnchor).map(({ key }) => key),
    ['series_name'],
  )
  t.match(
    fields.json.fields.find(({ key }) => key === 'user_notes'),
    { userSpecific: true, multiValue: false },
  )

  const asked = await ask('POST', '', { format: 'csv', exportType: 'both', libraryIds: [libraryId], fields: ['tags'], bookFields: [] })
  t.match(asked, { status: 202, json: { status: 'pending', fields: ['series_name', 'tags'], bookFields: ['book_name'], rowCount: null } })
  const { id } = asked.json
  t.match(await ask('GET', `/${id}/download`), { status: 409, json: { error: 'conflict' } })
  t.match(await ask('GET', '', undefined, otto.token), { json: { exports: [] } })
  await tasks.start()
  const done = await until(async () => {
    const { json } = await ask('GET', `/${id}`)
    return json.status === 'completed' && json
  })
  t.match(done, { rowCount: 2, error: null })

  const file = await get(`${server.url}${PATH}/${id}/download`, { headers: { authorization: `Bearer ${rita.token}` } })
  t.match(file, {
    status: 200,
    headers: {
      'content-type': 'text/csv; charset=utf-8; header=present',
      'content-disposition': /^attachment; filename="?series-\d{4}-\d\d-\d\d\.csv/,
      'cache-control': 'private, no-store',
      'content-length': String(done.fileSizeBytes),
    },
  })
  t.same(readCsv(file.bytes.toString().slice(1)), [
    ['record_type', 'series_name', 'tags', 'book_name'],
    ['series', '\'=Open, "1"', '', ''],
    ['book', '\'=Open, "1"', '', 'One'],
  ])
  const cookie = await get(`${server.url}${PATH}/${id}/download`, { headers: { cookie: `auth_token=${rita.token}` } })
  t.equal(cookie.status, 200, 'a browser follows a link to it')
  const part = await get(`${server.url}${PATH}/${id}/download`, {
    headers: { authorization: `Bearer ${rita.token}`, range: 'bytes=3-13' },
  })
  t.match(part, { status: 206 })
  t.equal(part.bytes.toString(), 'record_type')

  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/download'],
    ['DELETE', ''],
  ] as const) {
    for (const token of [otto.token, server.adminToken]) {
      t.match(await ask(method, `/${id}${path}`, undefined, token), { status: 404, json: { error: 'not_found' } }, `${method} of another`)
    }
  }
  const wrong: [object, number][] = [
    [{ format: 'xml', libraryIds: [libraryId], fields: [] }, 422],
    [{ format: 'csv', libraryIds: [], fields: [] }, 422],
    [{ format: 'csv', libraryIds: [libraryId], fields: ['nonsense'] }, 422],
    [{ format: 'csv', libraryIds: ['00000000-0000-4000-8000-000000000000'], fields: [] }, 404],
  ]
  for (const [body, status] of wrong) t.equal((await ask('POST', '', body)).status, status, JSON.stringify(body))

  t.equal((await ask('DELETE', `/${id}`)).status, 204)
  t.equal((await ask('GET', `/${id}`)).status, 404)
  t.same(readdirSync(join(dataFolder, 'exports')), [])
})
