import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { koreaderRoutes } from '#api/koreader/routes.ts'
import { progressRoutes } from '#api/rest/reading/progress.ts'
import { readingRoutes } from '#api/rest/reading/reading.ts'
import { changeSettings } from '#core/settings/chosen-setting-store.ts'
import { openProtocols } from '#test/support/composed-server.ts'
import { buildComicEpub } from '#test/support/epub-builder.ts'
import { shareSeries } from '#test/support/library-rows.ts'
import { noisePicture } from '#test/support/paged-books.ts'
import { buildPdf } from '#test/support/pdf-builder.ts'
import { buildNovel, openReadingServer } from '#test/support/readable-books.ts'
import { openTestServer, testSettings } from '#test/support/server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

t.setTimeout(240_000)

/**
 * The name that KOReader gives a file: an MD5 of a kilobyte at 0, 1 K, 4 K, 16 K and so on, each as long as the file has it. Written down here a second time,
 * from what the e-reader does.
 */
function documentOf(path: string): string {
  const bytes = readFileSync(path)
  const hash = createHash('md5')
  for (const at of [0, ...Array.from({ length: 11 }, (_, power) => 1024 * 4 ** power)]) {
    if (at >= bytes.length) break
    hash.update(bytes.subarray(at, at + 1024))
  }
  return hash.digest('hex')
}

async function openShelf(t: Test) {
  const shelf = await openReadingServer(t, [...koreaderRoutes, ...progressRoutes, ...readingRoutes])
  const { server, database } = shelf
  const { id: userId, token } = await server.signUp({ username: 'rita' })
  const caller = (await server.accounts.callers.ofToken(token, 'token')) as NonNullable<
    Awaited<ReturnType<typeof server.accounts.callers.ofToken>>
  >
  const { key } = await server.accounts.createApiKey({ name: 'KOReader' }, caller)
  const open = (value: string) =>
    changeSettings(database, [{ key: 'readerSync.enabled', value }], { userId: server.adminId, reason: null, address: '127.0.0.1' })
  /** As the plugin asks: these headers, and nothing of ours. */
  const plugin = async (method: string, path: string, body?: object, user = key) => {
    const answer = await fetch(`${server.url}/koreader${path}`, {
      method,
      headers: {
        accept: 'application/vnd.koreader.v1+json',
        ...(user !== '' && { 'x-auth-user': user, 'x-auth-key': createHash('md5').update('anything').digest('hex') }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, json: JSON.parse(text) as Record<string, unknown> }
  }
  const own = (method: string, path: string, body?: object) =>
    server.request<Record<string, unknown>>(method, `/api/v1/books/${path}`, { token, ...(body && { body }) })
  return { ...shelf, userId, plugin, own, open }
}

const told = (document: string, progress: string | number, percentage: number) => ({
  ...{ document, progress, percentage, device: 'Kobo_nova', device_id: 'B0C4' },
})

/** What the plugin decodes, and nothing it does not expect. */
function checkPlace(t: Test, json: Record<string, unknown>) {
  t.same(Object.keys(json).sort(), ['device', 'device_id', 'document', 'percentage', 'progress', 'timestamp'])
  t.match(json, { document: String, progress: String, percentage: Number, device: String, device_id: String, timestamp: Number })
  t.ok(Number.isInteger(json['timestamp']) && Math.abs((json['timestamp'] as number) - Date.now() / 1000) < 60)
}

t.test('off, it is not there', async (t) => {
  const { plugin, open } = await openShelf(t)
  for (const [method, path] of [
    ['POST', '/users/create'],
    ['GET', '/users/auth'],
    ['PUT', '/syncs/progress'],
    ['GET', '/x'],
  ] as const)
    t.match(await plugin(method, path), { status: 404, json: { error: 'not_found' } }, path)
  await open('true')
  t.same(await plugin('GET', '/users/auth'), { status: 200, json: { authorized: 'OK' } })
  await open('false')
  t.equal((await plugin('GET', '/users/auth')).status, 404, 'switched off at once')
})

t.test('a reader signs in with an API key', async (t) => {
  const { plugin, open, server } = await openShelf(t)
  await open('true')
  t.match(await plugin('POST', '/users/create', { username: 'rita', password: 'x' }, ''), {
    status: 403,
    json: { code: 2005, message: /API key/ },
  })
  for (const user of ['', 'rita', 'carrel_0123456789_nothing'])
    t.match(await plugin('GET', '/users/auth', undefined, user), { status: 401, json: { code: 2001, message: String } }, `as "${user}"`)
  t.match(await plugin('GET', '/nothing'), { status: 404, json: { code: 2004, message: String } })
  t.equal((await server.request('GET', '/api/v1/books/x/progress', { headers: { 'x-auth-user': 'x' } })).status, 401, 'nowhere else')
})

t.test('a comic, there and back', async (t) => {
  const { plugin, own, open, addFile } = await openShelf(t)
  await open('true')
  const pictures = await Promise.all(Array.from({ length: 4 }, () => noisePicture({ width: 60, height: 90 })))
  const book = await addFile('Comic.cbz', buildZip(pictures.map((data, index) => ({ name: `${index + 1}.jpg`, data }))))
  const document = documentOf(book.path)
  t.equal(book.readerHash, document)
  t.same(await plugin('GET', `/syncs/progress/${document}`), { status: 200, json: {} }, 'not begun')
  const put = await plugin('PUT', '/syncs/progress', { ...told(document, 2, 0.5), metadata: { title: 'Comic' } })
  t.match(put, { status: 200, json: { document, timestamp: Number } })
  t.match((await own('GET', `${book.id}/progress`)).json, { currentPage: 2, progressPercentage: 0.5, completed: false })
  const got = await plugin('GET', `/syncs/progress/${document}`)
  checkPlace(t, got.json)
  t.match(got.json, { progress: '2', percentage: 0.5, device: 'Kobo_nova', device_id: 'B0C4' })
  await own('PUT', `${book.id}/progress`, { currentPage: 3 })
  const here = await plugin('GET', `/syncs/progress/${document.toUpperCase()}`)
  t.match(here.json, { progress: '3', percentage: 0.75, device: 'Carrel' })
  await plugin('PUT', '/syncs/progress', told(document, '4', 1))
  t.match((await own('GET', `${book.id}/progress`)).json, { completed: true })
})

t.test('a text, there and back', async (t) => {
  const { plugin, own, open, addFile } = await openShelf(t)
  await open('true')
  const book = await addFile('Novel.epub', buildNovel())
  const document = documentOf(book.path)
  t.equal(book.readerHash, document)
  const xpointer = '/body/DocFragment[2]/body/p[1]/text().7'
  t.equal((await plugin('PUT', '/syncs/progress', told(document, xpointer, 0.85))).status, 200)
  const { json } = await own('GET', `${book.id}/progression`)
  t.match(json, { locator: { href: 'resource/OPS/text/c%202.xhtml', locations: { totalProgression: 0.85 } } }, 'in the part that was told')
  t.match((await plugin('GET', `/syncs/progress/${document}`)).json, { progress: xpointer, percentage: 0.85 })
  // A page report of the same place keeps the words of the e-reader.
  const { json: at } = await own('GET', `${book.id}/progress`)
  await own('PUT', `${book.id}/progress`, { currentPage: at['currentPage'] as number, progressPercentage: 0.85 })
  t.match((await plugin('GET', `/syncs/progress/${document}`)).json, { progress: xpointer })
  const locator = { href: 'resource/OPS/text/c3.xhtml', type: 'application/xhtml+xml', locations: { progression: 0 } }
  const device = { id: 'urn:web', name: 'Web' }
  t.equal((await own('PUT', `${book.id}/progression`, { modified: new Date().toISOString(), device, locator })).status, 204)
  const here = await plugin('GET', `/syncs/progress/${document}`)
  checkPlace(t, here.json)
  t.match(here.json, { progress: '/body/DocFragment[3].0', device: 'Web', device_id: 'urn:web' })
})

t.test('copies are one book; hidden and deleted ones are none', async (t) => {
  const { plugin, own, open, addFile, database, userId } = await openShelf(t)
  await open('true')
  const picture = await noisePicture({ width: 60, height: 90 })
  const pages = ['1.jpg', '2.jpg', '3.jpg'].map((name) => ({ name, data: picture }))
  const first = await addFile('One.cbz', buildZip(pages))
  const second = await addFile('Two.cbz', buildZip(pages))
  const document = documentOf(first.path)
  t.equal(second.readerHash, document)
  const hidden = await addFile('Hidden.cbz', buildZip(pages))
  const { series_id: seriesId } = await database('books').where({ id: hidden.id }).first('series_id')
  await shareSeries(database, { seriesId, caller: { userId }, mode: 'deny' })
  t.equal((await plugin('PUT', '/syncs/progress', told(document, 1, 0.4))).status, 200)
  for (const { id } of [first, second]) t.match((await own('GET', `${id}/progress`)).json, { currentPage: 1, progressPercentage: 0.4 })
  t.equal((await database('read_progress').where({ book_id: hidden.id })).length, 0)
  await database('read_progress')
    .where({ book_id: first.id })
    .update({ percentage: 0.9, sync_place: null, updated_at: new Date(Date.now() + 1000) })
  t.match((await plugin('GET', `/syncs/progress/${document}`)).json, { percentage: 0.9 }, 'the newest')
  await database('books').whereIn('id', [first.id, second.id]).update({ deleted_at: new Date() })
  const unknown = await plugin('GET', `/syncs/progress/${'0'.repeat(32)}`)
  t.match(unknown, { status: 404, json: { code: 2004, message: String } })
  const normal = ({ status, json }: typeof unknown) => [status, json['code'], json['message']]
  t.same(normal(await plugin('GET', `/syncs/progress/${document}`)), normal(unknown), 'hidden and deleted are as unknown ones')
  t.same(normal(await plugin('PUT', '/syncs/progress', told(document, 1, 0.4))), normal(unknown))
})

t.test('pages and parts lead to each other, in comics, PDFs, and EPUBs made of pictures', async (t) => {
  const { plugin, own, open, addFile } = await openShelf(t)
  await open('true')
  const pictures = await Promise.all(Array.from({ length: 10 }, () => noisePicture({ width: 40, height: 60 })))
  const files: [name: string, bytes: Uint8Array, words: (page: number) => string][] = [
    ['Comic.cbz', buildZip(pictures.map((data, index) => ({ name: `${index + 1}.jpg`, data }))), String],
    ['Paper.pdf', buildPdf({ pages: Array.from({ length: 10 }, (_, index) => ({ text: String(index) })) }), String],
    [
      'Pictures.epub',
      buildComicEpub(pictures.map((bytes, index) => ({ name: `${index + 1}.jpg`, bytes }))),
      (page) => `/body/DocFragment[${page}].0`,
    ],
  ]
  for (const [name, bytes, words] of files) {
    const book = await addFile(name, bytes)
    const document = documentOf(book.path)
    t.equal(book.pageCount, 10, name)
    const there = async () => (await plugin('GET', `/syncs/progress/${document}`)).json
    for (let page = 1; page <= 10; page++) {
      await plugin('PUT', '/syncs/progress', told(document, words(page), page / 10))
      t.match((await own('GET', `${book.id}/progress`)).json, { currentPage: page, completed: page === 10 }, `${name}: ${page} told there`)
      t.match((await own('GET', `${book.id}/progression`)).json, { locator: { locations: { position: page } } })
      await own('PUT', `${book.id}/progress`, { currentPage: 11 - page })
      const place = await there()
      checkPlace(t, place)
      t.match(place, { progress: words(11 - page), percentage: (11 - page) / 10, device: 'Carrel' }, `${name}: ${11 - page} told here`)
    }
    await plugin('PUT', '/syncs/progress', told(document, 'no such words', 0.7))
    t.match((await own('GET', `${book.id}/progress`)).json, { currentPage: 7 }, `${name}: from the percentage`)
    const locator = { href: 'x', type: 'image/jpeg', locations: { totalProgression: 0.29 } }
    const device = { id: 'urn:web', name: 'Web' }
    t.equal((await own('PUT', `${book.id}/progression`, { modified: new Date().toISOString(), device, locator })).status, 204)
    t.match(await there(), { progress: words(3), percentage: 0.29, device: 'Web' }, `${name}: a progression`)
    await own('POST', `${book.id}/read`)
    t.match(await there(), { progress: words(10), percentage: 1 }, `${name}: marked as read`)
    await own('POST', `${book.id}/unread`)
    t.same(await there(), {}, `${name}: forgotten`)
  }
})

t.test('of copies the newest place counts, by whichever way and of whichever copy it was told', async (t) => {
  const { plugin, own, open, addFile, database } = await openShelf(t)
  await open('true')
  const picture = await noisePicture({ width: 60, height: 90 })
  const pages = ['1.jpg', '2.jpg', '3.jpg', '4.jpg'].map((name) => ({ name, data: picture }))
  const first = await addFile('One.cbz', buildZip(pages))
  const second = await addFile('Two.cbz', buildZip(pages))
  const document = documentOf(first.path)
  await own('PUT', `${first.id}/progress`, { currentPage: 1 })
  await own('PUT', `${second.id}/progress`, { currentPage: 3 })
  t.match((await plugin('GET', `/syncs/progress/${document}`)).json, { progress: '3', percentage: 0.75 }, 'one file, twice')
  await own('PUT', `${first.id}/progress`, { currentPage: 2 })
  t.match((await plugin('GET', `/syncs/progress/${document}`)).json, { progress: '2', percentage: 0.5 })
  await plugin('PUT', '/syncs/progress', told(document, '4', 1))
  for (const { id } of [first, second]) t.match((await own('GET', `${id}/progress`)).json, { currentPage: 4, completed: true })
  await database('books').where({ id: second.id }).update({ deleted_at: new Date() })
  await plugin('PUT', '/syncs/progress', told(document, '1', 0.25))
  t.match((await own('GET', `${first.id}/progress`)).json, { currentPage: 1 })
  t.match((await own('GET', `${second.id}/progress`)).json, { currentPage: 4 }, 'one that has gone is no copy')
  const { rows } = await database.raw(`SELECT 1 FROM pg_indexes WHERE tablename = 'books' AND indexdef LIKE '%(reader_hash)%'`)
  t.equal(rows.length, 1, 'files are found by an index')
})

t.test('hashes of nothing are the names of no book', async (t) => {
  const { plugin, open, addFile, database } = await openShelf(t)
  await open('true')
  const picture = await noisePicture({ width: 60, height: 90 })
  // One after the other: the first makes the library.
  const books = [
    await addFile('One.cbz', buildZip([{ name: '1.jpg', data: picture }])),
    await addFile('Two.cbz', buildZip([{ name: '1.jpg', data: picture }])),
  ]
  const ids = books.map(({ id }) => id)
  const ofNothing = createHash('md5').digest('hex')
  await database('books').whereIn('id', ids).update({ reader_hash: ofNothing, file_size: 0, state: 'failed' })
  const isUnknown = { status: 404, json: { code: 2004, message: String } }
  for (const document of [ofNothing, '0'.repeat(32), 'null', 'undefined', 'none', '%20']) {
    t.match(await plugin('GET', `/syncs/progress/${document}`), isUnknown, document)
    t.match(await plugin('PUT', '/syncs/progress', told(decodeURIComponent(document), '1', 1)), { json: { code: Number } }, document)
  }
  await database('books').whereIn('id', ids).update({ reader_hash: null })
  for (const document of ['null', 'NULL', '\\N'])
    t.match(await plugin('PUT', '/syncs/progress', told(document, '1', 1)), isUnknown, document)
  t.equal((await database('read_progress')).length, 0, 'nothing was written anywhere')
})

t.test('a key may do no more than it was allowed, and nothing once it was revoked', async (t) => {
  const { plugin, open, server, addFile } = await openShelf(t)
  await open('true')
  const picture = await noisePicture({ width: 60, height: 90 })
  const document = documentOf((await addFile('One.cbz', buildZip([{ name: '1.jpg', data: picture }]))).path)
  const caller = (await server.accounts.callers.ofToken(server.adminToken, 'token')) as Parameters<typeof server.accounts.createApiKey>[1]
  const { key: narrow } = await server.accounts.createApiKey({ name: 'Other things', permissions: ['libraries-read'] }, caller)
  t.match(await plugin('GET', '/users/auth', undefined, narrow), { status: 403, json: { code: 2005, message: String } })
  t.match(await plugin('PUT', '/syncs/progress', told(document, '1', 1), narrow), { status: 403, json: { code: 2005 } })
  const { key, id } = await server.accounts.createApiKey({ name: 'E-reader' }, caller)
  t.equal((await plugin('PUT', '/syncs/progress', told(document, '1', 1), key)).status, 200)
  await server.accounts.removeApiKey(id, caller)
  t.match(await plugin('GET', '/users/auth', undefined, key), { status: 401, json: { code: 2001 } })
})

t.test('what KOReader cannot send is refused', async (t) => {
  const { plugin, open } = await openShelf(t)
  await open('true')
  const document = 'a'.repeat(32)
  const bad: object[] = [
    {},
    { document },
    told(document, 1, 1.1),
    told(document, 1, -0.1),
    told('', 1, 0.5),
    told('x'.repeat(65), 1, 0.5),
    told(document, 'x'.repeat(4_001), 0.5),
    told(document, 1e308, 0.5),
    { ...told(document, 1, 0.5), device: 5 },
    { ...told(document, 1, 0.5), device_id: 'x'.repeat(201) },
  ]
  for (const body of bad)
    t.match(await plugin('PUT', '/syncs/progress', body), { status: 400, json: { code: 2003 } }, JSON.stringify(body).slice(0, 80))
  for (const name of ['%00', '%ff', '..%2f..', 'x'.repeat(65)]) {
    const { status, json } = await plugin('GET', `/syncs/progress/${name}`)
    t.ok([400, 404].includes(status) && typeof json['message'] === 'string', name)
  }
  t.equal((await plugin('GET', '/syncs/progress/')).status, 405, 'the same as without the slash')
})

t.test('whoever guesses API keys is slowed down, and whoever has a good one is not', async (t) => {
  const server = await openTestServer(t, {
    settings: { rateLimit: { ...testSettings().rateLimit, enabled: true, anonymous: { perSecond: 0.01, burst: 10 } } },
  })
  const caller = await server.accounts.callers.ofToken(server.adminToken, 'token')
  const { key } = await server.accounts.createApiKey({ name: 'KOReader' }, caller as NonNullable<typeof caller>)
  await openProtocols(server.database)
  const ask = (user: string) => server.request('GET', '/koreader/users/auth', { headers: { 'x-auth-user': user, 'x-auth-key': 'x' } })
  t.equal((await ask(key)).status, 200)
  // With another digit before the number, which might be the end of the key itself.
  const start = `${key.slice(0, -5)}${key.at(-5) === '0' ? '1' : '0'}`
  const wrong = (index: number) => `${start}${index.toString(16).padStart(4, '0')}`
  const guesses: number[] = []
  for (let index = 0; index < 40; index++)
    guesses.push((await ask(`carrel_${index.toString(16).padStart(16, '0')}_${'0'.repeat(64)}`)).status)
  t.equal(guesses[0], 401)
  t.equal(guesses.at(-1), 429, 'a stranger')
  t.ok(guesses.filter((status) => status === 401).length <= 20)
  t.equal((await ask(key)).status, 200, 'the e-reader behind the same address goes on')
  const near: number[] = []
  for (let index = 0; index < 40; index++) near.push((await ask(wrong(index))).status)
  t.notOk(near.includes(200), 'one that begins like a good one')
  t.ok(
    near.slice(20).every((status) => status === 429),
    String(near),
  )
})
