import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readingHereRoutes } from '#api/opds/reading-routes.ts'
import { addWalker, openComposedServer } from '#test/support/composed-server.ts'
import { buildComicEpub } from '#test/support/epub-builder.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { addBook, addSeries } from '#test/support/library-rows.ts'
import { complaintsOf, walkCatalog } from '#test/support/opds-walk.ts'
import { buildPdf } from '#test/support/pdf-builder.ts'
import { jpegPage, makePicture } from '#test/support/pictures.ts'
import { addRead, buildNovel } from '#test/support/readable-books.ts'
import { ADMIN, get } from '#test/support/server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

t.setTimeout(600_000)

const basicOf = (name: string, password: string) => ({ authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` })
const ofAdmin = basicOf(ADMIN.username, ADMIN.password)

const PLACE = {
  ...{ modified: '2026-01-02T10:00:00Z', device: { id: 'urn:uuid:5', name: 'Thorium' } },
  locator: { href: 'pages/2', type: 'image/jpeg', locations: { position: 2 } },
}

/** A book of every kind, each twice: once as anybody may see it, once under the name "Secret" in a series with a tag of its own. */
async function openShelf(t: Test) {
  const composed = await openComposedServer(t)
  const { database, folder } = composed
  const root = join(folder, 'library')
  mkdirSync(root)
  const pages = await Promise.all([61, 62, 63].map((width) => jpegPage({ width, height: 90 })))
  const odd = await makePicture({ width: 60, height: 90, format: 'webp' })
  const files: Record<string, Uint8Array> = {
    'Saga comic.cbz': buildZip([...pages.map((data, index) => ({ name: `${index + 1}.jpg`, data })), { name: '4.webp', data: odd }]),
    'Saga novel.epub': buildNovel(),
    'Saga pictures.epub': buildComicEpub(pages.map((bytes, index) => ({ name: `${index + 1}.jpg`, bytes }))),
    'Saga paper.pdf': buildPdf({ pages: [{ text: 'One' }, { text: 'Two' }] }),
  }
  const [tag] = await database('sharing_tags').insert({ name: 'kept away' }, 'id')
  const ids: Record<string, string> = {}
  for (const [name, bytes] of Object.entries(files)) {
    for (const shown of [name, name.replace('Saga', 'Secret')]) {
      writeFileSync(join(root, shown), bytes)
      const { id } = await addRead(database, join(root, shown))
      ids[shown] = id
      const { series_id } = await database('books').where({ id }).first('series_id')
      if (shown !== name) await database('series_sharing_tags').insert({ series_id, sharing_tag_id: tag.id })
    }
  }
  const { id: library_id } = await database('libraries').first('id')
  const series_id = await addSeries(database, { library_id, title: 'Not yet read' })
  const path = join(root, 'Pending.cbz')
  writeFileSync(path, 'x')
  ids['Pending'] = await addBook(database, {
    ...{ library_id, series_id, title: 'Pending', path, state: 'pending', analyzed_at: null, page_count: 0, file_size: 1 },
  })
  const restricted = await addWalker(composed, { role: 'reader', mode: 'deny', tagId: tag.id })
  const ofRestricted = basicOf('walker-reader-deny', 'a long enough password')
  const ask = async (path: string, headers: Record<string, string>, method = 'GET') => await get(composed.url + path, { headers, method })
  return { ...composed, ids, restricted, ofRestricted, ask }
}

t.test('an app that was given an address, a name and a password gets everything that the catalog leads to', onlyFull, async (t) => {
  const { url, ids, ofRestricted } = await openShelf(t)
  const secret = Object.entries(ids).flatMap(([name, id]) => (name.startsWith('Secret') ? [id, 'Secret'] : []))
  const isKnown = ({ path }: { path: string }) => path !== `/opds/books/${ids['Pending']}/file`
  // That of OPDS 1.2 leads to the same books; its feeds are walked in routes.test.ts.
  for (const root of ['/opds/v2', '/opds/v1/catalog']) {
    const all = await walkCatalog(url, root, { headers: ofAdmin, most: 1_000 })
    t.same(complaintsOf(all), [], `${root}: ${all.length} addresses`)
    const some = await walkCatalog(url, root, { headers: ofRestricted, most: 1_000 })
    t.same(complaintsOf(some.filter(isKnown)), [], `${root}, restricted: ${some.length} addresses`)
    const waits = complaintsOf(some.filter((one) => !isKnown(one)))
    t.ok(
      waits.length > 0 && waits.every((complaint) => complaint.includes('answered 409')),
      'a file whose content is not known yet has to wait',
    )
    t.ok(some.length > 60 && some.length < all.length, `${some.length} of ${all.length}`)
    const leaks = some.filter(({ path, text }) => secret.some((word) => path.includes(word) || text.includes(word)))
    t.same(
      leaks.map(({ path }) => path),
      [],
      'nothing that is hidden',
    )
    const types = new Set(all.map(({ mediaType }) => mediaType.split(';')[0]))
    const wanted = ['application/epub+zip', 'application/pdf', 'application/vnd.comicbook+zip', 'image/jpeg']
    const readHere = ['application/webpub+json', 'application/divina+json', 'application/vnd.readium.position-list+json', 'text/css']
    for (const type of root.endsWith('v2') ? [...wanted, ...readHere] : wanted) t.ok(types.has(type), `${root}: ${type}`)
  }
})

t.test('hidden books have nothing to read, and whoever says no name is asked for one', async (t) => {
  const { url, ids, ofRestricted, ask } = await openShelf(t)
  const paths = (id: string) =>
    readingHereRoutes.map(({ method, path }) => ({
      method,
      path: path.replace(':bookId', id).replace(':resourcePath*', 'OPS/style.css').replace(':pageNumber', '1'),
    }))
  t.equal(paths('').length, 8)
  for (const { method, path } of paths(ids['Secret novel.epub'] as string)) {
    const sent = method === 'PUT' ? { body: JSON.stringify(PLACE) } : {}
    const hidden = await fetch(url + path, { method, headers: { ...ofRestricted, 'content-type': 'application/json' }, ...sent })
    t.match([hidden.status, await hidden.json()], [404, { error: 'not_found' }], `${method} ${path}`)
    const { status, headers } = await ask(path, {}, method)
    t.match([status, headers['www-authenticate'], headers['content-type']], [401, /^Basic /, 'application/opds-authentication+json'], path)
    t.equal((await ask(path.replace('/opds/v2/', '/api/v1/'), ofAdmin, method)).status, 401, 'REST takes no password with each request')
  }
})

t.test('where somebody is, is one place for the app and for REST', async (t) => {
  const { url, ids, adminToken } = await openShelf(t)
  const put = async (path: string, headers: Record<string, string>, body: object) => {
    const sent = { ...headers, 'content-type': 'application/vnd.readium.progression+json' }
    return (await fetch(url + path, { method: 'PUT', headers: sent, body: JSON.stringify(body) })).status
  }
  const id = ids['Saga comic.cbz'] as string
  const path = `/opds/v2/books/${id}/progression`
  const get204 = await get(url + path, { headers: ofAdmin })
  t.same([get204.status, get204.bytes.length], [204, 0], 'not begun')
  t.equal(await put(path, ofAdmin, PLACE), 204)
  t.equal(await put(path, ofAdmin, { ...PLACE, modified: '2026-01-02T09:00:00Z' }), 409)
  const rest = await get(`${url}/api/v1/books/${id}/progression`, { headers: { authorization: `Bearer ${adminToken}` } })
  t.match(JSON.parse(rest.bytes.toString()), { device: PLACE.device, locator: PLACE.locator })
  const here = await get(url + path, { headers: ofAdmin })
  t.equal(here.headers['content-type'], 'application/vnd.readium.progression+json')
  t.same(JSON.parse(here.bytes.toString()), JSON.parse(rest.bytes.toString()))
})

/** Links of an Atom document as a reader finds them that knows no XML: by patterns, as KOReader does. */
function linksIn(text: string): { rel: string; type: string; href: string; count: string }[] {
  const plain = (value: string) => value.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&')
  const member = (tag: string, name: string) => plain(new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? '')
  return [...text.matchAll(/<link [^>]*>/g)].map(([tag]) => ({
    ...{ rel: member(tag, 'rel'), type: member(tag, 'type'), href: member(tag, 'href'), count: member(tag, 'pse:count') },
  }))
}

t.test('the requests of the catalog of KOReader, and of Panels, which streams pages as well', async (t) => {
  const { url, ids } = await openShelf(t)
  const headers = { ...ofAdmin, 'accept-encoding': 'identity', 'user-agent': 'KOReader/2026.1' }
  const read = async (href: string) => {
    const { status, headers: answered, bytes } = await get(new URL(href, url).href, { headers })
    t.equal(status, 200, href)
    t.equal(answered['content-encoding'], undefined, 'asked for as it is')
    return { type: String(answered['content-type']), text: bytes.toString(), bytes }
  }
  const root = await read('/opds/v1/catalog')
  t.ok(root.type.startsWith('application/atom+xml'))
  const search = linksIn(root.text).filter(({ rel }) => rel === 'search')
  const templated = search.find(({ type }) => type.startsWith('application/atom+xml'))
  const described = search.find(({ type }) => type === 'application/opensearchdescription+xml')
  t.ok(templated && described, 'both kinds of search')
  const template = /template="([^"]*)"/.exec((await read(described?.href ?? '')).text)?.[1] ?? ''
  for (const one of [templated?.href ?? '', template]) t.match((await read(one.replace('{searchTerms}', 'saga'))).text, /Saga comic/, one)

  const series = linksIn((await read('/opds/v1/catalog/series')).text).filter(({ rel }) => rel === 'subsection')
  t.ok(series.length >= 5 && series.every(({ type }) => type.startsWith('application/atom+xml')))
  const books = linksIn((await read('/opds/v1/catalog/books?pageSize=100')).text)
  const files = books.filter(({ rel }) => rel.startsWith('http://opds-spec.org/acquisition'))
  t.equal(files.length, Object.keys(ids).length)
  for (const { href, type } of files) t.equal((await read(href)).type, type, href)
  const covers = books.filter(({ rel }) => rel.startsWith('http://opds-spec.org/image'))
  t.ok(covers.length >= files.length && covers.every(({ type }) => type === 'image/jpeg'))
  const streams = books.filter(({ rel }) => rel === 'http://vaemendis.net/opds-pse/stream')
  t.equal(streams.length, 6, 'comics, PDFs and EPUBs made of pictures')
  for (const { href, count } of streams) {
    t.ok(Number(count) > 0)
    for (let page = 0; page < Number(count); page++) {
      const { type } = await read(href.replace('{pageNumber}', String(page)).replace('{maxWidth}', '1024'))
      t.match(type, /^image\/(jpeg|png|gif)$/, `${href} ${page}`)
    }
    for (const page of [-1, Number(count)]) {
      const beyond = await get(url + href.replace('{pageNumber}', String(page)).replace('{maxWidth}', '1024'), { headers })
      t.match([beyond.status, JSON.parse(beyond.bytes.toString())], [404, { error: 'not_found' }], `page ${page} of ${count}`)
    }
  }
})

t.test('the requests of Thorium, and of Cantook, which keeps the place', async (t) => {
  const { url } = await openShelf(t)
  const first = await get(`${url}/opds/v2`, { headers: { accept: 'application/opds+json' } })
  const how = JSON.parse(first.bytes.toString())
  t.match([first.status, first.headers['content-type']], [401, 'application/opds-authentication+json'])
  t.match(how, {
    id: String,
    title: String,
    authentication: [{ type: 'http://opds-spec.org/auth/basic', labels: { login: String, password: String } }],
  })
  const read = async (href: string, base: string) => {
    const target = new URL(href, base).href
    const { status, headers: answered, bytes } = await get(target, { headers: ofAdmin })
    t.equal(status, 200, target)
    return { target, type: String(answered['content-type']), bytes }
  }
  type Link = { rel?: string; href: string; type: string }
  type Shown = { metadata: { title: string }; links: Link[]; images: Link[] }
  const feed = await read('/opds/v2/books?pageSize=100', url)
  const { publications } = JSON.parse(feed.bytes.toString()) as { publications: Shown[] }
  t.equal(publications.length, 9)
  for (const { metadata, links, images } of publications) {
    t.ok(typeof metadata.title === 'string' && images.length > 0 && images.every(({ type }) => type === 'image/jpeg'))
    const self = links.find(({ rel }) => rel === 'self') as Link
    t.equal((await read(self.href, feed.target)).type, 'application/opds-publication+json')
    const manifestLink = links.find(({ type }) => /webpub|divina/.test(type))
    t.equal(manifestLink === undefined, metadata.title === 'Pending', metadata.title)
    if (!manifestLink) continue
    const manifest = await read(manifestLink.href, feed.target)
    t.equal(manifest.type, manifestLink.type)
    const { readingOrder, links: own } = JSON.parse(manifest.bytes.toString()) as { readingOrder: Link[]; links: Link[] }
    for (const item of readingOrder) t.equal((await read(item.href, manifest.target)).type, item.type, item.href)
    const href = own.find(({ rel }) => rel === 'http://www.cantook.com/api/progression')?.href as string
    const place = new URL(href, manifest.target).href
    t.equal((await get(place, { headers: ofAdmin })).status, 204, 'not begun')
    const [start] = readingOrder as [Link]
    const sent = { ...PLACE, locator: { href: start.href, type: start.type, locations: { progression: 0, totalProgression: 0.01 } } }
    const put = { ...ofAdmin, 'content-type': 'application/vnd.readium.progression+json' }
    t.equal((await fetch(place, { method: 'PUT', headers: put, body: JSON.stringify(sent) })).status, 204)
    t.match(JSON.parse((await read(place, url)).bytes.toString()), { ...sent, modified: '2026-01-02T10:00:00.000Z' })
  }
})
