import { writeFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { bookContentRoutes } from '#api/rest/reading/book-content.ts'
import { progressRoutes } from '#api/rest/reading/progress.ts'
import { readingRoutes } from '#api/rest/reading/reading.ts'
import type { WebLink, WebPublication } from '#core/reading/web-publication.ts'
import { buildComicEpub, buildEpub, imagePage, textPage } from '#test/support/epub-builder.ts'
import { shareSeries } from '#test/support/library-rows.ts'
import { buildPdf } from '#test/support/pdf-builder.ts'
import { numberedPages } from '#test/support/pictures.ts'
import { buildNovel, openReadingServer } from '#test/support/readable-books.ts'
import { get } from '#test/support/server.ts'
import { locatorComplaints, manifestComplaints } from '#test/support/webpub-schemas.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const routes = [...readingRoutes, ...progressRoutes]
type Positions = { total: number; positions: { href: string; title?: string; locations: { position: number; totalProgression: number } }[] }

t.setTimeout(60_000)

t.test('an EPUB is read by its manifest', async (t) => {
  const { server, addFile, counts } = await openReadingServer(t, routes)
  const { url, adminToken: token } = server
  const book = await addFile('Novel.epub', buildNovel())
  const base = `/api/v1/books/${book.id}`
  const answer = await server.request<WebPublication>('GET', `${base}/manifest`, { token })
  const manifest = answer.json
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('content-type'), 'application/webpub+json')
  t.same(manifestComplaints(manifest), [])
  t.equal(manifest.links[0]?.href, `${url}${base}/manifest`)
  t.match(manifest.metadata, { title: 'Novel.epub', conformsTo: /profiles\/epub$/, layout: 'reflowable' })
  t.same(
    manifest.readingOrder.map(({ href }) => href),
    ['resource/OPS/text/c1.xhtml', 'resource/OPS/text/c%202.xhtml', 'resource/OPS/text/c3.xhtml'],
    'a file that stands there twice is listed once',
  )
  t.match(manifest.readingOrder, [{ properties: { page: 'right' } }, { properties: { contains: ['js', 'svg'] } }])
  t.match(
    manifest.resources?.find(({ rel }) => rel === 'cover'),
    { href: 'resource/OPS/Cover.png', type: 'image/png' },
  )
  t.same(manifest.toc, [
    { href: 'resource/OPS/text/c1.xhtml', title: 'One' },
    {
      href: 'resource/OPS/text/c%202.xhtml#a%20b',
      title: 'Part',
      children: [{ href: 'resource/OPS/text/c%202.xhtml#a%20b', title: 'Two' }],
    },
  ])
  t.same(manifest.landmarks, [{ href: 'resource/OPS/text/c1.xhtml', title: 'Start' }])

  const positions = (await server.request<Positions>('GET', `${base}/positions`, { token })).json
  t.equal(positions.total, book.pageCount, 'as many as the book has pages')
  t.equal(positions.positions.length, positions.total)
  t.ok(positions.total > 6)
  t.same(
    positions.positions.flatMap((locator) => locatorComplaints(locator)),
    [],
  )
  t.same(
    positions.positions.map(({ locations }) => locations.position),
    Array.from({ length: positions.total }, (_, index) => index + 1),
  )
  t.match(positions.positions[0], { title: 'One', locations: { progression: 0, totalProgression: 0 } })
  const known = new Set(manifest.readingOrder.map(({ href }) => href))
  t.ok(positions.positions.every(({ href }) => known.has(href)))

  t.test('the files of an EPUB are sent as its manifest names them', async (t) => {
    const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
      get(`${url}${base}/${path}`, { method, headers: { authorization: `Bearer ${token}`, ...headers } })
    for (const link of [...manifest.readingOrder, ...(manifest.resources ?? [])] as WebLink[]) {
      if (link.href === 'thumbnail') continue
      const { status, headers } = await ask(link.href)
      t.match([status, headers['content-type']], [200, link.type], link.href)
      t.equal(headers['x-content-type-options'], 'nosniff')
      t.match(headers['content-security-policy'], /script-src 'none'.*sandbox/)
    }
    const plain = await ask('resource/OPS/text/c3.xhtml')
    t.match(plain.bytes.toString(), 'The end.')
    for (const path of ['resource/OPS/TEXT/C3.xhtml', 'resource/OPS/text/./x/%2e%2e/c3.xhtml', 'resource/OPS%2Ftext%2Fc3.xhtml'])
      t.same((await ask(path)).bytes, plain.bytes, path)
    t.equal((await ask('resource/OPS/font.woff2')).headers['content-type'], 'font/woff2', 'what the package does not list is served too')
    t.equal((await ask('resource/OPS/odd.bin')).headers['content-type'], 'application/octet-stream', 'no stranger writes a header')
    for (let time = 0; time < 2; time++) {
      const packed = await ask('resource/OPS/text/c3.xhtml', { 'accept-encoding': 'gzip' })
      t.equal(packed.headers['content-encoding'], 'gzip')
      t.same(gunzipSync(packed.bytes), plain.bytes)
      t.not(packed.headers.etag, plain.headers.etag)
      t.equal(
        (await ask('resource/OPS/text/c3.xhtml', { 'accept-encoding': 'gzip', 'if-none-match': packed.headers.etag as string })).status,
        304,
      )
    }
    t.equal((await ask('resource/OPS/text/c3.xhtml', { 'if-none-match': plain.headers.etag as string })).status, 304)
    const part = await ask('resource/OPS/text/c3.xhtml', { range: 'bytes=2-5', 'accept-encoding': 'gzip' })
    t.match([part.status, part.headers['content-range']], [206, `bytes 2-5/${plain.bytes.length}`])
    t.same(part.bytes, plain.bytes.subarray(2, 6))
    t.equal((await ask('resource/OPS/text/c3.xhtml', { range: `bytes=${plain.bytes.length}-` })).status, 416)
    const head = await ask('resource/OPS/text/c3.xhtml', {}, 'HEAD')
    t.match([head.status, head.headers['content-length'], head.bytes.length], [200, String(plain.bytes.length), 0])
    const cookie = await get(`${url}${base}/resource/OPS/style.css`, { headers: { cookie: `auth_token=${token}` } })
    t.equal(cookie.status, 200, 'as pictures, with the cookie')
    for (const path of [
      'resource/',
      'resource/OPS',
      'resource/OPS/none.xhtml',
      'resource/..%2f..%2fetc%2fpasswd',
      'resource/%00',
      'resource/%',
    ])
      t.ok([400, 404].includes((await ask(path)).status), path)
  })
  t.equal(counts.publications, 1, 'the package was read once')
})

t.test('pages, positions and reading order follow one rule', async (t) => {
  const { server, addFile } = await openReadingServer(t, routes)
  const token = server.adminToken
  const hrefs = ['a.xhtml', 'gone.xhtml', 'https://example.org/far.xhtml', 'b.xhtml', 'a.xhtml']
  const book = await addFile(
    'Novel.epub',
    buildEpub({
      manifest: hrefs.map((href, index) => `<item id="c${index}" href="${href}" media-type="application/xhtml+xml"/>`).join(''),
      spine: [0, 1, 2, 9, 3, 0, 4, 3].map((index) => `<itemref idref="c${index}"/>`).join(''),
      files: { 'c1.xhtml': null, 'a.xhtml': textPage('One'), 'b.xhtml': textPage('Two') },
    }),
  )
  const base = `/api/v1/books/${book.id}`
  const { json: manifest } = await server.request<WebPublication>('GET', `${base}/manifest`, { token })
  const { json: list } = await server.request<Positions>('GET', `${base}/positions`, { token })
  const order = ['resource/OPS/a.xhtml', 'resource/OPS/b.xhtml']
  t.same(
    [manifest.readingOrder, list.positions].map((links) => links.map(({ href }) => href)),
    [order, order],
  )
  t.same([book.pageCount, list.total], [2, 2])
  for (const href of order) t.equal((await server.request('GET', `${base}/${href}`, { token })).status, 200)
})

t.test('comics, comic EPUBs and PDFs', async (t) => {
  const { server, addFile, database } = await openReadingServer(t, routes)
  const token = server.adminToken
  const pages = await numberedPages(3)
  const files = {
    comic: await addFile('Comic.cbz', buildZip(pages)),
    epub: await addFile('Comic.epub', buildComicEpub(pages.map(({ name, data }) => ({ name, bytes: data })))),
    pdf: await addFile('Paper.pdf', buildPdf({ pages: [{ text: 'one' }, { text: 'two' }] })),
  }
  for (const name of ['comic', 'epub'] as const) {
    const base = `/api/v1/books/${files[name].id}`
    const { headers, json } = await server.request<WebPublication>('GET', `${base}/manifest`, { token })
    t.equal(headers.get('content-type'), 'application/divina+json')
    t.same(manifestComplaints(json), [])
    t.match(json.metadata, {
      conformsTo: 'https://readium.org/webpub-manifest/profiles/divina',
      readingProgression: 'ltr',
      numberOfPages: 3,
    })
    t.match(json.readingOrder, [{ href: 'pages/1', type: /^image\//, width: Number, height: Number }, {}, { href: 'pages/3' }])
    const { json: positions } = await server.request<Positions>('GET', `${base}/positions`, { token })
    t.match(positions, { total: 3, positions: [{ href: 'pages/1' }, {}, { href: 'pages/3', locations: { position: 3 } }] })
  }
  const series = await database('books').where({ id: files.comic.id }).first('series_id')
  for (const [direction, expected] of [
    ['rtl', { readingProgression: 'rtl', layout: 'fixed' }],
    ['webtoon', { readingProgression: undefined, layout: 'scrolled' }],
  ] as const) {
    await database('series').where({ id: series.series_id }).update({ reading_direction: direction })
    const { json } = await server.request<WebPublication>('GET', `/api/v1/books/${files.comic.id}/manifest`, { token })
    t.match(json.metadata, expected)
    t.same(manifestComplaints(json), [])
  }
  const base = `/api/v1/books/${files.pdf.id}`
  const { json } = await server.request<WebPublication>('GET', `${base}/manifest`, { token })
  t.same(manifestComplaints(json), [])
  t.match(json, { metadata: { conformsTo: /profiles\/pdf$/, numberOfPages: 2 }, readingOrder: [{ href: 'file', type: 'application/pdf' }] })
  t.match((await server.request<Positions>('GET', `${base}/positions`, { token })).json, {
    total: 2,
    positions: [{ locations: { fragments: ['page=1'] } }, {}],
  })
  const none = await server.request<{ error: string }>('GET', `${base}/resource/a.xhtml`, { token })
  t.match([none.status, none.json.error], [422, 'invalid_value'])
})

t.test('a blank page of a fixed-layout EPUB is sent as a picture', async (t) => {
  const { server, addFile } = await openReadingServer(t, [...routes, ...bookContentRoutes])
  const [one] = await numberedPages(1)
  const book = await addFile(
    'Comic.epub',
    buildEpub({
      metadata: '<dc:title>C</dc:title><meta property="rendition:layout">pre-paginated</meta>',
      manifest:
        '<item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/><item id="c2" href="c2.xhtml" media-type="application/xhtml+xml"/>',
      spine: '<itemref idref="c1"/><itemref idref="c2"/>',
      files: { 'c1.xhtml': imagePage('a.png'), 'c2.xhtml': textPage(''), 'a.png': one?.data as Buffer },
    }),
  )
  const page = await get(`${server.url}/api/v1/books/${book.id}/pages/2`, { headers: { authorization: `Bearer ${server.adminToken}` } })
  t.match([page.status, page.headers['content-type']], [200, 'image/png'])
})

t.test('where a reader is in a text', async (t) => {
  const { server, addFile } = await openReadingServer(t, routes)
  const token = server.adminToken
  const book = await addFile('Novel.epub', buildNovel())
  const base = `/api/v1/books/${book.id}`
  const { positions } = (await server.request<Positions>('GET', `${base}/positions`, { token })).json
  const put = (modified: string, locator: object) =>
    server.request('PUT', `${base}/progression`, { token, body: { modified, device: { id: 'd', name: 'D' }, locator } })
  t.equal((await server.request('GET', `${base}/progression`, { token })).status, 204)
  const second = positions.find(({ href }) => href.includes('c%202')) as Positions['positions'][number]
  for (const [day, href] of [
    second.href,
    `${server.url}${base}/${second.href}`,
    'OPS/text/c 2.xhtml',
    '/OPS/text/c%202.xhtml#x',
  ].entries()) {
    t.equal(
      (await put(`2026-01-0${day + 1}T00:00:00Z`, { href, type: 'application/xhtml+xml', locations: { progression: 0 } })).status,
      204,
    )
    const { json } = await server.request<{ currentPage: number }>('GET', `${base}/progress`, { token })
    t.equal(json.currentPage, second.locations.position, href)
  }
  const refused = await server.request('PUT', `${base}/progression`, {
    token,
    body: {
      modified: '2026-01-05T00:00:00Z',
      device: { id: 'd', name: 'D' },
      locator: { href: 'resource/OPS/nope.xhtml', type: 'text/html', locations: { progression: 0.5 } },
    },
  })
  t.match(refused, { status: 422, json: { error: 'invalid_value' } }, 'a part that there is not would put the reader back to the beginning')
  await server.request('PUT', `${base}/progress`, { token, body: { currentPage: 2 } })
  const { headers, json } = await server.request<{ locator: unknown }>('GET', `${base}/progression`, { token })
  t.equal(headers.get('content-type'), 'application/vnd.readium.progression+json')
  t.match(
    json.locator,
    { href: positions[1]?.href, type: 'application/xhtml+xml', locations: { position: 2 } },
    'a page is told as a place',
  )
  t.same(locatorComplaints(json.locator), [])
  await put('2026-02-01T00:00:00Z', { href: 'x', type: 'y', locations: { totalProgression: 0.995 } })
  t.match((await server.request('GET', `${base}/progress`, { token })).json, { completed: true })
})

t.test('bad files, hidden books', async (t) => {
  const { server, addFile, database } = await openReadingServer(t, routes)
  const token = server.adminToken
  const good = await addFile('Good.epub', buildNovel())
  const base = `/api/v1/books/${good.id}`
  const status = async (path: string, as = token) => (await server.request<{ error: string }>('GET', path, { token: as })).status
  const reader = await server.signUp({ username: 'rita' })
  const { series_id: seriesId } = await database('books').where({ id: good.id }).first('series_id')
  await shareSeries(database, { seriesId, caller: { userId: reader.id }, mode: 'deny' })
  for (const path of ['manifest', 'positions', 'resource/OPS/style.css', 'progression'])
    t.equal(await status(`${base}/${path}`, reader.token), 404, `${path} of a hidden book`)
  t.equal(await status(`${base}/manifest`), 200)
  await database('books').where({ id: good.id }).update({ state: 'pending' })
  t.equal(await status(`${base}/manifest`), 409)
  await database('books').where({ id: good.id }).update({ state: 'analyzed' })
  writeFileSync(good.path, 'changed')
  t.equal(await status(`${base}/resource/OPS/style.css`), 409, 'it is another file now')

  const lying = await addFile('Quiet.epub', buildEpub({ files: { 'more.css': 'p { color: red }'.repeat(500) } }))
  const read = `/api/v1/books/${lying.id}/resource/OPS/more.css`
  t.equal(await status(read), 200)
  t.equal(await status(`/api/v1/books/${lying.id}/manifest`), 200, 'a book without contents has a manifest')
})
