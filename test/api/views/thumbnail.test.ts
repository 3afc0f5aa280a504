import t from 'tap'
import { writeCover } from '#core/covers/book-cover-files.ts'
import { PLACEHOLDER_COVER } from '#core/covers/placeholder.ts'
import { openComposedServer } from '#test/support/composed-server.ts'
import { enableKomga } from '#test/support/komga-switch.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { makePicture } from '#test/support/pictures.ts'
import { ADMIN, get } from '#test/support/server.ts'

t.setTimeout(60_000)

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
