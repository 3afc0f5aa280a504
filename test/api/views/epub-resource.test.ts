import t from 'tap'
import { readingRoutes } from '#api/rest/reading/reading.ts'
import { buildEpub, textPage } from '#test/support/epub-builder.ts'
import { shareSeries } from '#test/support/library-rows.ts'
import { findDangers } from '#test/support/markup-check.ts'
import { buildNovel, openReadingServer } from '#test/support/readable-books.ts'
import { get } from '#test/support/server.ts'

t.setTimeout(120_000)

const CLEAN_POLICY = /script-src 'none'.*frame-ancestors 'self'; frame-src 'none'; sandbox allow-same-origin allow-scripts$/
const DOCUMENT_POLICY = /script-src 'none'.*frame-ancestors 'none'; frame-src 'self'; sandbox allow-same-origin$/
const FILE_POLICY = /script-src 'none'.*frame-ancestors 'self'; frame-src 'self'; sandbox allow-same-origin$/
const HOSTILE =
  '<html xmlns="http://www.w3.org/1999/xhtml"><head><link rel="preconnect" href="//stranger"/><base href="//stranger"/></head>' +
  '<body onload="x"><script>x</script><p>Text</p><svg xmlns="http://www.w3.org/2000/svg"><script>x</script></svg></body></html>'

t.test('documents of every media type are cleaned on request, and in no frame otherwise; other files are sent as they are', async (t) => {
  const { server, addFile } = await openReadingServer(t, readingRoutes)
  const types: [extension: string, mediaType: string][] = [
    ['xhtml', 'application/xhtml+xml'],
    ['html', 'text/html'],
    ['oeb', 'text/x-oeb1-document'],
    ['dtbook', 'application/x-dtbook+xml'],
    ['svg', 'image/svg+xml'],
    ['xml', 'application/xml'],
    ['txml', 'text/xml'],
    ['mathml', 'application/mathml+xml'],
    ['smil', 'application/smil+xml'],
    ['ttml', 'application/ttml+xml'],
    ['ncx', 'application/x-dtbncx+xml'],
    ['opf', 'application/oebps-package+xml'],
    ['pls', 'application/pls+xml'],
    ['css', 'text/css'],
    ['txt', 'text/plain'],
    ['png', 'image/png'],
    ['vtt', 'text/vtt'],
    ['woff2', 'font/woff2'],
    ['js', 'text/javascript'],
    ['bin', 'application/pdf'],
  ]
  const book = await addFile(
    'Hostile.epub',
    buildEpub({
      manifest:
        '<item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/>' +
        types.map(([extension, type]) => `<item id="${extension}" href="x.${extension}" media-type="${type}"/>`).join(''),
      files: Object.fromEntries(types.map(([extension]) => [`x.${extension}`, HOSTILE])),
    }),
  )
  const headers = { authorization: `Bearer ${server.adminToken}` }
  const base = `${server.url}/api/v1/books/${book.id}/resource/OPS`
  for (const [extension, type] of types) {
    const isDocument = /html|oeb1|[+/]xml$/.test(type)
    const plain = await get(`${base}/x.${extension}`, { headers })
    t.match([plain.status, plain.headers['content-security-policy']], [200, isDocument ? DOCUMENT_POLICY : FILE_POLICY], type)
    t.equal(plain.bytes.toString(), HOSTILE, type)
    const clean = await get(`${base}/x.${extension}?clean=true`, { headers })
    if (isDocument) {
      t.match([clean.status, clean.headers['content-security-policy']], [200, CLEAN_POLICY], type)
      t.equal(clean.headers['content-type'], /html|oeb1/.test(type) ? 'application/xhtml+xml' : type)
      t.match(clean.headers, { 'x-dns-prefetch-control': 'off', 'x-content-type-options': 'nosniff' })
      t.same(findDangers(clean.bytes), [], type)
      t.match(clean.bytes.toString(), '<p>Text</p>', type)
      t.not(clean.headers.etag, plain.headers.etag)
    } else t.same([clean.bytes, clean.headers], [plain.bytes, { ...plain.headers, ...clean.headers }], type)
  }
  t.match((await get(`${base}/x.svg?clean=false`, { headers })).headers['content-security-policy'], DOCUMENT_POLICY)
  t.equal((await get(`${base}/x.svg?clean=yes`, { headers })).status, 400)
})

t.test('a drawing in the reading order of a text that flows is a page with a body, and elsewhere stays a drawing', async (t) => {
  const { server, addFile } = await openReadingServer(t, readingRoutes)
  const drawing = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2 3"></svg>'
  const recipe = {
    manifest:
      '<item id="cover" href="cover.svg" media-type="image/svg+xml"/><item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/>' +
      '<item id="map" href="map.svg" media-type="image/svg+xml"/>',
    spine: '<itemref idref="cover"/><itemref idref="c1"/>',
    files: { 'cover.svg': drawing, 'map.svg': drawing },
  }
  const fixed = '<dc:title>Fixed</dc:title><meta property="rendition:layout">pre-paginated</meta>'
  const flowing = await addFile('Flowing.epub', buildEpub(recipe))
  const pages = await addFile('Pages.epub', buildEpub({ ...recipe, metadata: fixed }))
  const ask = async (bookId: string, path: string) => {
    const headers = { authorization: `Bearer ${server.adminToken}` }
    const answer = await get(`${server.url}/api/v1/books/${bookId}/resource/OPS/${path}?clean=true`, { headers })
    return [answer.status, answer.headers['content-type'], answer.bytes.toString()]
  }
  const wrapped = `<html xmlns="http://www.w3.org/1999/xhtml"><head><title></title></head><body>${drawing}</body></html>`
  t.same(await ask(flowing.id, 'cover.svg'), [200, 'application/xhtml+xml', wrapped])
  t.same(await ask(flowing.id, 'map.svg'), [200, 'image/svg+xml', drawing])
  t.same(await ask(pages.id, 'cover.svg'), [200, 'image/svg+xml', drawing])
})

t.test('a cleaned chapter is cached as the plain one', async (t) => {
  const { server, addFile, counts, database } = await openReadingServer(t, readingRoutes)
  const book = await addFile('Novel.epub', buildNovel())
  const { file_hash: hash } = await database('books').where({ id: book.id }).first('file_hash')
  const headers = { authorization: `Bearer ${server.adminToken}` }
  const url = `${server.url}/api/v1/books/${book.id}/resource/OPS/text/c%202.xhtml?clean=true`
  const first = await get(url, { headers })
  t.match([first.status, first.headers['cache-control']], [200, 'private, max-age=600'])
  t.match((await get(`${url}&v=${hash}`, { headers })).headers['cache-control'], /immutable/)
  const read = counts.entries
  t.equal((await get(url, { headers: { ...headers, 'if-none-match': String(first.headers.etag) } })).status, 304)
  t.equal(counts.entries, read, 'nothing is read for a client that has the chapter')
  t.equal((await get(url, { headers, method: 'HEAD' })).headers['content-length'], String(first.bytes.length))
})

t.test('a chapter that cannot be cleaned, or is not visible, is refused', async (t) => {
  const { server, addFile, database } = await openReadingServer(t, readingRoutes)
  const book = await addFile(
    'Broken.epub',
    buildEpub({
      files: {
        'deep.xhtml': '<i>'.repeat(600),
        'empty.xhtml': 'nothing',
        'long.xhtml': `<p>${'x'.repeat(8 * 1024 * 1024)}</p>`,
        'open.xhtml': '<html><body><p>One<br>Two & three',
      },
    }),
  )
  const url = (path: string) => `${server.url}/api/v1/books/${book.id}/resource/OPS/${path}?clean=true`
  const ask = async (path: string, token = server.adminToken) => {
    const { status, bytes, headers } = await get(url(path), { headers: { authorization: `Bearer ${token}` } })
    return { status, text: bytes.toString(), headers }
  }
  const refused: [path: string, message: RegExp][] = [
    ['deep.xhtml', /nested more than 512 deep/],
    ['empty.xhtml', /no element that can be shown/],
    ['long.xhtml', /8388615 bytes, and at most 8388608/],
  ]
  for (const [path, message] of refused) {
    const { status, text, headers } = await ask(path)
    t.match([status, JSON.parse(text)], [422, { error: 'page_unreadable', message }], path)
    t.equal(headers['cache-control'], 'no-store', 'an error is not kept')
  }
  t.match((await ask('open.xhtml')).text, /<p>One<br\/>Two &amp; three<\/p>/)
  t.equal((await ask('none.xhtml')).status, 404)
  const { series_id: seriesId } = await database('books').where({ id: book.id }).first('series_id')
  const reader = await server.signUp({ username: 'rita' })
  await shareSeries(database, { seriesId, caller: { userId: reader.id }, mode: 'deny' })
  t.equal((await ask('open.xhtml', reader.token)).status, 404)
})

t.test('cleaning many chapters at once stays within the memory of one user', async (t) => {
  const { server, addFile } = await openReadingServer(t, readingRoutes, { inFlight: { bytesMax: 4_000_000, perUserMax: 3_200_000 } })
  const book = await addFile('Long.epub', buildEpub({ files: { 'long.xhtml': textPage('word '.repeat(200_000)) } }))
  const headers = { authorization: `Bearer ${server.adminToken}` }
  const url = `${server.url}/api/v1/books/${book.id}/resource/OPS/long.xhtml?clean=true`
  const answers = await Promise.all(Array.from({ length: 4 }, () => get(url, { headers })))
  const statuses = answers.map(({ status }) => status).sort()
  t.ok(statuses.includes(200) && statuses.includes(503), String(statuses))
  t.equal((await get(url, { headers })).status, 200, 'the memory is released')
})
