import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { migrate } from '#core/database/database.ts'
import { down, up } from '#migrations/0010_moves.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { buildEpub } from '#test/support/epub-builder.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { comicOfPages } from '#test/support/paged-comics.ts'
import { makePicture } from '#test/support/pictures.ts'
import { buildRar } from '#test/support/rar-builder.ts'
import { buildZip } from '#test/support/zip-builder.ts'
import { analyze } from '#workers/formats/analyze.ts'
import { pagesHashOf } from '#workers/formats/pages-hash.ts'

async function analysisOf(t: Test, name: string, content: Buffer) {
  const root = t.testdir()
  writeFileSync(join(root, name), content)
  return await analyze({ root, path: join(root, name), verifyPages: false })
}
const hashOf = async (t: Test, name: string, content: Buffer) => (await analysisOf(t, name, content)).pagesHash

t.test('metadata, names and packing do not change the hash of the pages; their order does', async (t) => {
  const hash = await hashOf(t, 'a.cbz', comicOfPages('one'))
  t.match(hash, /^[0-9a-f]{64}$/)
  t.equal(await hashOf(t, 'b.cbz', comicOfPages('one+tag', { isPadded: true })), hash)
  t.not(await hashOf(t, 'b.cbz', comicOfPages('one:4')), hash)
  t.not(await hashOf(t, 'b.cbz', comicOfPages('two')), hash)
  const [first, second] = [
    await makePicture({ width: 40, height: 60, format: 'png' }),
    await makePicture({ width: 41, height: 60, format: 'png' }),
  ]
  const named = (one: string, two: string) => [
    { name: one, data: first },
    { name: two, data: second },
  ]
  const zipped = await hashOf(t, 'c.cbz', buildZip(named('1.png', '2.png')))
  t.equal(await hashOf(t, 'c.cbz', buildZip(named('a/p1.png', 'a/p2.png').map((part) => ({ ...part, method: 8 })))), zipped)
  t.equal(await hashOf(t, 'c.cbr', buildRar(named('1.png', '2.png'))), zipped, 'in a RAR too')
  t.not(await hashOf(t, 'c.cbz', buildZip(named('2.png', '1.png'))), zipped)
})

t.test('of an EPUB the chapters count, not the package', async (t) => {
  const hash = await hashOf(t, 'a.epub', buildEpub())
  t.match(hash, /^[0-9a-f]{64}$/)
  t.equal(await hashOf(t, 'a.epub', buildEpub({ metadata: '<dc:title>Another title</dc:title>' })), hash)
  t.not(
    await hashOf(t, 'a.epub', buildEpub({ files: { 'c1.xhtml': '<html xmlns="http://www.w3.org/1999/xhtml"><body>Other</body></html>' } })),
    hash,
  )
})

t.test('what says too little has none', async (t) => {
  t.same(pagesHashOf([]), {})
  const pixel = { bytes: 42, crc32: 7 }
  t.same(pagesHashOf([pixel, pixel, pixel]), {}, 'blank pages')
  t.same(pagesHashOf([{ bytes: 5_000, crc32: 0 }, pixel]), {}, 'a checksum that is not there')
})

t.test('rows from before get the same hash', async (t) => {
  const { database } = await openTestDatabase(t, { empty: true })
  await migrate(database)
  const [analysis, pixels] = [
    await analysisOf(
      t,
      'a.cbz',
      buildZip([
        { name: '1.png', data: await makePicture({ width: 40, height: 60, format: 'png' }) },
        { name: '2.png', data: await makePicture({ width: 41, height: 60, format: 'png' }) },
      ]),
    ),
    await analysisOf(t, 'b.cbz', comicOfPages('one')),
  ]
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'One' })
  const ids = [
    await addBook(database, { library_id, series_id, title: 'A' }),
    await addBook(database, { library_id, series_id, title: 'B' }),
  ]
  for (const [index, { pages }] of [analysis, pixels].entries())
    await database('book_pages').insert({ book_id: ids[index], pages: JSON.stringify(pages) })
  await database.transaction(down)
  await database.transaction(up)
  t.equal((await database('books').where('id', ids[0]).first('pages_hash')).pages_hash, analysis.pagesHash)
  t.equal((await database('books').where('id', ids[1]).first('pages_hash')).pages_hash, null)
})
