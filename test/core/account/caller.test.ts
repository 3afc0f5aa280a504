import { createHash } from 'node:crypto'
import t from 'tap'
import { type Caller, isAdministrator, progressUserId } from '#core/account/caller.ts'
import { ROLE_PERMISSIONS } from '#core/account/permission.ts'
import { openProtocols } from '#test/support/composed-server.ts'
import { enableKomga } from '#test/support/komga-switch.ts'
import { addBook, addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'

t.setTimeout(240_000)

type Json = Record<string, unknown>
const READS = ['libraries-read', 'series-read', 'books-read', 'pages-read'] as const

t.test('who is an administrator, and whose read progress a caller sees', async (t) => {
  const caller = (permissions: readonly string[]) =>
    ({ userId: 'u', permissions: new Set(permissions) }) as Pick<Caller, 'userId' | 'permissions'>
  t.equal(isAdministrator(caller(ROLE_PERMISSIONS.admin)), true)
  t.equal(isAdministrator(caller(ROLE_PERMISSIONS.maintainer)), false)
  t.equal(isAdministrator(caller(['users-write'])), false, 'not by other permissions')
  t.equal(progressUserId(caller(['books-read'])), null)
  t.equal(progressUserId(caller(['progress-read'])), 'u')
  for (const permissions of Object.values(ROLE_PERMISSIONS))
    t.ok(permissions.includes('progress-read') && permissions.includes('progress-write'), 'every role reads and writes progress')
})

t.test('without progress-read no book counts as begun, in any protocol; without progress-write no progress changes', async (t) => {
  const server = await openTestServer(t)
  const { database } = server
  await enableKomga(database)
  await openProtocols(database)
  const library_id = await addLibrary(database)
  const series = await addSeries(database, { library_id, title: 'Run' })
  const [first, second, third] = [
    await addBook(database, { library_id, series_id: series, title: 'One', number: 1, page_count: 10 }),
    await addBook(database, { library_id, series_id: series, title: 'Two', number: 2, page_count: 10, page_source: 'zip' }),
    await addBook(database, { library_id, series_id: series, title: 'Three', number: 3, page_count: 10, reader_hash: 'a'.repeat(32) }),
  ]
  const rita = await server.signUp({ username: 'rita' })
  const by = (await server.accounts.callers.ofToken(rita.token, 'token')) as Caller
  const keyOf = async (...permissions: string[]) =>
    (await server.accounts.createApiKey({ name: 'app', permissions: [...READS, ...permissions] }, by)).key
  const keys = { none: await keyOf(), read: await keyOf('progress-read'), write: await keyOf('progress-write') }
  const ask = <T = Json>(method: string, path: string, token: string, body?: unknown) =>
    server.request<T>(method, path, { token, ...(body !== undefined && { body }) })
  await ask('POST', `/api/v1/books/${first}/read`, rita.token)
  await ask('PUT', `/api/v1/books/${second}/progress`, rita.token, { currentPage: 5 })
  await ask('PUT', `/api/v1/user/want-to-read/${series}`, rita.token)

  const lists = ['books/in-progress', 'books/on-deck', 'books/recently-read', 'series/in-progress']
  const sizeOf = (json: unknown) => (Array.isArray(json) ? json : (json as { data: unknown[] }).data).length
  for (const token of [keys.none, keys.write]) {
    t.match(await ask('GET', `/api/v1/books/${second}`, token), { status: 200, json: { book: { readProgress: null } } })
    t.match(await ask('GET', `/api/v1/series/${series}`, token), { status: 200, json: { unreadCount: null } })
    for (const list of lists) t.equal(sizeOf((await ask('GET', `/api/v1/${list}`, token)).json), 0, list)
    for (const [target, condition] of [
      ['books', { readStatus: { operator: 'is', value: 'unread' } }],
      ['series', { not: { readStatus: { operator: 'is', value: 'read' } } }],
      ['series', { wantToRead: { operator: 'isTrue' } }],
    ] as const)
      t.match(
        await ask('POST', `/api/v1/${target}/list`, token, { condition }),
        { status: 403, json: { error: 'forbidden', details: { permission: 'progress-read' } } },
        JSON.stringify(condition),
      )
    for (const path of ['progress', `books/${second}/progress`, `books/${second}/progression`, 'user/want-to-read', 'user/preferences'])
      t.match(await ask('GET', `/api/v1/${path}`, token), { status: 403, json: { details: { permission: 'progress-read' } } }, path)
    for (const feed of [
      await ask('GET', `/opds/v2/series/${series}`, token),
      await ask('GET', `/opds/v1/catalog/series/${series}`, token),
    ]) {
      t.equal(feed.status, 200)
      t.notMatch(feed.text, /readStatus|lastRead/, 'no facet that would be refused, no last-read page')
    }
    t.match(await ask('GET', `/opds/v2/books?readStatus=unread`, token), { status: 403 })
    t.match(await ask('GET', `/komga/api/v1/books/${second}`, token), { status: 200, json: { readProgress: null } })
    t.match(await ask('GET', `/komga/api/v1/series/${series}`, token), {
      json: { booksReadCount: 0, booksInProgressCount: 0, booksUnreadCount: 3 },
    })
    t.match(await ask('GET', '/komga/api/v1/books/ondeck', token), { json: { totalElements: 0 } })
    t.match(await ask('GET', '/komga/api/v1/books?read_status=UNREAD', token), { status: 403 })
    t.match(await ask('GET', `/komga/api/v2/series/${series}/read-progress/tachiyomi`, token), { status: 403 })
    t.match(await ask('GET', `/koreader/syncs/progress/${'a'.repeat(32)}`, token), { status: 403 })
  }
  t.match(await ask('GET', `/api/v1/books/${second}`, keys.read), { json: { book: { readProgress: { currentPage: 5 } } } })
  t.match(await ask('GET', `/api/v1/series/${series}`, keys.read), { json: { unreadCount: 2 } })
  t.equal(sizeOf((await ask('GET', '/api/v1/books/in-progress', keys.read)).json), 1)
  t.match((await ask('GET', `/opds/v1/catalog/series/${series}`, keys.read)).text, /lastRead/)

  const mark = { completed: true }
  for (const token of [keys.none, keys.read]) {
    for (const [method, path, body] of [
      ['PUT', `/api/v1/books/${third}/progress`, { currentPage: 2 }],
      ['DELETE', `/api/v1/books/${second}/progress`, undefined],
      ['PUT', `/api/v1/books/${third}/progression`, {}],
      ['POST', `/api/v1/books/${third}/read`, undefined],
      ['POST', `/api/v1/books/${second}/unread`, undefined],
      ['POST', `/api/v1/series/${series}/read`, undefined],
      ['POST', '/api/v1/books/bulk/unread', { bookIds: [second] }],
      ['PUT', `/api/v1/user/want-to-read/${series}`, undefined],
      ['PUT', '/api/v1/user/preferences/theme', { value: 'dark' }],
      ['PATCH', `/komga/api/v1/books/${third}/read-progress`, mark],
      ['DELETE', `/komga/api/v1/books/${second}/read-progress`, undefined],
      ['PUT', `/komga/api/v2/series/${series}/read-progress/tachiyomi`, { lastBookNumberSortRead: 3 }],
      ['PUT', '/koreader/syncs/progress', { document: 'a'.repeat(32), progress: '1', percentage: 0.1 }],
    ] as const)
      t.equal((await ask(method, path, token, body)).status, 403, `${method} ${path}`)
  }
  const total = async () => (await ask<{ total: number }>('GET', '/api/v1/progress', rita.token)).json.total
  t.equal(await total(), 2, 'no progress changed')
  t.match(await ask('PUT', `/api/v1/books/${third}/progress`, keys.write, { currentPage: 2 }), { status: 200, json: { currentPage: 2 } })
  t.equal(await total(), 3)

  const device = (key: string) =>
    server.request('GET', '/koreader/users/auth', {
      headers: { 'x-auth-user': key, 'x-auth-key': createHash('md5').update('x').digest('hex') },
    })
  for (const key of Object.values(keys)) t.match(await device(key), { status: 403, json: { code: 2005 } }, 'KOReader needs both')
  t.match(await device(await keyOf('progress-read', 'progress-write')), { status: 200 })
})

t.test('an export contains read progress only for users who may see it', async (t) => {
  const server = await openTestServer(t)
  const { openExports } = await import('#core/exports/series-exports.ts')
  const { silentLog } = await import('#core/foundation/log.ts')
  const reader = await addCaller(server.database)
  const exports = await openExports({
    database: server.database,
    tasks: { handle() {} } as never,
    dataFolder: '/nonexistent',
    log: silentLog,
  })
  t.teardown(() => exports.close())
  const narrow = { ...reader, permissions: new Set(['series-read', 'books-read'] as const) }
  const wish = { format: 'json', exportType: 'both', libraryIds: [await addLibrary(server.database)] } as const
  for (const fields of [
    { fields: ['progress'], bookFields: [] },
    { fields: [], bookFields: ['last_read_at'] },
  ])
    await t.rejects(exports.create(narrow, { ...wish, ...fields }), { code: 'forbidden', message: /progress-read/ })
})
