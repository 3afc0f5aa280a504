import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { listThumbnailBooks } from '#core/analysis/thumbnail-store.ts'
import { libraryFileOf } from '#core/catalog/readable-book-query.ts'
import { coverHashOf } from '#core/covers/book-cover-files.ts'
import { describedBy } from '#core/fields/sidecar.ts'
import { openLibraryFixture } from '#test/support/library-fixture.ts'
import { makePicture } from '#test/support/pictures.ts'
import { findPool } from '#test/support/pool.ts'

t.setTimeout(600_000)

const opf = (title: string) => `<package><metadata><title>${title}</title></metadata></package>`
const comicInfo = (title: string) => `<ComicInfo><Title>${title}</Title></ComicInfo>`
const seriesJson = (name: string) => JSON.stringify({ metadata: { name } })

async function open(files: Record<string, string | null>, library: object = {}) {
  const fixture = await openLibraryFixture(t)
  if (Object.keys(library).length > 0) await fixture.database('libraries').update(library)
  let edits = 0
  /** Writes or, with null, removes files, so that only their own times tell; returns which books were then opened. */
  const edit = async (changes: Record<string, string | null>): Promise<string[]> => {
    for (const [path, content] of Object.entries(changes)) {
      if (content === null) rmSync(join(fixture.root, path))
      else {
        const full = content === '' ? fixture.put(path) : fixture.put(path, content)
        utimesSync(full, 1_700_000_000 + edits, 1_700_000_000 + edits)
        edits++
      }
    }
    fixture.analyzed.clear()
    await fixture.scan()
    return [...fixture.analyzed.keys()].sort()
  }
  await edit(files)
  const title = async (path: string) => (await fixture.books()).get(path)?.title
  const series = async (path: string) => (await fixture.database('series').where('path', path).first('title'))?.title
  return { fixture, edit, title, series }
}

t.test('an edited file beside books is noticed, and only the book that it describes is read again', async (t) => {
  const { fixture, edit, title } = await open({
    'one/X.cbz': '',
    'one/metadata.opf': opf('First'),
    'two/A.cbz': '',
    'two/A.xml': comicInfo('A first'),
    'two/B.cbz': '',
    'Root.cbz': '',
    'Root.xml': comicInfo('Root first'),
  })
  t.same([await title('one/X.cbz'), await title('two/A.cbz'), await title('Root.cbz')], ['First', 'A first', 'Root first'])
  t.same(await edit({}), [], 'nothing is opened when nothing changed')

  t.same(await edit({ 'one/metadata.opf': opf('Other') }), ['one/X.cbz'], 'of the same size')
  t.equal(await title('one/X.cbz'), 'Other')
  t.same(await edit({ 'two/A.xml': comicInfo('A second'), 'Root.xml': comicInfo('Root second') }), ['Root.cbz', 'two/A.cbz'])
  t.same([await title('two/A.cbz'), await title('Root.cbz')], ['A second', 'Root second'])
  t.same(await edit({ 'two/B.opf': opf('B') }), ['two/B.cbz'], 'added')
  t.equal(await title('two/B.cbz'), 'B')
  t.same(await edit({ 'two/B.opf': null }), ['two/B.cbz'], 'removed')
  t.equal(await title('two/B.cbz'), 'B')
  t.same(await edit({ 'two/A.xml': null }), ['two/A.cbz'])
  t.equal(await title('two/A.cbz'), 'A')
  t.same(
    await edit({ 'two/metadata.opf': opf('Of none'), 'two/notes.xml': '<x/>', 'two/C.opf': opf('C') }),
    [],
    'they describe nothing there',
  )
  t.same(await edit({ 'one/ComicInfo.xml': comicInfo('Info') }), ['one/X.cbz'])
  t.same(await edit({ 'one/ComicInfo.xml': null, 'one/metadata.opf': null }), ['one/X.cbz'])
  t.equal(await title('one/X.cbz'), 'X')
  t.same(await edit({ 'one/metadata.opf': opf('Again') }), ['one/X.cbz'])
  t.same(await edit({ 'one/Y.cbz': '' }), ['one/X.cbz', 'one/Y.cbz'], 'a second book: the file of the folder describes neither')
  t.equal(await title('one/X.cbz'), 'X')
  t.same(await edit({}), [])
  const states = [...(await fixture.books()).values()].map(({ state }) => state)
  t.same(new Set(states), new Set(['analyzed']))
})

t.test('cover.jpg is the cover of the only book beside it', async (t) => {
  const { fixture, edit } = await open({ 'one/X.cbz': '', 'two/A.cbz': '', 'two/B.cbz': '' })
  const cover = async (path: string) => (await fixture.database('books').where('file_name', path).first('cover_hash')).cover_hash
  const problem = async () => await fixture.database('book_errors').where('error_type', 'thumbnail').first('message')
  const own = [await cover('X.cbz'), await cover('A.cbz')]
  const put = async (path: string, width: number) =>
    fixture.put(path, Buffer.from(await makePicture({ width, height: 60, format: 'jpeg' })))
  const scan = () => edit({})

  await put('one/cover.jpg', 50)
  await put('two/cover.jpg', 50)
  t.same(await scan(), ['one/X.cbz'], 'with several books it describes none of them')
  const first = await cover('X.cbz')
  t.not(first, own[0])
  t.equal(await cover('A.cbz'), own[1])
  await put('one/cover.jpg', 40)
  t.same(await scan(), ['one/X.cbz'])
  t.not(await cover('X.cbz'), first)
  fixture.put('one/cover.jpg', 'no picture')
  t.same(await scan(), ['one/X.cbz'])
  t.equal(await cover('X.cbz'), own[0], 'the book has its own')
  t.match(await problem(), { message: /cover\.jpg beside the book cannot be used/ })
  t.same(await edit({ 'one/cover.jpg': null }), ['one/X.cbz'])
  t.equal(await cover('X.cbz'), own[0])
  t.notOk(await problem())
})

t.test('an edited series.json changes the series, and no book is opened', async (t) => {
  const { fixture, edit, series } = await open({
    's/A.cbz': '',
    's/B.cbz': '',
    's/series.json': seriesJson('First'),
    'u/A.cbz': '',
    'series.json': '{}',
  })
  t.equal(await series('s'), 'First')
  t.same(await edit({ 's/series.json': seriesJson('Other') }), [])
  t.equal(await series('s'), 'Other')
  t.same(await edit({ 'u/series.json': seriesJson('U') }), [], 'added')
  t.equal(await series('u'), 'U')
  t.same(await edit({ 's/series.json': null }), [], 'removed')
  t.equal(await series('s'), 's')
  t.same(await edit({ 's/C.cbz': '', 's/series.json': seriesJson('With a book') }), ['s/C.cbz'])
  t.equal(await series('s'), 'With a book')

  fixture.put('s/series.json', '[1')
  t.match((await fixture.scan()).errors, [/s\/series\.json/], 'a bad one is reported')
  t.equal(await series('s'), 's')
  t.same(await edit({}), [])
})

for (const strategy of ['auto', 'series_volume_chapter'])
  t.test(`with the strategy ${strategy}, series.json is read in a folder whose books are in folders of volumes`, async (t) => {
    const { fixture, edit, series } = await open(
      { 'Manga/Berserk/series.json': seriesJson('First'), 'Manga/Berserk/Vol 1/1.cbz': '', 'Manga/Berserk/Vol 2/2.cbz': '' },
      { series_strategy: strategy },
    )
    t.equal(await series('Manga/Berserk'), 'First')
    const status = await fixture.scan()
    t.match(status, { status: 'completed', seriesFound: 1, booksFound: 2, errors: [] })
    t.same(await edit({ 'Manga/Berserk/series.json': seriesJson('Other') }), [], 'edited')
    t.equal(await series('Manga/Berserk'), 'Other')
    t.same(await edit({ 'Manga/Berserk/series.json': null }), [], 'removed')
    t.equal(await series('Manga/Berserk'), 'Berserk')
    t.same(await edit({ 'Manga/Berserk/series.json': seriesJson('Again') }), [], 'added')
    t.equal(await series('Manga/Berserk'), 'Again')

    t.same(await edit({ 'Manga/Saga/series.json': seriesJson('Before') }), [], 'before its series')
    await edit({ 'Manga/Saga/Vol 1/1.cbz': '' })
    t.equal(await series('Manga/Saga'), 'Before')
    fixture.put('Manga/Saga/series.json', '[1')
    t.match((await fixture.scan()).errors, [/Manga\/Saga\/series\.json/], 'a bad one is reported')
    t.equal(await series('Manga/Saga'), 'Saga')
  })

t.test('a series.json whose disk is not mounted is no removed one, and its folder does not count as one of books', async (t) => {
  const files = Object.fromEntries([1, 2, 3, 4, 5].map((volume) => [`Manga/Berserk/Vol ${volume}/${volume}.cbz`, '']))
  const { fixture, series } = await open(
    { ...files, 'Manga/Berserk/series.json': seriesJson('Kept'), 'A.cbz': '' },
    { series_strategy: 'auto' },
  )
  renameSync(join(fixture.root, 'Manga/Berserk'), join(fixture.root, '../unmounted'))
  mkdirSync(join(fixture.root, 'Manga/Berserk'))
  t.match(await fixture.scan(), { status: 'failed', errors: [/5 of the 6 known books are gone/] })
  t.equal(await series('Manga/Berserk'), 'Kept')
  const folders = await fixture.database('scanned_folders').pluck('path')
  t.notOk(folders.includes('Manga/Berserk'), 'it does not count as a folder of books')
})

t.test('the only book of a folder is the only one that the library takes', async (t) => {
  const { fixture, edit, title } = await open(
    {
      'one/A.cbz': '',
      'one/Z.pdf': 'of another format',
      'one/sample of A.cbz': 'excluded',
      'one/B.cbz.part': 'incomplete',
      'one/~$A.cbz': 'incomplete',
      'one/folder.cbz/notes.txt': 'of a folder',
      'one/metadata.opf': opf('First'),
    },
    { allowed_formats: ['cbz', 'cbr'], excluded_patterns: 'sample*' },
  )
  symlinkSync(join(fixture.root, 'one/A.cbz'), join(fixture.root, 'one/Link.cbz'))
  t.equal(await title('one/A.cbz'), 'First')
  t.same(await edit({ 'one/metadata.opf': opf('Other') }), ['one/A.cbz'])
  t.equal(await title('one/A.cbz'), 'Other')

  const row = async () => await fixture.database('books').where('file_name', 'A.cbz').first('id', 'cover_hash')
  const own = await row()
  fixture.put('one/cover.jpg', Buffer.from(await makePicture({ width: 50, height: 60, format: 'jpeg' })))
  t.same(await edit({}), ['one/A.cbz'])
  t.not((await row()).cover_hash, own.cover_hash)
  const [book] = await listThumbnailBooks(fixture.database, [own.id])
  const { cover } = await findPool().drawBookCover(libraryFileOf(book!))
  t.equal(cover && coverHashOf(cover.jpeg), (await row()).cover_hash, 'a cover that is drawn later is the same')

  t.same(await edit({ 'one/B.cbz': '' }), ['one/A.cbz', 'one/B.cbz'])
  t.equal(await title('one/A.cbz'), 'A', 'a second one')
})

t.test('files beside books are found without regard to case, but not those of another book', async (t) => {
  const { fixture, edit, title, series } = await open({
    'one/X.cbz': '',
    'one/COMICINFO.XML': comicInfo('Info'),
    'two/A.cbz': '',
    'two/A.XML': comicInfo('A info'),
    'two/b.cbz': '',
    'two/B.Opf': opf('B'),
    'two/SERIES.json': seriesJson('Two'),
    'three/c.cbz': '',
    'three/C.cbz': '',
    'three/C.XML': comicInfo('Of the other'),
  })
  t.equal(await title('one/X.cbz'), 'Info')
  t.same([await title('two/A.cbz'), await title('two/b.cbz'), await series('two')], ['A info', 'B', 'Two'])
  t.same([await title('three/c.cbz'), await title('three/C.cbz')], ['c', 'Of the other'])
  t.same(await edit({ 'one/COMICINFO.XML': comicInfo('Other') }), ['one/X.cbz'])
  t.equal(await title('one/X.cbz'), 'Other')
  t.same(await edit({ 'two/A.XML': comicInfo('Second'), 'two/SERIES.json': seriesJson('Three') }), ['two/A.cbz'])
  t.same([await title('two/A.cbz'), await series('two')], ['Second', 'Three'])
  t.same(await edit({ 'one/metadata.OPF': opf('Folder'), 'one/X.opf': opf('Own') }), ['one/X.cbz'])
  t.equal(await title('one/X.cbz'), 'Own')
  t.same(await edit({ 'one/metadata.OPF': opf('Not read') }), [], 'one that is not read is not looked at')

  const own = await fixture.database('books').where('file_name', 'X.cbz').first('cover_hash')
  fixture.put('one/COVER.JPG', Buffer.from(await makePicture({ width: 50, height: 60, format: 'jpeg' })))
  t.same(await edit({}), ['one/X.cbz'])
  t.not((await fixture.database('books').where('file_name', 'X.cbz').first('cover_hash')).cover_hash, own.cover_hash)
})

t.test('of the files beside books only those are taken that are read', async (t) => {
  const described = (sidecars: string[], books: string[]) => describedBy(sidecars, books).map(({ name, stem }) => `${name}: ${stem}`)
  t.same(described(['metadata.opf', 'A.opf', 'cover.jpg', 'ComicInfo.xml'], ['A.cbz', 'A.epub']), [
    'A.opf: A',
    'cover.jpg: A',
    'ComicInfo.xml: A',
  ])
  t.same(described(['metadata.opf', 'a.xml', 'B.XML', 'b.xml', 'series.json', 'Series.json'], ['A.cbz', 'a.cbz', 'B.pdf']), [
    'a.xml: a',
    'B.XML: B',
    'series.json: null',
  ])
  t.same(described(['metadata.opf'], ['metadata.cbz', 'B.cbz']), ['metadata.opf: metadata'])
  t.same(described(['series.json', 'x.xml'], []), ['series.json: null'])
})
