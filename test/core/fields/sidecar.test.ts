import { rmSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openLibraryFixture } from '#test/support/library-fixture.ts'
import { makePicture } from '#test/support/pictures.ts'

t.setTimeout(600_000)

const opf = (title: string) => `<package><metadata><title>${title}</title></metadata></package>`
const comicInfo = (title: string) => `<ComicInfo><Title>${title}</Title></ComicInfo>`
const seriesJson = (name: string) => JSON.stringify({ metadata: { name } })

async function open(files: Record<string, string | null>) {
  const fixture = await openLibraryFixture(t)
  let edits = 0
  /** Writes or, with null, removes files, so that only their own times tell; returns which books were then opened. */
  const edit = async (changes: Record<string, string | null>): Promise<string[]> => {
    for (const [path, content] of Object.entries(changes)) {
      if (content === null) rmSync(join(fixture.root, path))
      else {
        const full = path.endsWith('.cbz') ? fixture.put(path) : fixture.put(path, content)
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
