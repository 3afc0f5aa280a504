import { mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import t, { type Test } from 'tap'
import { seriesRoutes } from '#api/rest/catalog/series.ts'
import { bookContentRoutes } from '#api/rest/reading/book-content.ts'
import type { BookPage } from '#core/catalog/book.ts'
import { recordPageProblem } from '#core/catalog/book-error-store.ts'
import { coverPath } from '#core/covers/cover.ts'
import { PLACEHOLDER_COVER } from '#core/covers/placeholder.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openPageReader } from '#core/reading/read-page.ts'
import { until } from '#test/support/library-fixture.ts'
import { addBook, addCaller, shareSeries } from '#test/support/library-rows.ts'
import { addPagedBook, noisePicture } from '#test/support/paged-books.ts'
import { findPool } from '#test/support/pool.ts'
import { get as getBytes, openTestServer } from '#test/support/server.ts'

const SVG = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="10" height="20"><script>alert(1)</script></svg>')

interface Failure {
  error: string
  details?: unknown
}

async function openShelf(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'carrel-content-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const server = await openTestServer(t, { routes: [...bookContentRoutes, ...seriesRoutes], settings: { dataFolder: folder } })
  const { database } = server
  const pool = findPool()
  const counts = { read: 0, resized: 0 }
  const reader = await openPageReader({
    database,
    ...pool,
    readZipPage: (request) => {
      counts.read++
      return pool.readZipPage(request)
    },
    resizeImage: (request) => {
      counts.resized++
      return pool.resizeImage(request)
    },
    rightsFreshMs: 0,
    cacheFolder: join(folder, 'cache'),
    cacheBytesMax: 1e7,
    recordPageProblem: (bookId, problem) => recordPageProblem(database, bookId, problem),
    log: silentLog,
  })
  server.services.pageReader = reader
  t.teardown(() => reader.close())

  const jpeg = await noisePicture({ width: 400, height: 600 })
  const bytes = Buffer.concat([jpeg, SVG])
  const pages = [
    {
      name: '1.jpg',
      mediaType: 'image/jpeg',
      width: 400,
      height: 600,
      bytes: jpeg.length,
      zip: { offset: 0, compressedBytes: jpeg.length, method: 0 as const, crc32: crc32(jpeg) },
    },
    {
      name: '2.svg',
      mediaType: 'image/svg+xml',
      width: 10,
      height: 20,
      bytes: SVG.length,
      zip: { offset: jpeg.length, compressedBytes: SVG.length, method: 0 as const, crc32: crc32(SVG) },
    },
  ]
  const fileName = 'Ætt "1" – 漫画.cbz'
  const book = await addPagedBook(database, {
    folder,
    fileName,
    bytes,
    format: 'cbz',
    pageSource: 'zip',
    pages,
    row: { cover_hash: 'cafe' },
  })
  const cover = coverPath(folder, book.id)
  await mkdir(dirname(cover), { recursive: true })
  await writeFile(cover, jpeg)
  const url = `${server.url}/api/v1/books/${book.id}`
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    getBytes(path.startsWith('http') ? path : url + path, { method, headers: { authorization: `Bearer ${server.adminToken}`, ...headers } })
  return { server, counts, database, folder, book, bytes, jpeg, fileName, cover, url, get }
}

t.test('pages of a book are sent over HTTP', async (t) => {
  const { get, jpeg, book, server, url } = await openShelf(t)
  const list = JSON.parse((await get('/pages')).bytes.toString()) as BookPage[]
  t.match(list, [
    { pageNumber: 1, fileFormat: 'jpeg', fileSize: jpeg.length },
    { pageNumber: 2, fileFormat: 'svg' },
  ])

  const plain = await get('/pages/1')
  t.equal(plain.status, 200)
  t.ok(plain.bytes.equals(jpeg))
  t.match(plain.headers, {
    'content-type': 'image/jpeg',
    'content-length': String(jpeg.length),
    'cache-control': 'private, max-age=600',
    etag: /^"[^"]+"$/,
  })
  const etag = plain.headers.etag ?? ''
  const unchanged = await get('/pages/1', { 'if-none-match': etag })
  t.same([unchanged.status, unchanged.bytes.length, unchanged.headers.etag], [304, 0, etag])
  t.equal((await get('/pages/1', { 'if-none-match': '"other"' })).status, 200)
  t.equal((await get(`/pages/1?v=${book.fileHash}`)).headers['cache-control'], 'private, max-age=31536000, immutable')
  t.equal((await get('/pages/1?v=0123')).headers['cache-control'], 'private, max-age=600', 'another content: not for good')
  const head = await get('/pages/1', {}, 'HEAD')
  t.same([head.status, head.bytes.length, head.headers['content-length']], [200, 0, String(jpeg.length)])

  const small = await get('/pages/1?width=320&format=webp')
  t.match([small.status, small.headers['content-type']], [200, 'image/webp'])
  t.not(small.headers.etag, etag)
  t.match(plain.headers, {
    'x-content-type-options': 'nosniff',
    'content-security-policy': /default-src 'none'.*frame-ancestors 'self'.*sandbox/,
    vary: 'Authorization, Cookie, X-API-Key',
  })
  for (const query of ['', '?format=png', '?width=320']) {
    const svg = await get(`/pages/2${query}`)
    t.same([svg.status, JSON.parse(svg.bytes.toString()).error], [422, 'page_unreadable'], `an SVG is a program, not a picture ${query}`)
    t.match(svg.headers['content-type'], 'application/json')
  }

  for (const query of ['width=321', 'width=x', 'format=bmp', 'width=320&width=480'])
    t.equal((await get(`/pages/1?${query}`)).status, 400, query)
  t.equal((await get('/pages/one')).status, 400)
  for (const number of [0, -1, 3]) t.equal((await get(`/pages/${number}`)).status, 404, `page ${number}`)

  const cookie = { cookie: `auth_token=${server.adminToken}` }
  t.equal((await getBytes(`${url}/pages/1`, { headers: cookie })).status, 200, 'an <img> brings only the cookie')
  t.equal((await getBytes(`${url}/pages`, { headers: cookie })).status, 401, 'JSON does not take it')
  t.equal((await getBytes(`${url}/pages/1`)).status, 401)
})

t.test('a page that the client has costs no reading', async (t) => {
  const { get, counts, book } = await openShelf(t)
  for (const path of ['/pages/1', '/pages/1?width=320&format=webp']) {
    const { etag = '' } = (await get(path)).headers
    const before = { ...counts }
    const unchanged = await get(`${path}${path.includes('?') ? '&' : '?'}v=${book.fileHash}`, { 'if-none-match': `"other", ${etag}` })
    t.same([unchanged.status, unchanged.bytes.length], [304, 0], path)
    t.match(unchanged.headers, { etag, 'cache-control': 'private, max-age=31536000, immutable', 'content-type': undefined })
    t.match(unchanged.headers, { 'x-content-type-options': 'nosniff' })
    t.same(counts, before, path)
  }
  const fresh = '/pages/1?width=320&format=png'
  t.equal((await get(fresh, { 'if-none-match': '"other"' })).status, 200)
  t.same(counts, { read: 3, resized: 2 })
  await writeFile(book.path, 'short')
  const refused = await get(`/pages/1?v=${book.fileHash}`)
  t.match([refused.status, refused.headers.etag], [409, undefined], 'a refusal is not named and kept like the picture')
  t.notMatch(refused.headers['cache-control'] ?? '', /immutable/)
})

t.test('a file is sent whole and in parts', async (t) => {
  const { get, bytes, book, database } = await openShelf(t)
  const whole = await get('/file')
  t.equal(whole.status, 200)
  t.ok(whole.bytes.equals(bytes))
  t.match(whole.headers, {
    'content-type': 'application/vnd.comicbook+zip',
    'accept-ranges': 'bytes',
    etag: `"${book.fileHash}"`,
    'cache-control': 'private, no-cache',
    'content-disposition': `attachment; filename="_tt _1_ _ __.cbz"; filename*=UTF-8''%C3%86tt%20%221%22%20%E2%80%93%20%E6%BC%AB%E7%94%BB.cbz`,
  })
  const part = await get('/file', { range: 'bytes=100-199' })
  t.same(
    [part.status, part.headers['content-range'], part.bytes.equals(bytes.subarray(100, 200))],
    [206, `bytes 100-199/${bytes.length}`, true],
  )
  t.equal((await get('/file', { range: `bytes=${bytes.length}-` })).status, 416)
  t.equal((await get('/file', { 'if-none-match': `"${book.fileHash}"` })).status, 304)
  t.equal((await get('/file', { range: 'bytes=0-9', 'if-range': `"${book.fileHash}"` })).status, 206)

  await writeFile(book.path, Buffer.alloc(bytes.length, 1))
  const resumed = await get('/file', { range: 'bytes=100-', 'if-range': `"${book.fileHash}"` })
  t.equal(resumed.status, 200, 'a download is not resumed from another file')
  t.not(resumed.headers.etag, `"${book.fileHash}"`)
  // The scan has seen the new file; it is not hashed yet.
  const { size, mtimeNs } = await stat(book.path, { bigint: true })
  await database('books')
    .where({ id: book.id })
    .update({ file_size: String(size), file_mtime_ns: String(mtimeNs), state: 'pending' })
  t.not((await get('/file')).headers.etag, `"${book.fileHash}"`)
  await rm(book.path)
  const gone = await get('/file')
  t.match([gone.status, gone.bytes.toString()], [404, /no longer where it was/])

  const types: Record<string, string> = { cbr: 'application/vnd.comicbook-rar', epub: 'application/epub+zip', pdf: 'application/pdf' }
  for (const [format, mediaType] of Object.entries(types)) {
    await writeFile(book.path, 'x')
    await database('books').where({ id: book.id }).update({ file_format: format })
    t.equal((await get('/file')).headers['content-type'], mediaType)
  }
})

t.test('a link that takes the place of a book after the scan gives nothing away', async (t) => {
  const { get, book, folder, database } = await openShelf(t)
  const outside = await mkdtemp(join(tmpdir(), 'carrel-outside-'))
  t.teardown(() => rm(outside, { recursive: true, force: true }))
  await writeFile(join(outside, 'token.key'), 'the key of the server')
  await writeFile(join(outside, book.path.slice(folder.length + 1)), 'the key of the server')
  await rm(book.path)
  await symlink(join(outside, 'token.key'), book.path)
  for (const path of ['/file', '/pages/1']) {
    const answer = await get(path)
    t.ok(answer.status >= 400, `${path}: ${answer.status}`)
    t.notMatch(answer.bytes.toString(), /the key of the server/)
  }

  // The folder above it was exchanged, and the file is an ordinary one.
  const series = join(folder, 'series')
  await symlink(outside, series)
  await database('books')
    .where('id', book.id)
    .update({ path: join(series, book.path.slice(folder.length + 1)) })
  const answer = await get('/file')
  t.equal(answer.status, 404)
  t.notMatch(answer.bytes.toString(), /the key of the server/)
})

/** Longer than permissions for covers are remembered. */
const COVER_FRESH_MS = 300

t.test('covers of books and series are sent over HTTP', async (t) => {
  const { get, server, jpeg, book, cover, database, url } = await openShelf(t)
  const series = `${server.url}/api/v1/series/${book.series_id}/thumbnail`
  for (const path of [`${url}/thumbnail`, series]) {
    const answer = await get(path)
    t.equal(answer.status, 200)
    t.ok(answer.bytes.equals(jpeg))
    t.match(answer.headers, { 'content-type': 'image/jpeg', etag: '"cafe"', 'cache-control': /^private/ })
    t.equal((await get(path, { 'if-none-match': '"cafe"' })).status, 304)
    t.equal((await getBytes(path, { headers: { cookie: `auth_token=${server.adminToken}` } })).status, 200)
  }
  await rm(cover)
  const refused = async (path: string) => {
    const { status, bytes } = await get(`${path}?placeholder=false`)
    return [status, bytes.toString()]
  }
  // It stays in memory for a moment.
  t.match(await until(async () => (await get('/thumbnail?placeholder=false')).status === 404 && refused('/thumbnail')), [404, /is missing/])
  await database('books').where({ id: book.id }).update({ cover_hash: null })
  // So do permissions and the choice of the cover.
  await sleep(COVER_FRESH_MS)
  t.match(await refused('/thumbnail'), [404, /has no cover/])
  t.match(await refused(series), [404, /No book of this series has a cover/])
  for (const path of [`${url}/thumbnail`, series]) {
    const answer = await get(path)
    t.match(answer, { status: 200, headers: { 'content-type': 'image/jpeg', 'cache-control': 'private, max-age=60' } }, 'a placeholder')
    t.ok(answer.bytes.equals(PLACEHOLDER_COVER))
    t.equal((await get(path, { 'if-none-match': String(answer.headers.etag) })).status, 304)
  }
  await database('books').where({ id: book.id }).update({ state: 'pending' })
  t.match(await refused('/thumbnail'), [404, /does not exist yet/], 'a book without a cover is not remembered')
})

t.test('books that have no pages to show', async (t) => {
  const { server, database, folder, book, get } = await openShelf(t)
  const text = await addPagedBook(database, {
    folder,
    fileName: 'n.epub',
    bytes: Buffer.from('x'),
    format: 'epub',
    pageSource: 'none',
    pages: [],
  })
  const request = <T>(path: string) => server.request<T>('GET', path, { token: server.adminToken })
  t.same((await request<BookPage[]>(`/api/v1/books/${text.id}/pages`)).json, [])
  const refused = await request<Failure>(`/api/v1/books/${text.id}/pages/1`)
  t.match([refused.status, refused.json], [422, { error: 'not_paged', details: { manifest: `/api/v1/books/${text.id}/manifest` } }])
  const library_id = (await database('books').where({ id: book.id }).first('library_id')).library_id
  const pending = await addBook(database, { library_id, series_id: book.series_id, title: 'New', state: 'pending' })
  for (const path of ['pages', 'pages/1'])
    t.match(await request(`/api/v1/books/${pending}/${path}`), { status: 409, json: { error: 'not_analyzed' } })
  await writeFile(book.path, Buffer.alloc(10))
  t.equal((await get('/pages/1')).status, 409)
})

t.test('what is hidden has no picture either', async (t) => {
  const { server, database, book, url } = await openShelf(t)
  const { id: userId, token } = await server.signUp({ username: 'restricted' })
  const paths = ['/pages', '/pages/1', '/thumbnail', '/file', '/pages/1?width=320']
  const statuses = async () =>
    Promise.all(
      [...paths.map((path) => url + path), `${server.url}/api/v1/series/${book.series_id}/thumbnail`].map(
        async (path) => (await getBytes(path, { headers: { authorization: `Bearer ${token}` } })).status,
      ),
    )
  t.same(await statuses(), [200, 200, 200, 200, 200, 200])
  await shareSeries(database, { seriesId: book.series_id, caller: { ...(await addCaller(database)), userId }, mode: 'deny' })
  await sleep(COVER_FRESH_MS)
  t.same(await statuses(), [404, 404, 404, 404, 404, 404])
})
