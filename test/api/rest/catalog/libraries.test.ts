import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { apiKeyRoutes } from '#api/rest/account/api-keys.ts'
import { taskRoutes } from '#api/rest/admin/tasks.ts'
import { libraryRoutes } from '#api/rest/catalog/libraries.ts'
import { handleBookAnalyses } from '#core/analysis/analyze-book.ts'
import { handleBulkAnalyses } from '#core/analysis/request-analyses.ts'
import type { Library } from '#core/catalog/library.ts'
import { coverPath } from '#core/covers/cover.ts'
import { silentLog } from '#core/foundation/log.ts'
import { type ScanStatus, Scans } from '#core/scan/scans.ts'
import type { TaskRecord } from '#core/tasks/task-query.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { comic, until } from '#test/support/library-fixture.ts'
import { addSeries, shareSeries } from '#test/support/library-rows.ts'
import { findPool } from '#test/support/pool.ts'
import { openTestServer } from '#test/support/server.ts'
import { findRules } from '#test/support/supervisor.ts'

t.setTimeout(240_000)

async function openTestLibraries(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-libraries-'))
  const dataFolder = join(folder, 'data')
  const server = await openTestServer(t, { routes: [...libraryRoutes, ...taskRoutes, ...apiKeyRoutes], settings: { dataFolder } })
  const { database } = server
  const tasks = await openTaskQueue({ database, log: silentLog, nodeId: 'test' })
  const scans = new Scans({ database, tasks, rules: findRules(), log: silentLog, dataFolder, purgeAfterSeconds: 86_400 })
  handleBulkAnalyses({ database, tasks })
  handleBookAnalyses({ database, tasks, analyze: findPool().analyze, log: silentLog, settings: { dataFolder, workers: 1 } })
  Object.assign(server.services, { tasks, scans })
  t.teardown(async () => {
    await tasks.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  await tasks.start()
  const token = server.adminToken
  return {
    ...server,
    dataFolder,
    tasks,
    folder: (name: string, files: string[] = []) => {
      const path = join(folder, name)
      mkdirSync(path, { recursive: true })
      for (const file of files) {
        mkdirSync(dirname(join(path, file)), { recursive: true })
        writeFileSync(join(path, file), comic(file))
      }
      return path
    },
    ask: <T = never>(method: string, path: string, body?: unknown) =>
      server.request<T>(method, `/api/v1${path}`, { token, ...(body === undefined ? {} : { body }) }),
    ended: (libraryId: string) =>
      until(async () => {
        const { json } = await server.request<ScanStatus>('GET', `/api/v1/libraries/${libraryId}/scan-status`, { token })
        return ['completed', 'failed', 'cancelled'].includes(json.status) && json.pendingAnalysis === 0 ? json : null
      }),
  }
}

t.test('names are trimmed; folders and patterns mean what they say', async (t) => {
  const { ask, folder } = await openTestLibraries(t)
  const rules = [{ pattern: ' \\[.*', replacement: ' ', description: ' tidy ' }]
  const { json, status } = await ask<Library>('POST', '/libraries', {
    ...{ name: ' Comics \n', path: folder('Comics '), description: ' x ', titlePreprocessingRules: rules, scanImmediately: false },
  })
  t.equal(status, 201)
  t.match(json, { name: 'Comics', description: 'x', path: /\/Comics $/ })
  t.same(json.titlePreprocessingRules, [{ pattern: ' \\[.*', replacement: ' ', description: 'tidy' }])
  t.match((await ask<Library>('PATCH', `/libraries/${json.id}`, { name: '  Manga' })).json, { name: 'Manga' })
  t.match(await ask('PATCH', `/libraries/${json.id}`, { name: '  ' }), { status: 422 })
})

t.test('no library is made of the data folder or a folder of the system, nor moved there, by whatever path', async (t) => {
  const { folder, dataFolder, database, request, adminToken: token } = await openTestLibraries(t)
  const room = dirname(dataFolder)
  folder('data/covers')
  const books = folder('books', ['Saga/1.cbz'])
  const links = { data: dataFolder, inside: join(dataFolder, 'covers'), processes: '/proc', everything: '/', twice: 'link-data' }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(room, `link-${name}`))
  const own = [
    ...[dataFolder, `${dataFolder}//`, `${dataFolder}/covers`, `${room}/books/../data`, `${room}/./data/.`, room, '/tmp/..'],
    ...['link-data', 'link-data/covers', 'link-inside', 'link-twice', 'link-twice/../data'].map((name) => join(room, name)),
    ...[`/proc/self/root${dataFolder}`, `/proc/thread-self/root${dataFolder}/covers`, join(room, `link-everything${dataFolder}`)],
  ]
  const system = ['/proc', '/proc/self', '/proc/self/fd', '/sys', '/sys/kernel', '/dev', '/dev/fd', '/dev/shm']
  const bad = [
    ...own,
    ...system,
    join(room, 'link-processes'),
    join(room, 'link-processes/self/task'),
    '/',
    '//',
    '/.',
    join(room, 'link-everything'),
  ]
  const made = await request<{ id: string }>('POST', '/api/v1/libraries', { token, body: { name: 'Books', path: books } })
  t.equal(made.status, 201)
  for (const path of bad) {
    const said = { error: 'invalid_value', details: [{ path: '/path' }] }
    const making = await request('POST', '/api/v1/libraries', { token, body: { name: 'Bad', path, scanImmediately: true } })
    t.match({ status: making.status, json: making.json }, { status: 422, json: said }, `POST ${path}`)
    const moving = await request('PATCH', `/api/v1/libraries/${made.json.id}`, { token, body: { path } })
    t.match({ status: moving.status, json: moving.json }, { status: 422, json: said }, `PATCH ${path}`)
  }
  t.same(await database('libraries').select('path'), [{ path: books }], 'nothing was made or changed')
})

t.test('a library is made, shown, changed and taken away', async (t) => {
  const server = await openTestLibraries(t)
  const { ask, folder, ended, database } = server
  const path = folder('comics', ['Saga/1.cbz', 'Saga/2.cbz', 'one.cbz'])
  const made = await ask<Library>('POST', '/libraries', {
    name: ' Comics ',
    path: `${path}/`,
    scanImmediately: true,
    excludedPatterns: '*.tmp',
    scanningConfig: { enabled: true, scanMode: 'normal' },
  })
  t.equal(made.status, 201, made.text)
  t.match(made.json, {
    name: 'Comics',
    path,
    isActive: true,
    seriesStrategy: 'auto',
    bookStrategy: 'metadata_first',
    numberStrategy: 'smart',
    defaultReadingDirection: 'ltr',
    excludedPatterns: '*.tmp',
    scanningConfig: { enabled: true, scanMode: 'normal' },
    allowedFormats: null,
    description: null,
    bookCount: 0,
  })
  const { id } = made.json
  t.match(await ended(id), {
    status: 'completed',
    filesTotal: 3,
    filesProcessed: 3,
    booksFound: 3,
    seriesFound: 2,
    pendingAnalysis: 0,
    errors: [],
  })
  const shown = await ask<Library>('GET', `/libraries/${id}`)
  t.match(shown.json, { id, bookCount: 3, seriesCount: 2, lastScannedAt: /^20/ })
  const nightly = { enabled: true, scanMode: 'normal', cronSchedule: '0 3 * * *', cronTimezone: 'Europe/Berlin' }
  t.match((await ask<Library>('PATCH', `/libraries/${id}`, { scanningConfig: nightly })).json, {
    scanningConfig: nightly,
    nextScanAt: /^20/,
  })
  for (const nonsense of [{ cronSchedule: 'not a cron' }, { cronSchedule: '* * * * *' }, { cronTimezone: 'Mars/Base' }])
    t.match(await ask('PATCH', `/libraries/${id}`, { scanningConfig: { ...nightly, ...nonsense } }), { status: 422 })
  t.match((await ask<Library>('PATCH', `/libraries/${id}`, { isActive: false })).json, { scanningConfig: nightly, nextScanAt: null })
  t.match((await ask<Library>('PATCH', `/libraries/${id}`, { isActive: true, scanningConfig: null })).json, { nextScanAt: null })
  const list = await ask<{ data: Library[]; total: number }>('GET', '/libraries?page=1&pageSize=10')
  t.match(list.json, { total: 1, data: [{ id, bookCount: 3 }], links: { next: null } })

  const changed = await ask<Library>('PATCH', `/libraries/${id}`, {
    name: 'Renamed',
    description: 'mine',
    excludedPatterns: null,
    defaultReadingDirection: 'rtl',
    allowedFormats: ['cbz'],
    bookStrategy: null,
  })
  t.equal(changed.status, 200, changed.text)
  t.match(changed.json, {
    name: 'Renamed',
    description: 'mine',
    excludedPatterns: null,
    defaultReadingDirection: 'rtl',
    allowedFormats: ['cbz'],
    bookStrategy: 'metadata_first',
  })

  const books = await database('books').where('library_id', id).pluck('id')
  t.ok(books.every((book) => existsSync(coverPath(server.dataFolder, book))))
  t.equal((await ask('DELETE', `/libraries/${id}`)).status, 204)
  t.equal((await ask('GET', `/libraries/${id}`)).status, 404)
  t.notOk(
    books.some((book) => existsSync(coverPath(server.dataFolder, book))),
    'covers go',
  )
  t.ok(existsSync(join(path, 'one.cbz')), 'files stay')
  t.equal((await ask('DELETE', `/libraries/${id}`)).status, 404)
})

t.test('folders that cannot be a library', async (t) => {
  const { ask, folder } = await openTestLibraries(t)
  const path = folder('comics/inner', ['1.cbz'])
  const make = async (path: string, more: object = {}) =>
    await ask<{ error: string; message: string }>('POST', '/libraries', { name: 'x', path, ...more })
  t.equal((await make(path)).status, 201)
  t.match((await make(path)).json, { error: 'conflict' })
  t.match(await make(join(path, '..')), { status: 409, json: { message: /contains the library/ } })
  t.match(await make(folder('comics/inner/deeper')), { status: 409, json: { message: /is inside/ } })
  symlinkSync(path, `${path}-link`)
  t.equal((await make(`${path}-link`)).status, 409, 'by a link too')
  t.equal((await make(folder('comics/inner2'))).status, 201, 'a name that only begins alike is another folder')
  t.match(await make('relative/path'), { status: 422, json: { error: 'invalid_value', message: /absolute/ } })
  t.match(await make(`${path}/nowhere`), { status: 422, json: { message: /does not exist/ } })
  t.match(await make(join(path, '1.cbz')), { status: 422, json: { message: /not a folder/ } })
  t.equal((await make('/')).status, 422)
  t.ok([400, 422].includes((await make('/tmp/\0')).status))
  const free = folder('free')
  t.equal((await make(free, { excludedPatterns: '[z-a]' })).status, 422)
  t.equal((await make(free, { seriesStrategy: 'by_mood' })).status, 422)
  t.equal((await make(free, { name: '   ' })).status, 422)
  for (const wrong of [{ allowedFormats: ['exe'] }, { name: '' }, { name: 5 }, { defaultReadingDirection: 'up' }])
    t.ok([400, 422].includes((await make(free, wrong)).status), JSON.stringify(wrong))
})

t.test('a library whose folder moved keeps its books', async (t) => {
  const { ask, folder, ended, database } = await openTestLibraries(t)
  const from = folder('from 📚', ['a/1.cbz', 'a/2.cbz'])
  const to = folder('to', ['a/1.cbz', 'a/2.cbz'])
  const { json } = await ask<Library>('POST', '/libraries', { name: 'x', path: from, scanImmediately: true })
  await ended(json.id)
  const before = await database('books').orderBy('path').pluck('id')
  t.equal((await ask('PATCH', `/libraries/${json.id}`, { path: to })).status, 200)
  t.same(await database('books').orderBy('path').pluck('path'), [`${to}/a/1.cbz`, `${to}/a/2.cbz`])
  await ask('POST', `/libraries/${json.id}/scan`)
  t.match(await ended(json.id), { status: 'completed', filesTotal: 2 })
  t.same(await database('books').orderBy('path').pluck('id'), before)
  t.equal((await ask('PATCH', `/libraries/${json.id}`, { path: `${to}/a/1.cbz` })).status, 422)
})

t.test('scans are started, watched and canceled over HTTP', async (t) => {
  const server = await openTestLibraries(t)
  const { ask, folder, ended, database } = server
  const path = folder('comics', ['a/1.cbz', 'a/2.cbz', 'b/3.cbz'])
  const { json: library } = await ask<Library>('POST', '/libraries', { name: 'x', path })
  const { id } = library
  t.match((await ask('GET', `/libraries/${id}/scan-status`)).json, {
    status: 'idle',
    libraryId: id,
    startedAt: library.createdAt,
    completedAt: null,
  })
  const first = await ask<ScanStatus>('POST', `/libraries/${id}/scan?mode=normal`)
  t.equal(first.status, 202)
  t.match(first.json, { libraryId: id, status: /pending|processing|completed/, taskId: /^[0-9a-f-]{36}$/ })
  await ended(id)
  t.match(await ask('POST', `/libraries/${id}/scan?mode=thorough`), { status: 400 })
  t.equal((await ask('POST', '/libraries/00000000-0000-4000-8000-000000000000/scan')).status, 404)
  t.equal((await ask('GET', '/libraries/00000000-0000-4000-8000-000000000000/scan-status')).status, 404)
  t.equal((await ask('GET', '/libraries/nonsense/scan-status')).status, 400)
  t.equal((await ask('POST', '/libraries/00000000-0000-4000-8000-000000000000/scan/cancel')).status, 404)

  await server.tasks.stop()
  const waiting = await ask<ScanStatus>('POST', `/libraries/${id}/scan?mode=deep`)
  t.match(waiting, { status: 202, json: { status: 'pending', mode: 'deep' } })
  t.match(await ask('POST', `/libraries/${id}/scan`), { status: 409, json: { error: 'scan_running' } })
  t.match((await ask('GET', '/scans/active')).json, [{ taskId: waiting.json.taskId }])
  t.equal((await ask('POST', `/libraries/${id}/scan/cancel`)).status, 204)
  t.match((await ask('GET', `/libraries/${id}/scan-status`)).json, { status: 'cancelled', taskId: waiting.json.taskId })
  t.same((await ask('GET', '/scans/active')).json, [])
  t.equal((await ask('POST', `/libraries/${id}/scan/cancel`)).status, 204, 'nothing to stop is no error')

  const all = await ask<{ taskId: string }>('POST', `/libraries/${id}/analyze`)
  t.match(all, { status: 202, json: { taskId: String } })
  t.equal((await ask<{ taskId: string }>('POST', `/libraries/${id}/analyze`)).json.taskId, all.json.taskId, 'asked twice it is one task')
  t.equal((await ask('POST', '/libraries/00000000-0000-4000-8000-000000000000/analyze-unanalyzed')).status, 404)

  unlinkSync(join(path, 'b/3.cbz'))
  await database('books').where('file_name', '3.cbz').update({ deleted_at: new Date() })
  const purged = await ask<number>('DELETE', `/libraries/${id}/purge-deleted`)
  t.equal(purged.status, 200)
  t.equal(purged.text.trim(), '1')
  t.same(await database('series').pluck('path'), ['a'])
  t.equal((await ask<number>('DELETE', `/libraries/${id}/purge-deleted`)).text.trim(), '0')
  t.equal((await ask('DELETE', '/libraries/00000000-0000-4000-8000-000000000000/purge-deleted')).status, 404)
})

t.test('analyzing a library again', async (t) => {
  const { ask, folder, ended, database } = await openTestLibraries(t)
  const path = folder('comics', ['a/1.cbz'])
  writeFileSync(join(path, 'a/broken.cbz'), 'nothing')
  const { json } = await ask<Library>('POST', '/libraries', { name: 'x', path, scanImmediately: true })
  await ended(json.id)
  const times = async () =>
    new Map((await database('books').select('file_name', 'analyzed_at')).map((row) => [row.file_name, row.analyzed_at.getTime()]))
  const before = await times()
  const done = async (taskId: string) =>
    until(async () => {
      const task = await ask<TaskRecord>('GET', `/tasks/${taskId}`)
      const stats = await ask<{ pending: number; processing: number }>('GET', '/tasks/stats')
      return task.json.status === 'completed' && stats.json.pending + stats.json.processing === 0 ? task.json : null
    })
  const some = await ask<{ taskId: string }>('POST', `/libraries/${json.id}/analyze-unanalyzed`)
  t.match(await done(some.json.taskId), { result: { queued: 1 }, libraryName: 'x', taskType: 'analyze_library' })
  const between = await times()
  t.equal(between.get('1.cbz'), before.get('1.cbz'))
  t.ok(between.get('broken.cbz') > before.get('broken.cbz'))
  const all = await ask<{ taskId: string }>('POST', `/libraries/${json.id}/analyze`)
  t.match(await done(all.json.taskId), { result: { queued: 2 } })
  t.ok((await times()).get('1.cbz') > before.get('1.cbz'))
})

t.test('who may do what', async (t) => {
  const { ask, request, signUp, folder } = await openTestLibraries(t)
  const { json } = await ask<Library>('POST', '/libraries', { name: 'x', path: folder('comics') })
  const reader = await signUp({ username: 'reader', role: 'reader' })
  const maintainer = await signUp({ username: 'maintainer', role: 'maintainer' })
  const as = async (token: string | undefined, method: string, path: string, body?: unknown) =>
    (await request(method, `/api/v1${path}`, { ...(token && { token }), ...(body === undefined ? {} : { body }) })).status
  t.equal(await as(undefined, 'GET', '/libraries'), 401)
  t.equal(await as(reader.token, 'GET', '/libraries'), 200)
  t.equal(await as(reader.token, 'GET', `/libraries/${json.id}/scan-status`), 200)
  t.equal(await as(reader.token, 'POST', `/libraries/${json.id}/scan`), 403)
  t.equal(await as(reader.token, 'PATCH', `/libraries/${json.id}`, { name: 'y' }), 403)
  t.equal(await as(reader.token, 'GET', '/tasks'), 403)
  t.equal(await as(maintainer.token, 'PATCH', `/libraries/${json.id}`, { name: 'y' }), 200)
  t.equal(await as(maintainer.token, 'DELETE', `/libraries/${json.id}`), 403)
  t.equal(await as(maintainer.token, 'GET', '/tasks'), 200)
})

t.test('what a scan could not read is told only to those who change libraries and see every series', async (t) => {
  const server = await openTestLibraries(t)
  const { database } = server
  const callerOf = async (token: string) => (await server.accounts.callers.ofToken(token, 'token'))!
  const people = {
    reader: await server.signUp({ username: 'reader' }),
    denied: await server.signUp({ username: 'denied', role: 'maintainer' }),
    allowed: await server.signUp({ username: 'allowed', role: 'maintainer' }),
    maintainer: await server.signUp({ username: 'maintainer', role: 'maintainer' }),
  }
  const [ended, active] = await database('libraries').insert(
    [
      { name: 'Ended', path: server.folder('ended') },
      { name: 'Active', path: server.folder('active') },
    ],
    ['id'],
  )
  const seriesId = await addSeries(database, { library_id: ended.id, title: 'Hidden Saga' })
  await shareSeries(database, { seriesId, caller: await callerOf(people.denied.token), mode: 'deny' })
  await shareSeries(database, { seriesId, caller: await callerOf(people.allowed.token), mode: 'allow' })
  const errors = ['"Hidden Saga/1.cbz": may not be read by the server']
  await database('scans').insert([
    {
      id: randomUUID(),
      library_id: ended.id,
      mode: 'normal',
      status: 'completed',
      completed_at: new Date(),
      errors: JSON.stringify(errors),
    },
    { id: randomUUID(), library_id: active.id, mode: 'normal', status: 'processing', errors: JSON.stringify(errors) },
  ])
  for (const [who, { token }] of Object.entries(people)) {
    const told = who === 'maintainer' ? errors : []
    const status = await server.request<ScanStatus>('GET', `/api/v1/libraries/${ended.id}/scan-status`, { token })
    t.match([status.status, status.json.status], [200, 'completed'], who)
    t.same(status.json.errors, told, `${who} asks for the latest scan`)
    const list = await server.request<ScanStatus[]>('GET', '/api/v1/scans/active', { token })
    t.same(
      list.json.map((scan) => [scan.libraryId, scan.errors]),
      [[active.id, told]],
      `${who} asks for the active scans`,
    )
  }
  const maintainer = await callerOf(people.maintainer.token)
  const { key } = await server.accounts.createApiKey({ name: 'narrow', permissions: ['libraries-read'] }, maintainer)
  const narrow = await server.request<ScanStatus>('GET', `/api/v1/libraries/${ended.id}/scan-status`, { token: key })
  t.same(narrow.json.errors, [], 'a key of theirs that may only read is a reader')
})

t.test('a key that may only start scans starts them, also of a part, and confirms nothing', async (t) => {
  const server = await openTestLibraries(t)
  const { ask, folder, ended, database } = server
  const path = folder('comics', ['Saga/1.cbz', 'Bone/1.cbz'])
  const { id } = (await ask<Library>('POST', '/libraries', { name: 'Comics', path, scanImmediately: true })).json
  await ended(id)
  const key = (await ask<{ key: string }>('POST', '/api-keys', { name: 'downloads', permissions: ['scans-start'] })).json.key
  const send = async (target: string) => await server.request('POST', `/api/v1${target}`, { token: key })
  t.equal((await send(`/libraries/${id}/scan?path=Saga`)).status, 202)
  await ended(id)
  const seriesId = (await database('series').where('path', 'Bone').first('id')).id
  t.equal((await send(`/series/${seriesId}/scan`)).status, 202)
  t.match(await ended(id), { status: 'completed', filesTotal: 1 })
  t.equal((await send(`/libraries/${id}/scan?path=../x`)).status, 422)
  t.equal((await send(`/series/${id}/scan`)).status, 404)
  t.equal((await send(`/libraries/${id}/scan?confirm=true`)).status, 403)
  t.equal((await ask('POST', `/libraries/${id}/scan?confirm=Saga`)).status, 422, 'a folder that was not withheld')
  t.equal((await server.request('GET', '/api/v1/libraries', { token: key })).status, 403)
})
