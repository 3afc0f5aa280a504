import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findLibraryRow, type LibraryRow } from '#core/catalog/library-store.ts'
import { checkScanPath, isInPart } from '#core/scan/scan-part.ts'
import { factsOfFile, fakeAnalysis } from '#test/support/analyses.ts'
import { type LibraryFixture, openLibraryFixture, until } from '#test/support/library-fixture.ts'

t.setTimeout(120_000)

const open = (t: Test, files: string[]): Promise<LibraryFixture> =>
  openLibraryFixture(t, { files, analyze: async ({ path }) => fakeAnalysis({ file: factsOfFile(path) }) })

async function scanPart({ scans, libraryId }: LibraryFixture, path: string) {
  await until(async () => (await scans.listActive()).length === 0)
  const { taskId } = await scans.start(libraryId, 'normal', null, { path })
  return await until(async () => {
    const status = await scans.getStatus(libraryId)
    return status.taskId === taskId && ['completed', 'failed'].includes(status.status) && status
  })
}
const present = async (fixture: LibraryFixture) =>
  [...(await fixture.books())].flatMap(([path, book]) => (book.deleted_at === null ? [path] : [])).sort()

t.test('a scan of a part finds, marks and moves books there, and touches nothing else', async (t) => {
  const fixture = await open(t, ['a/1.cbz', 'a/2.cbz', 'a/below/3.cbz', 'ab/4.cbz', 'b/5.cbz', 'b/6.cbz', '7.cbz'])
  await fixture.scan()
  const { last_scanned_at } = await fixture.database('libraries').first('last_scanned_at')
  for (const file of ['a/new.cbz', 'b/new.cbz', 'ab/new.cbz']) fixture.put(file)
  for (const file of ['a/1.cbz', 'b/5.cbz', 'ab/4.cbz']) unlinkSync(join(fixture.root, file))
  t.match(await scanPart(fixture, 'a/'), { status: 'completed', path: 'a', filesTotal: 3, guard: null })
  t.same(await present(fixture), ['7.cbz', 'a/2.cbz', 'a/below/3.cbz', 'a/new.cbz', 'ab/4.cbz', 'b/5.cbz', 'b/6.cbz'])
  t.same((await fixture.database('libraries').first('last_scanned_at')).last_scanned_at, last_scanned_at, 'the library was not scanned')
  t.match(await scanPart(fixture, 'b/6.cbz'), { path: 'b' }, 'of a file, its folder')
  t.same(await present(fixture), ['7.cbz', 'a/2.cbz', 'a/below/3.cbz', 'a/new.cbz', 'ab/4.cbz', 'b/6.cbz', 'b/new.cbz'])
  renameSync(join(fixture.root, 'a/below'), join(fixture.root, 'a/other'))
  const id = (await fixture.books()).get('a/below/3.cbz')?.id
  await scanPart(fixture, 'a')
  await until(async () => (await fixture.books()).get('a/other/3.cbz')?.id === id)
  rmSync(join(fixture.root, 'a'), { recursive: true })
  t.match(await scanPart(fixture, 'a'), { status: 'completed' }, 'a folder that is gone')
  t.same(await present(fixture), ['7.cbz', 'ab/4.cbz', 'b/6.cbz', 'b/new.cbz'])
  t.match(await fixture.scan(), { status: 'completed', guard: null })
  t.same(await present(fixture), ['7.cbz', 'ab/new.cbz', 'b/6.cbz', 'b/new.cbz'])
})

t.test('a scan of a part decides about its folders as a whole scan does, by what lies above and beside them', async (t) => {
  const calibre = (author: string, id: number) => ['epub', 'pdf'].map((format) => `Books/${author}/Title (${id})/Title.${format}`)
  const fixture = await open(t, ['Books/metadata.db', ...calibre('Ann', 1), ...[2011, 2016].map((year) => `DC/Batman (${year})/1.cbz`)])
  const { database } = fixture
  await database('libraries').update({ series_strategy: 'auto' })
  await fixture.scan()
  for (const file of [...calibre('Ann', 2), 'DC/Batman (2025)/1.cbz']) fixture.put(file)
  await scanPart(fixture, 'Books/Ann/Title (2)')
  await scanPart(fixture, 'DC/Batman (2025)')
  t.same(
    (await present(fixture)).filter((path) => path.startsWith('Books')),
    ['Books/Ann/Title (1)/Title.epub', 'Books/Ann/Title (2)/Title.epub'],
    'a book of Calibre in several formats is one',
  )
  const publishers = await database('series_metadata').join('series', 'id', 'series_id').whereLike('path', 'DC/%').pluck('publisher')
  t.same(publishers, ['DC', 'DC', 'DC'], 'a new run has the publisher of the others')
})

t.test('a scan of a folder of volumes reads the file for the series above it, which it may have begun', async (t) => {
  const fixture = await openLibraryFixture(t, {})
  await fixture.database('libraries').update({ series_strategy: 'auto' })
  const series = async (path: string) => (await fixture.database('series').where('path', path).first('title'))?.title
  const describe = (path: string, name: string) => fixture.put(`${path}/series.json`, JSON.stringify({ metadata: { name } }))
  describe('Manga/Berserk', 'First')
  fixture.put('Manga/Berserk/Vol 1/1.cbz')
  t.match(await scanPart(fixture, 'Manga/Berserk/Vol 1'), { status: 'completed', errors: [] })
  t.equal(await series('Manga/Berserk'), 'First')
  rmSync(join(fixture.root, 'Manga/Berserk/series.json'))
  await scanPart(fixture, 'Manga/Berserk/Vol 1')
  t.equal(await series('Manga/Berserk'), 'Berserk', 'removed')

  // A folder with books is known with its file, which a scan below it does not look at.
  describe('Saga', 'Long')
  for (const file of ['Saga/0.cbz', 'Saga/Vol 1/1.cbz']) fixture.put(file)
  await fixture.scan()
  describe('Saga', 'Longer')
  await scanPart(fixture, 'Saga/Vol 1')
  t.equal(await series('Saga'), 'Long')
  await fixture.scan()
  t.equal(await series('Saga'), 'Longer')
})

t.test('the guards are those of a whole scan', async (t) => {
  const folders = (place: string, count: number) => Array.from({ length: count }, (_, index) => `${place}/s${index}/1.cbz`)
  const fixture = await open(t, [...folders('x', 3), ...folders('y', 7), ...Array.from({ length: 5 }, (_, index) => `full/${index}.cbz`)])
  await fixture.scan()
  for (const index of [0, 1, 2]) rmSync(join(fixture.root, `x/s${index}`), { recursive: true })
  t.match(await scanPart(fixture, 'x'), { withheld: [{ folder: 'x/s0', reason: 'vanished' }, {}, {}] }, 'three of eleven folders')
  rmSync(join(fixture.root, 'full'), { recursive: true })
  mkdirSync(join(fixture.root, 'full'))
  const status = await scanPart(fixture, 'full')
  t.match(status.withheld, [{ folder: 'full', reason: 'empty' }])
  await fixture.scan()
  rmSync(join(fixture.root, 'y/s0'), { recursive: true })
  const one = await scanPart(fixture, 'y/s0')
  t.notOk((await fixture.books()).get('y/s0/1.cbz')?.deleted_at === null, 'one folder that vanished whole is marked at once')
  t.same(
    one.withheld?.map(({ folder }) => folder),
    ['full', 'x/s0', 'x/s1', 'x/s2'],
    'what a whole scan withheld elsewhere is still named',
  )
})

t.test('a path that leads out of the library, through a link or to nothing is refused', async (t) => {
  const fixture = await open(t, ['a/1.cbz', 'skip/2.cbz'])
  await fixture.scan()
  const { database, root, libraryId } = fixture
  await database('libraries').update({ excluded_patterns: 'skip' })
  symlinkSync(join(root, 'a'), join(root, 'link'))
  symlinkSync('loop', join(root, 'loop'))
  mkdirSync(join(root, '.hidden'))
  const library = (await findLibraryRow(database, libraryId)) as LibraryRow
  for (const path of [
    '',
    '/etc',
    `${root}/a`,
    '..',
    'a/../..',
    'a//1.cbz',
    './a',
    'link',
    'link/1.cbz',
    'loop',
    'loop/1.cbz',
    'nowhere',
    'a/nowhere',
    `a/${'x'.repeat(300)}`,
    'x/'.repeat(1_250),
    '...',
    'a\n',
    'a/1.cbz/2.cbz',
    'a\0',
    'skip',
    '.hidden',
  ])
    await t.rejects(checkScanPath(database, library, path), { code: 'invalid_value', details: [{ path: '/path' }] }, path)
  for (const [path, part] of [
    ['a', 'a'],
    ['a/', 'a'],
    ['a/1.cbz', 'a'],
    ['.', ''],
  ] as const)
    t.equal(await checkScanPath(database, library, path), part, path)
  rmSync(join(root, 'a'), { recursive: true })
  t.equal(await checkScanPath(database, library, 'a'), 'a', 'books are recorded there')
  t.equal(await checkScanPath(database, library, 'a/1.cbz'), 'a')
  t.same([isInPart('a', 'a'), isInPart('a', 'a/b'), isInPart('a', 'ab'), isInPart('', 'x')], [true, true, false, true])
})
