import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { seesWholePaths, visibleFilePath, visibleLibraryPath } from '#core/account/path-view.ts'
import { openExportFixture } from '#test/support/export-fixture.ts'
import { addBook, addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'

const reader = { permissions: new Set(['books-read'] as const) }
const maintainer = { permissions: new Set(['books-read', 'books-write'] as const) }

t.test('which part of a path a caller sees', async (t) => {
  for (const [libraryPath, path, shown] of [
    ['/srv/Comics', '/srv/Comics/Saga/1.cbz', 'Saga/1.cbz'],
    ['/srv/Comics', '/srv/Comics/1.cbz', '1.cbz'],
    ['/', '/srv/1.cbz', 'srv/1.cbz'],
    ['/srv/Com', '/srv/Comics/1.cbz', '1.cbz'],
  ] as const) {
    t.equal(visibleFilePath(reader, { libraryPath, path }), shown)
    t.equal(visibleFilePath(maintainer, { libraryPath, path }), path)
  }
  t.equal(visibleLibraryPath(reader, '/srv/Comics'), 'Comics')
  t.equal(visibleLibraryPath(maintainer, '/srv/Comics'), '/srv/Comics')
  t.same([seesWholePaths(reader), seesWholePaths(maintainer)], [false, true])
})

t.test('on every route, users see paths relative to the library, and users with books-write absolute ones', async (t) => {
  const dataFolder = mkdtempSync(join(tmpdir(), 'carrel-paths-'))
  t.teardown(() => rmSync(dataFolder, { recursive: true, force: true }))
  const { database, signUp, request, adminToken } = await openTestServer(t, { settings: { dataFolder } })
  const library_id = await addLibrary(database, { path: '/srv/secret/Comics', name: 'Comics' })
  const series_id = await addSeries(database, { library_id, title: 'Saga', path: 'Saga' })
  const place = { library_id, series_id, file_name: '1.cbz', path: '/srv/secret/Comics/Saga/1.cbz' }
  const bookId = await addBook(database, { ...place, title: 'Saga 1', state: 'failed' })
  await addBook(database, { ...place, title: 'Saga 2', file_name: '2.cbz', path: '/srv/secret/Comics/Saga/2.cbz' })
  await database('book_errors').insert({ book_id: bookId, error_type: 'parser', message: 'Cut off', fatal: true })
  const { token } = await signUp({ username: 'rita' })
  const { token: editor } = await signUp({ username: 'mo', role: 'maintainer' })
  const key = async (permissions: string[]) =>
    (await request<{ key: string }>('POST', '/api/v1/api-keys', { token: adminToken, body: { name: 'k', permissions } })).json.key
  const narrow = await key(['books-read', 'series-read', 'libraries-read'])
  await request('PUT', `/api/v1/books/${bookId}/progress`, { token, body: { currentPage: 1 } })

  const asked: [method: string, path: string, body?: unknown][] = [
    ['GET', 'books'],
    ['GET', 'books?full=true'],
    ['POST', 'books/list', { fullTextSearch: 'Saga' }],
    ['GET', `books/${bookId}`],
    ['GET', `books/${bookId}?full=true`],
    ['GET', `books/${bookId}/adjacent`],
    ['GET', 'books/errors'],
    ['GET', 'books/recently-added'],
    ['GET', `series/${series_id}/books`],
    ['GET', `series/${series_id}`],
    ['GET', `series/${series_id}?full=true`],
    ['GET', 'series'],
    ['POST', 'series/list', {}],
    ['GET', 'libraries'],
    ['GET', `libraries/${library_id}`],
  ]
  for (const [method, path, body] of asked) {
    const ask = async (as: string) => await request(method, `/api/v1/${path}`, { token: as, ...(body !== undefined && { body }) })
    for (const as of [token, narrow]) {
      const { status, text } = await ask(as)
      t.equal(status, 200, text)
      t.notMatch(text, /srv|secret/, `${method} ${path}`)
    }
    t.match((await ask(editor)).text, /"\/srv\/secret\/Comics/, `${method} ${path} for a user with books-write`)
  }
  const book = async (as: string) =>
    (await request<{ book: { filePath: string } }>('GET', `/api/v1/books/${bookId}`, { token: as })).json.book.filePath
  t.equal(await book(token), 'Saga/1.cbz')
  t.equal(await book(editor), place.path)
  t.match((await request('GET', `/api/v1/series/${series_id}`, { token })).json, { path: 'Saga' })
  t.match((await request('GET', `/api/v1/libraries/${library_id}`, { token })).json, { path: 'Comics' })

  const count = async (as: string, operator: string, value: string) =>
    (await request<{ total: number }>('POST', '/api/v1/books/list', { token: as, body: { condition: { path: { operator, value } } } })).json
      .total
  t.equal(await count(token, 'contains', 'secret'), 0, 'conditions do not reveal the folder either')
  t.equal(await count(token, 'is', 'Saga/1.cbz'), 1)
  t.equal(await count(editor, 'contains', 'secret'), 2)
  t.equal(await count(editor, 'is', 'Saga/1.cbz'), 0)
})

t.test('exports show the same paths, and a user without books-write gets no export with absolute ones', async (t) => {
  const { database, exports, caller, make, libraryId } = await openExportFixture(t)
  const series_id = await addSeries(database, { library_id: libraryId, title: 'Saga', path: 'Saga' })
  await addBook(database, { library_id: libraryId, series_id, title: 'Saga 1', file_name: '1.cbz', path: '/comics/Saga/1.cbz' })
  const editor = await addCaller(database, { role: 'maintainer' })
  const all = { exportType: 'both', fields: ['path'], bookFields: ['path'] } as const
  const own = await make(all)
  t.notMatch(own.text, /\/comics/)
  t.match(own.text, /"Saga"/)
  t.match(own.text, /"Saga\/1\.cbz"/)
  const whole = await make(all, editor)
  t.match(whole.text, /"\/comics\/Saga"/)
  t.match(whole.text, /"\/comics\/Saga\/1\.cbz"/)
  const narrow = { ...editor, permissions: caller.permissions }
  await t.rejects(exports.findFile(narrow, whole.id), { code: 'forbidden', message: /books-write/ })
  const plain = await make({ exportType: 'books', bookFields: ['title'] }, editor)
  t.ok(readFileSync((await exports.findFile(narrow, plain.id)).path, 'utf8').includes('Saga 1'), 'the user gets an export without paths')
})
