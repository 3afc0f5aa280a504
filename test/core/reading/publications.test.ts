import { randomBytes } from 'node:crypto'
import { closeSync, openSync, readFileSync, utimesSync, writeFileSync, writeSync } from 'node:fs'
import http from 'node:http'
import fc from 'fast-check'
import t from 'tap'
import { readingRoutes } from '#api/rest/reading/reading.ts'
import { silentLog } from '#core/foundation/log.ts'
import { Publications } from '#core/reading/publications.ts'
import type { WebPublication } from '#core/reading/web-publication.ts'
import { rateSeries, setTestRule } from '#test/support/access-rules.ts'
import { findCorpus } from '#test/support/corpus.ts'
import { buildEpub } from '#test/support/epub-builder.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { until } from '#test/support/library-fixture.ts'
import { addCaller, shareSeries } from '#test/support/library-rows.ts'
import { openReading } from '#test/support/page-reading.ts'
import { addPagedBook } from '#test/support/paged-books.ts'
import { buildNovel, openReadingServer } from '#test/support/readable-books.ts'
import { get } from '#test/support/server.ts'
import { buildZip, type ZipPart } from '#test/support/zip-builder.ts'
import { ZipArchive } from '#workers/formats/zip/zip.ts'

t.setTimeout(240_000)

const LONG_BYTES = 30_000_000
/** One stored file, far longer than the buffers of a connection. */
const longBook = () =>
  buildEpub({ files: { 'film.mp4': Buffer.concat([randomBytes(1_000_000), Buffer.alloc(LONG_BYTES - 1_000_000, 3)]) } })

function begin(url: string, token: string): Promise<{ request: http.ClientRequest; response: http.IncomingMessage }> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { headers: { authorization: `Bearer ${token}` }, agent: false }, (response) =>
      resolve({ request, response }),
    )
    request.once('error', reject)
  })
}

t.test('every package is read once, whether it is the largest possible or refused', onlyFull, async (t) => {
  const { server, addFile, counts, database } = await openReadingServer(t, readingRoutes)
  const ask = (id: string) =>
    get(`${server.url}/api/v1/books/${id}/resource/OPS/c1.xhtml`, { headers: { authorization: `Bearer ${server.adminToken}` } })
  const names = (count: number, length: number) =>
    buildEpub({ files: Object.fromEntries(Array.from({ length: count }, (_, index) => [`/${'n'.repeat(length)}${index}`, ''])) })
  const large = await addFile('Large.epub', names(20_000, 200))
  t.same([(await ask(large.id)).status, (await ask(large.id)).status, counts.publications], [200, 200, 1])
  const refused = await addFile('Refused.epub', names(20_000, 300))
  t.equal((await ask(refused.id)).status, 409, 'its analysis says so')
  // As if an earlier version of the server had accepted it.
  await database('books').where({ id: refused.id }).update({ state: 'analyzed' })
  for (let time = 0; time < 2; time++) {
    const answer = await ask(refused.id)
    t.match([answer.status, JSON.parse(answer.bytes.toString())], [422, { error: 'page_unreadable', message: /characters together/ }])
  }
  t.equal(counts.publications, 2, 'the refusal is remembered')
})

t.test('a publication that is larger than the memory for them is read once', async (t) => {
  // A real one of this size has millions of characters in its names.
  const change = (publication: Uint8Array) => {
    const text = Buffer.from(publication).toString()
    return Buffer.from(text.replace(/"memory":\d+/, '"memory":1000000000'))
  }
  const { server, addFile, counts } = await openReadingServer(t, readingRoutes, { change })
  const { id } = await addFile('Novel.epub', buildNovel())
  const ask = () =>
    get(`${server.url}/api/v1/books/${id}/resource/OPS/style.css`, { headers: { authorization: `Bearer ${server.adminToken}` } })
  t.same([(await ask()).status, (await ask()).status, counts.publications], [200, 200, 1])
})

t.test('refusals are remembered too, by what their texts take', async (t) => {
  const { database, folder, pool, caller } = await openReading(t)
  let count = 0
  const publications = new Publications({
    ...{ ...pool, database, rightsFreshMs: 0 },
    readPublication: async (...given) => {
      count++
      const outcome = await pool.readPublication(...given)
      // Refusals repeat names of the file, which may have millions of characters; the pool would take seconds for those.
      return 'problem' in outcome ? { problem: { ...outcome.problem, message: outcome.problem.message.padEnd(12_000_000, '.') } } : outcome
    },
  })
  t.teardown(() => publications.close())
  const bytes = buildEpub({ files: { '/META-INF/container.xml': null } })
  const ids: string[] = []
  for (const name of ['a.epub', 'b.epub', 'c.epub'])
    ids.push((await addPagedBook(database, { folder, fileName: name, bytes, format: 'epub', pageSource: 'none', pages: [] })).id)
  // Each takes 24 MB of 64.
  for (const [at, counted] of [
    [0, 1],
    [1, 2],
    [2, 3],
    [2, 3],
    [0, 4],
  ] as const) {
    await t.rejects(publications.get({ caller, bookId: ids[at] as string }), { code: 'page_unreadable' })
    t.equal(count, counted, `book ${at}`)
  }
})

t.test('bytes in flight are limited, per user and in total', async (t) => {
  const { server, addFile } = await openReadingServer(t, readingRoutes, { inFlight: { bytesMax: 3_200_000, perUserMax: 2_200_000 } })
  const book = await addFile('Long.epub', longBook())
  const url = `${server.url}/api/v1/books/${book.id}/resource/OPS/film.mp4`
  const other = await server.signUp({ username: 'rita' })
  const slow = [await begin(url, server.adminToken), await begin(url, server.adminToken)]
  const status = async (token: string) => {
    const { response, request } = await begin(url, token)
    request.destroy()
    return { status: response.statusCode, retry: response.headers['retry-after'] }
  }
  t.same(await status(server.adminToken), { status: 503, retry: '2' }, 'a third of one person')
  const { request } = await begin(url, other.token)
  t.same(await status(other.token), { status: 503, retry: '2' }, 'the whole is taken')
  const head = await get(url, { method: 'HEAD', headers: { authorization: `Bearer ${server.adminToken}` } })
  t.equal(head.status, 200, 'HEAD reads nothing')
  for (const one of [request, ...slow.map((each) => each.request)]) one.destroy()
  await until(async () => (await status(server.adminToken)).status === 200)
})

t.test('HEAD returns declared sizes and reads nothing', async (t) => {
  const { server, addFile, counts } = await openReadingServer(t, readingRoutes)
  const book = await addFile('Novel.epub', buildNovel())
  const url = `${server.url}/api/v1/books/${book.id}/resource/OPS/text/c1.xhtml`
  for (const encoding of ['identity', 'gzip']) {
    const headers = { authorization: `Bearer ${server.adminToken}`, 'accept-encoding': encoding }
    const head = await get(url, { method: 'HEAD', headers })
    t.equal(counts.entries, encoding === 'identity' ? 0 : 1)
    const whole = await get(url, { headers })
    t.equal(head.headers['content-length'], String(whole.bytes.length))
    for (const name of ['etag', 'content-type', 'content-encoding', 'vary', 'accept-ranges', 'content-security-policy', 'cache-control'])
      t.same(head.headers[name], whole.headers[name], name)
  }
})

t.test('a file that changes while it is sent breaks the transfer and is logged', async (t) => {
  const lines: string[] = []
  const { server, addFile } = await openReadingServer(t, readingRoutes, {
    log: { ...silentLog, warn: (_: object, message: string) => lines.push(message) } as typeof silentLog,
  })
  const book = await addFile('Long.epub', longBook())
  const { response } = await begin(`${server.url}/api/v1/books/${book.id}/resource/OPS/film.mp4`, server.adminToken)
  t.match([response.statusCode, response.headers['content-length']], [200, String(LONG_BYTES)])
  const fd = openSync(book.path, 'r+')
  writeSync(fd, 'changed', LONG_BYTES - 1_000)
  closeSync(fd)
  utimesSync(book.path, 1, 1)
  await t.rejects(
    (async () => {
      for await (const _ of response);
    })(),
    /aborted|hang up|reset/i,
  )
  await until(async () => lines.length > 0)
  t.match(lines, [/A transfer was aborted/])
})

t.test('false declarations are problems, and no file is sent', async (t) => {
  const { server, addFile } = await openReadingServer(t, readingRoutes)
  const text = Buffer.from('body { color: red }'.repeat(50))
  const chapter = Buffer.from('<html xmlns="http://www.w3.org/1999/xhtml"><body>x</body></html>')
  const parts: ZipPart[] = [
    { name: 'mimetype', data: Buffer.from('application/epub+zip') },
    {
      name: 'META-INF/container.xml',
      data: Buffer.from(
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="a.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
      ),
    },
    {
      name: 'a.opf',
      data: Buffer.from(
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata/><manifest><item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="c"/></spine></package>',
      ),
    },
    { name: 'c.xhtml', data: chapter },
    { name: 'sum.css', data: text, method: 8, crc32: 1 },
    { name: 'size.css', data: text, method: 8, bytes: text.length + 5 },
    { name: 'kept.css', data: text, crc32: 1 },
    { name: 'locked.css', data: text, encrypted: true },
    { name: '../../up.css', data: text },
    { name: '/rooted.css', data: text },
    { name: 'win\\dows.css', data: text },
    { name: 'per%63ent.css', data: text },
    { name: 'twice.css', data: Buffer.from('old') },
    { name: 'twice.css', data: Buffer.from('new') },
  ]
  const book = await addFile('Lying.epub', buildZip(parts))
  const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    get(`${server.url}/api/v1/books/${book.id}/resource/${path}`, {
      method,
      headers: { authorization: `Bearer ${server.adminToken}`, ...headers },
    })
  for (const path of ['sum.css', 'size.css', 'kept.css', 'locked.css'])
    for (const encoding of ['gzip', 'identity']) {
      const answer = await ask(path, { 'accept-encoding': encoding })
      t.match([answer.status, JSON.parse(answer.bytes.toString()).error], [422, 'page_unreadable'], path)
      t.equal(answer.headers.etag, undefined)
    }
  t.equal((await ask('locked.css', {}, 'HEAD')).status, 422)
  for (const path of ['up.css', 'rooted.css', 'win/dows.css', 'per%2563ent.css']) t.same((await ask(path)).bytes, text, path)
  t.same((await ask('percent.css')).bytes, text, 'a name that is percent-encoded itself is found where no other has this one')
  t.equal((await ask('twice.css')).bytes.toString(), 'new')
})

t.test('no path leaves the archive of a book', async (t) => {
  const { server, addFile, database } = await openReadingServer(t, readingRoutes)
  const [open, hidden] = [await addFile('Open.epub', buildNovel()), await addFile('Hidden.epub', buildNovel())]
  const reader = await server.signUp({ username: 'rita' })
  const { series_id: seriesId } = await database('books').where({ id: hidden.id }).first('series_id')
  await shareSeries(database, { seriesId, caller: { userId: reader.id }, mode: 'deny' })
  const names = ['OPS', 'text', 'c1.xhtml', 'style.css', 'Novel.epub', 'META-INF', 'container.xml', 'etc', 'passwd', '..', '.', '']
  const pieces = fc.constantFrom(...names, '%2e%2e', '%2f', '%5c', '..%2f', '%00', '%', '%c0%ae', '..\\', 'Ａ', '\u202e', 'a'.repeat(300))
  const ids = fc.constantFrom(
    open.id,
    hidden.id,
    hidden.id.toUpperCase(),
    open.id.slice(1),
    `${open.id}%00`,
    '..',
    '00000000-0000-4000-8000-000000000000',
  )
  const known = new Set([...buildNovelContents()].map((bytes) => bytes.toString('base64')))
  await fc.assert(
    fc.asyncProperty(ids, fc.array(pieces, { maxLength: 6 }), fc.constantFrom('GET', 'HEAD'), async (id, path, method) => {
      const answer = await get(`${server.url}/api/v1/books/${id}/resource/${path.map((piece) => encodeLoose(piece)).join('/')}`, {
        method,
        headers: { authorization: `Bearer ${reader.token}` },
      })
      if (![200, 400, 404].includes(answer.status)) throw new Error(`${answer.status} for ${id} ${path.join('/')}`)
      if (answer.status !== 200) return
      if (id !== open.id) throw new Error(`${id} was answered`)
      if (!/script-src 'none'.*sandbox/.test(String(answer.headers['content-security-policy']))) throw new Error('without a policy')
      if (method === 'GET' && !known.has(answer.bytes.toString('base64'))) throw new Error(`something else was sent for ${path.join('/')}`)
    }),
    { numRuns: 200 },
  )
})

/** Keeps what is encoded already, and encodes characters that a URL may not contain. */
const encodeLoose = (piece: string) => piece.replace(/[^\x21-\x7e]/g, (character) => encodeURIComponent(character)).replaceAll('\\', '%5c')

function* buildNovelContents(): Generator<Buffer> {
  const folder = t.testdir()
  const path = `${folder}/novel.epub`
  const bytes = buildNovel()
  writeFileSync(path, bytes)
  const fd = openSync(path, 'r')
  const archive = new ZipArchive({ path, fd, bytes: bytes.length })
  for (const entry of archive.entries) yield Buffer.from(archive.read(entry, 10_000_000))
  closeSync(fd)
}

const corpus = findCorpus()
t.test('every file in the manifests of the corpus is sent as declared', async (t) => {
  const { server, addFile } = await openReadingServer(t, readingRoutes)
  const headers = { authorization: `Bearer ${server.adminToken}` }
  let count = 0
  const books = corpus.files.filter(({ path, format }) => format === 'epub' && path.startsWith('epub/'))
  for (const { path } of books) {
    const book = await addFile(path.slice('epub/'.length).replaceAll('/', '_'), readFileSync(corpus.folder + path))
    const base = `${server.url}/api/v1/books/${book.id}`
    const answer = await get(`${base}/manifest`, { headers })
    if (answer.headers['content-type'] !== 'application/webpub+json') continue
    const manifest: WebPublication = JSON.parse(answer.bytes.toString())
    const wrong: string[] = []
    for (const { href, type } of [...manifest.readingOrder, ...(manifest.resources ?? [])]) {
      if (!href.startsWith('resource/')) continue
      const { status, headers: sent, bytes } = await get(`${base}/${href}`, { headers })
      if (status !== 200 || sent['content-type'] !== type || String(bytes.length) !== sent['content-length'])
        wrong.push(`${href}: ${status}`)
      count++
    }
    t.same(wrong, [], path)
  }
  t.ok(count > (corpus.isOurs ? 2 : 100), `${count} files`)
})

t.test('a file of a book may not be received any more when the book is hidden', async (t) => {
  const { server, addFile } = await openReadingServer(t, readingRoutes)
  const { database, services } = server
  const { id } = await addFile('Novel.epub', buildEpub({ files: { 'film.mp4': 'film' } }))
  const caller = await addCaller(database)
  await setTestRule(database, { user_id: caller.userId }, { age: { mode: 'not_from', years: 18, unrated: 'show' } })
  const resource = await services.publications.getResource({ caller, bookId: id, path: 'OPS/film.mp4' })
  t.equal(await resource.isAllowed(), true)
  const { series_id } = await database('books').where({ id }).first('series_id')
  await rateSeries(database, series_id, 18)
  await until(async () => !(await resource.isAllowed()))
  t.pass('within a moment')
})
