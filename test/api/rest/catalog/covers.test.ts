import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { writeCover } from '#core/covers/book-cover-files.ts'
import { coverPath } from '#core/covers/cover.ts'
import { aggregateSeries } from '#core/metadata/aggregate-series.ts'
import { purgeDeleted } from '#core/scan/purge-deleted.ts'
import { GIF, openShelves, picture } from '#test/support/shelves.ts'

test('covers: given, shown at once, chosen, deleted', async (t) => {
  const { ask, upload, one, two, batman, saga, other, url, adminToken, database, dataFolder, libraryId } = await openShelves(t)
  const tagOf = async (path: string) => (await ask('GET', path)).headers.get('etag')
  const before = await tagOf(`/api/v1/books/${one}/thumbnail`)
  for (const kind of ['image/jpeg', 'image/png', 'image/webp', 'image/avif'] as const) {
    const { status, json } = await upload(`/api/v1/books/${one}/cover`, picture(kind))
    t.match({ status, json }, { status: 200, json: { bookId: one, source: 'custom', isSelected: true, width: 900, height: 1200 } }, kind)
  }
  t.not(await tagOf(`/api/v1/books/${one}/thumbnail`), before, 'the thumbnail is the new one')
  t.equal(await tagOf(`/api/v1/series/${batman}/thumbnail`), await tagOf(`/api/v1/books/${one}/thumbnail`), 'and that of its series')

  const { json: list } = await ask<{ covers: { id: string; isSelected: boolean; path: string }[] }>('GET', `/api/v1/books/${one}/covers`)
  t.same(
    list.covers.map((cover) => cover.isSelected),
    [false, false, false, true],
  )
  const [first] = list.covers
  t.equal((await ask('PUT', `/api/v1/books/${one}/covers/${first?.id}/select`)).status, 200)
  const image = await fetch(url + first?.path, { headers: { authorization: `Bearer ${adminToken}` } })
  t.equal(image.headers.get('content-type'), 'image/jpeg')
  t.equal((await ask('DELETE', `/api/v1/books/${one}/covers/selected`)).status, 204)
  t.equal(await tagOf(`/api/v1/books/${one}/thumbnail`), before, 'back to that of the file')
  t.equal((await ask('DELETE', `/api/v1/books/${one}/covers/${first?.id}`)).status, 204)
  t.equal((await ask('DELETE', `/api/v1/books/${one}/covers/${first?.id}`)).status, 404)
  t.equal((await ask('GET', `/api/v1/books/${two}/covers/${list.covers[1]?.id}/image`)).status, 404, 'a cover of another book')

  const source = (value: string) =>
    ask<{ covers: { source: string }[] }>('PATCH', `/api/v1/series/${batman}/cover/source`, { source: value })
  t.match(await source(`book:${one}`), { status: 200, json: { covers: [{ source: `book:${one}`, isSelected: true }] } })
  t.equal((await source(`book:${one}`)).json.covers.length, 1, 'again: the old copy goes')
  t.equal((await source('custom')).status, 422)
  t.equal((await source(`book:${other}`)).status, 422, 'a book of another series')
  t.equal((await source('default')).status, 200)
  t.equal((await source('nonsense')).status, 422)
  t.match(await upload(`/api/v1/series/${saga}/cover`, GIF), { status: 200, json: { width: 1, height: 1 } })
  t.match(await upload(`/api/v1/series/${saga}/cover`, picture('image/png')), { status: 200, json: { seriesId: saga } })
  t.equal((await ask('GET', `/api/v1/series/${saga}/thumbnail`)).status, 200)
  t.match((await ask('GET', `/api/v1/series/${saga}`)).json, { hasCustomCover: true, selectedCoverSource: 'custom' })
  t.match((await ask('GET', `/api/v1/series/${batman}`)).json, { hasCustomCover: false, selectedCoverSource: null })

  // What a person chose stays: neither a new cover in the file of the first book nor what the books say of the series takes its place.
  const chosen = await tagOf(`/api/v1/series/${saga}/thumbnail`)
  await ask('PATCH', `/api/v1/series/${saga}/cover/source`, { source: 'custom' })
  const cover = await writeCover(dataFolder, other, picture('image/jpeg'))
  await database('books').where('id', other).update({ cover_hash: cover })
  await database.transaction((trx) => aggregateSeries(trx, [saga]))
  t.equal(await tagOf(`/api/v1/series/${saga}/thumbnail`), chosen)
  t.match((await ask('GET', `/api/v1/series/${saga}`)).json, { hasCustomCover: true, selectedCoverSource: 'custom' })

  // Covers go with what they are of.
  const files = () =>
    readdirSync(join(dataFolder, 'covers'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length
  t.ok(files() > 0)
  await database('books').update({ deleted_at: new Date() })
  await purgeDeleted({ database, dataFolder }, libraryId)
  t.equal(files(), 0, 'those of series too')
  t.notOk(existsSync(coverPath(dataFolder, one)), 'and those that the files of books brought')
})

test('covers: what is refused', async (t) => {
  const { upload, one, url, adminToken, database } = await openShelves(t)
  const path = `/api/v1/books/${one}/cover`
  t.equal((await upload(path, 'no picture')).status, 415)
  t.equal((await upload(path, '<svg xmlns="http://www.w3.org/2000/svg"/>')).status, 415)
  t.equal((await upload(path, picture('image/png').subarray(0, 400))).status, 422, 'half a picture')
  t.equal((await upload(path, Buffer.alloc(21 * 1_048_576))).status, 413)
  const raw = async (type: string, body: string) =>
    (await fetch(url + path, { method: 'POST', headers: { authorization: `Bearer ${adminToken}`, 'content-type': type }, body })).status
  t.equal(await raw('application/json', '{}'), 415)
  t.equal(await raw('multipart/form-data', 'x'), 400, 'no boundary')
  t.equal(await raw('multipart/form-data; charset=x', 'x'), 400, 'no boundary')
  t.equal(await raw('multipart/form-data; boundary=b', ''), 400)
  t.equal(await raw('multipart/form-data; boundary=b', '--b\r\nnothing'), 400)
  t.equal(await raw('multipart/form-data; boundary=b', '--b--'), 400, 'no file')
  t.equal(await raw('multipart/form-data; boundary=b', '--b\r\nX: y\r\n\r\nz\r\n--b--'), 400)
  const part = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nz\r\n'
  t.equal(await raw('multipart/form-data; boundary=b', `${part}${part}--b--`), 400, 'two files')
  t.equal(await raw('multipart/form-data; boundary="b"', `${part}--b--`), 415, 'one, of no kind')
  t.equal(await raw('multipart/form-data; boundary=b', `${part.replace('; filename="a"', '').repeat(30)}--b--`), 400, 'many parts')
  t.same(await database('covers'), [], 'none was kept')
})
