import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readingHereRoutes } from '#api/opds/reading-routes.ts'
import { addWalker, openComposedServer } from '#test/support/composed-server.ts'
import { buildComicEpub } from '#test/support/epub-builder.ts'
import { addBook, addSeries } from '#test/support/library-rows.ts'
import { complaintsOf, walkCatalog } from '#test/support/opds-walk.ts'
import { buildPdf } from '#test/support/pdf-builder.ts'
import { jpegPage, makePicture } from '#test/support/pictures.ts'
import { addRead, buildNovel } from '#test/support/readable-books.ts'
import { ADMIN, get } from '#test/support/server.ts'
import { buildZip } from '#test/support/zip-builder.ts'

t.setTimeout(240_000)

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

t.test('an app that was given an address, a name and a password gets everything that the catalog leads to', async (t) => {
  const { url, ids, ofRestricted } = await openShelf(t)
  const secret = Object.entries(ids).flatMap(([name, id]) => (name.startsWith('Secret') ? [id, 'Secret'] : []))
  for (const root of ['/opds/v1/catalog', '/opds/v2']) {
    const all = await walkCatalog(url, root, { headers: ofAdmin, most: 1_000 })
    t.same(complaintsOf(all), [], `${root}: ${all.length} addresses`)
    const some = await walkCatalog(url, root, { headers: ofRestricted, most: 1_000 })
    t.same(complaintsOf(some), [], `${root}, restricted: ${some.length} addresses`)
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
