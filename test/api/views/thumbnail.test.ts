import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { writeCover } from '#core/covers/book-cover-files.ts'
import { PLACEHOLDER_COVER } from '#core/covers/placeholder.ts'
import { openComposedServer } from '#test/support/composed-server.ts'
import { buildEpub } from '#test/support/epub-builder.ts'
import { enableKomga } from '#test/support/komga-switch.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { openLibraryServer } from '#test/support/library-server.ts'
import { jpegPage, makePicture } from '#test/support/pictures.ts'
import { ADMIN, get } from '#test/support/server.ts'
import { buildZip } from '#test/support/zip-builder.ts'
import { measurePicture } from '#workers/images/image.ts'

t.setTimeout(240_000)

t.test('what has no cover is shown as a placeholder in every interface, or refused', async (t) => {
  const { url, database, folder, adminToken } = await openComposedServer(t)
  await enableKomga(database)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Bare' })
  const id = await addBook(database, { library_id, series_id, title: 'Bare 1', page_source: 'none', page_count: 0 })
  const [collection] = await database('collections').insert({ name: 'Some' }, 'id')
  await database('collection_series').insert({ collection_id: collection.id, series_id, position: 0 })
  const [readList] = await database('read_lists').insert({ name: 'Some' }, 'id')
  await database('read_list_books').insert({ read_list_id: readList.id, book_id: id, position: 0 })
  const bearer = { authorization: `Bearer ${adminToken}` }
  const basic = { authorization: `Basic ${Buffer.from(`${ADMIN.username}:${ADMIN.password}`).toString('base64')}` }
  const covers: [path: string, headers: Record<string, string>][] = [
    [`/api/v1/books/${id}/thumbnail`, bearer],
    [`/api/v1/series/${series_id}/thumbnail`, bearer],
    [`/api/v1/collections/${collection.id}/thumbnail`, bearer],
    [`/api/v1/read-lists/${readList.id}/thumbnail`, bearer],
    ...['', '?size=small', '?size=medium', '?size=large'].map((size): [string, typeof basic] => [`/opds/books/${id}/cover${size}`, basic]),
    [`/opds/series/${series_id}/cover`, basic],
    [`/opds/v2/books/${id}/thumbnail`, basic],
    [`/komga/api/v1/books/${id}/thumbnail`, basic],
    [`/komga/api/v1/series/${series_id}/thumbnail`, basic],
    [`/komga/api/v1/collections/${collection.id}/thumbnail`, basic],
    [`/komga/api/v1/readlists/${readList.id}/thumbnail`, basic],
    [`/komga/api/v1/libraries/${library_id}/thumbnail`, basic],
  ]
  const isPlaceholder = { 'content-type': 'image/jpeg', 'cache-control': 'private, max-age=60' }
  for (const [path, headers] of covers) {
    const answer = await get(url + path, { headers })
    t.match([answer.status, answer.headers], [200, isPlaceholder], path)
    t.ok(answer.bytes.equals(PLACEHOLDER_COVER), path)
    const again = await get(url + path, { headers: { ...headers, 'if-none-match': String(answer.headers.etag) } })
    t.same([again.status, again.bytes.length], [304, 0], path)
    const refused = await get(`${url}${path}${path.includes('?') ? '&' : '?'}placeholder=false`, { headers })
    t.match([refused.status, refused.headers['content-type']], [404, /^application\/json/], path)
    const head = await get(url + path, { headers, method: 'HEAD' })
    t.same([head.status, head.headers['content-length']], [200, String(PLACEHOLDER_COVER.length)], path)
  }
  const cover_hash = await writeCover(folder, id, await makePicture({ width: 30, height: 40 }))
  await database('books').where({ id }).update({ cover_hash })
  for (const [path, headers] of covers) {
    const answer = await get(`${url}${path}${path.includes('?') ? '&' : '?'}placeholder=false`, { headers })
    t.match([answer.status, answer.headers], [200, { 'content-type': 'image/jpeg', 'cache-control': /^private/ }], path)
    t.not(answer.headers['cache-control'], 'private, max-age=60', path)
    t.notOk(answer.bytes.equals(PLACEHOLDER_COVER), path)
  }
})

/** A comic of wide pages, in a series whose language is known, and a text with a small cover. */
const openSizes = async (t: Test) => {
  const info = '<ComicInfo><Series>Saga</Series><Number>1.5</Number><LanguageISO>de</LanguageISO></ComicInfo>'
  const page = await jpegPage({ width: 1000, height: 1500 })
  const comic = buildZip([
    { name: 'ComicInfo.xml', data: Buffer.from(info) },
    ...['1', '2'].map((name) => ({ name: `${name}.jpg`, data: page })),
  ])
  const server = await openLibraryServer(t, { 'Saga/Saga 1.5.cbz': comic })
  const [book] = await server.database('books').select('id', 'series_id', 'cover_hash')
  const bearer = { authorization: `Bearer ${server.adminToken}` }
  const look = (path: string, headers: Record<string, string> = {}) =>
    get(`${server.url}/api/v1/${path}`, { headers: { ...bearer, ...headers } })
  return { ...server, book, look }
}
/** What Chromium sends for a picture. */
const BROWSER = { accept: 'image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8' }
const IMMUTABLE = 'private, max-age=31536000, immutable'

t.test('books, series and shelves say version, size and color of their cover, and books their number as text', async (t) => {
  const { ask, book, database } = await openSizes(t)
  const [collection, readList] = [
    await ask('POST', 'collections', { name: 'A', seriesIds: [book.series_id] }),
    await ask('POST', 'read-lists', { name: 'A', bookIds: [book.id] }),
  ]
  const cover = { version: book.cover_hash.slice(0, 16), width: 267, height: 400, color: /^#[0-9a-f]{6}$/ }
  t.match(await ask('GET', `books/${book.id}`), { json: { book: { cover, number: 1, numberLabel: '1.5', language: 'de' } } })
  t.match(await ask('GET', 'books'), { json: { data: [{ cover, numberLabel: '1.5', language: 'de' }] } })
  t.match(await ask('GET', `series/${book.series_id}`), { json: { cover, language: 'de' } })
  t.match(await ask('GET', 'series'), { json: { data: [{ cover, language: 'de' }] } })
  for (const [path, { json }] of [
    ['collections', collection],
    ['read-lists', readList],
  ] as const) {
    t.match(json, { cover }, path)
    t.match(await ask('GET', path), { json: { data: [{ cover }] } }, path)
    t.match(await ask('GET', `${path}/${json['id']}`), { json: { cover } }, path)
  }
  await database('book_metadata').update({ language_iso: null })
  t.match(await ask('GET', `books/${book.id}`), { json: { book: { language: 'de' } } }, 'of its series')
  await database('series_metadata').update({ language: 'no language at all' })
  t.match(await ask('GET', `books/${book.id}`), { json: { book: { language: null } } })
  t.match(await ask('GET', `series/${book.series_id}`), { json: { language: null } })
  await database('books').update({ cover_hash: null })
  t.match(await ask('GET', `books/${book.id}`), { json: { book: { cover: null } } })
  for (const path of [`series/${book.series_id}`, `collections/${collection.json['id']}`, `read-lists/${readList.json['id']}`])
    t.match(await ask('GET', path), { json: { cover: null } }, path)
})

t.test('a cover has four widths, WebP for those who name it, and never changes under its version', async (t) => {
  const { ask, book, look } = await openSizes(t)
  const { json: collection } = await ask('POST', 'collections', { name: 'A', seriesIds: [book.series_id] })
  const { json: readList } = await ask('POST', 'read-lists', { name: 'A', bookIds: [book.id] })
  const v = book.cover_hash.slice(0, 16)
  const paths = [`books/${book.id}`, `series/${book.series_id}`, `collections/${collection['id']}`, `read-lists/${readList['id']}`]
  for (const path of paths.map((one) => `${one}/thumbnail`)) {
    for (const width of [160, 240, 320, 480]) {
      const webp = await look(`${path}?width=${width}&v=${v}`, BROWSER)
      t.match([webp.status, webp.headers], [200, { 'content-type': 'image/webp', vary: /Accept/, 'cache-control': IMMUTABLE }], path)
      t.match(measurePicture(webp.bytes), { mediaType: 'image/webp', width, height: width * 1.5 }, path)
      const same = await look(`${path}?width=${width}&v=${v}`, { ...BROWSER, 'if-none-match': String(webp.headers.etag) })
      t.equal(same.status, 304, path)
      const jpeg = await look(`${path}?width=${width}&v=older`, { accept: '*/*', 'if-none-match': String(webp.headers.etag) })
      t.match(
        [jpeg.status, jpeg.headers],
        [200, { 'content-type': 'image/jpeg', vary: /Accept/, 'cache-control': 'private, max-age=600' }],
        path,
      )
      t.match(measurePicture(jpeg.bytes), { width }, path)
    }
    const small = await look(path, BROWSER)
    t.match([small.status, small.headers], [200, { 'content-type': 'image/jpeg', 'cache-control': 'private, max-age=600' }], path)
    t.notMatch(small.headers.vary ?? '', /accept\b(?!-)/i, path)
    t.match(measurePicture(small.bytes), { width: 267, height: 400 }, path)
    t.match((await look(`${path}?v=${v}`)).headers, { 'cache-control': IMMUTABLE }, path)
    t.equal((await look(`${path}?width=200`)).status, 400, path)
  }
})

t.test('a wide cover comes from the chosen picture, and from the stored one while the file is gone', async (t) => {
  const { book, look, ask, database, root, adminToken, url } = await openSizes(t)
  const path = `books/${book.id}/thumbnail`
  const v = book.cover_hash.slice(0, 16)
  rmSync(join(root, 'Saga/Saga 1.5.cbz'))
  const soft = await look(`${path}?width=480&v=${v}`, BROWSER)
  t.match([soft.status, soft.headers], [200, { 'content-type': 'image/webp', 'cache-control': 'private, max-age=600' }])
  t.match(measurePicture(soft.bytes), { width: 267 })
  t.match((await look(`${path}?width=160&v=${v}`, BROWSER)).headers, { 'content-type': 'image/webp', 'cache-control': IMMUTABLE })

  const form = new FormData()
  form.set('file', new Blob([Uint8Array.from(await jpegPage({ width: 900, height: 900 }))]), 'cover.jpg')
  const uploaded = await fetch(`${url}/api/v1/books/${book.id}/cover`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}` },
    body: form,
  })
  t.equal(uploaded.status, 200)
  const { hash } = await database('covers').first('hash')
  t.match(await ask('GET', `books/${book.id}`), {
    json: { book: { cover: { version: hash.slice(0, 16), width: 900, height: 900, color: /^#/ } } },
  })
  const chosen = await look(`${path}?width=480&v=${hash.slice(0, 16)}`, BROWSER)
  t.match(chosen.headers, { 'content-type': 'image/webp', 'cache-control': IMMUTABLE })
  t.match(measurePicture(chosen.bytes), { width: 480, height: 480 })
  t.match(
    (await look(`${path}?width=480&v=${v}`, BROWSER)).headers,
    { 'cache-control': 'private, max-age=600' },
    'the version of the cover before',
  )
  t.match(await ask('GET', `series/${book.series_id}`), { json: { cover: { version: hash.slice(0, 16) } } }, 'that of its first book')
})

t.test('a wide cover that shows no page of the book is drawn from its file', async (t) => {
  const picture = await jpegPage({ width: 800, height: 1200 })
  const manifest =
    '<item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/><item id="cover" href="cover.jpg" media-type="image/jpeg" properties="cover-image"/>'
  const { database, url, adminToken, root } = await openLibraryServer(t, {
    'Text 1.epub': buildEpub({ manifest, files: { 'cover.jpg': picture } }),
  })
  const [book] = await database('books').select('id', 'cover_hash', 'cover_page')
  t.equal(book.cover_page, null)
  const headers = { ...BROWSER, authorization: `Bearer ${adminToken}` }
  const look = (width: number) =>
    get(`${url}/api/v1/books/${book.id}/thumbnail?width=${width}&v=${book.cover_hash.slice(0, 16)}`, { headers })
  for (const width of [320, 480]) {
    const wide = await look(width)
    t.match([wide.status, wide.headers], [200, { 'content-type': 'image/webp', 'cache-control': IMMUTABLE }])
    t.match(measurePicture(wide.bytes), { width, height: width * 1.5 })
  }
  rmSync(join(root, 'Text 1.epub'))
  t.match((await look(480)).headers, { 'cache-control': IMMUTABLE }, 'what was drawn is kept')
})
