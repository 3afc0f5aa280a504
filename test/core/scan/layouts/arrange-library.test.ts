import t, { type Test } from 'tap'
import { missingSuffix } from '#core/catalog/library-folder.ts'
import { editLibrary, previewLayout } from '#core/scan/edit-library.ts'
import { filesOf } from '#test/core/scan/layouts.table.ts'
import { type LibraryFixture, openLibraryFixture, until } from '#test/support/library-fixture.ts'
import { findRules } from '#test/support/supervisor.ts'

t.setTimeout(240_000)

const labels = async ({ database }: LibraryFixture): Promise<Record<string, number>> => {
  const { rows } = await database.raw(
    'SELECT s.path, s.name_key, count(*)::int AS n FROM series s JOIN books b ON b.series_id = s.id GROUP BY s.id',
  )
  return Object.fromEntries(
    rows.map((row: { path: string; name_key: string; n: number }) => [
      row.name_key === '' ? row.path : `${row.path}#${row.name_key}`,
      row.n,
    ]),
  )
}
const partsOf = ({ database, tasks, dataFolder }: LibraryFixture) => ({ database, tasks, rules: findRules(), settings: { dataFolder } })
const settled = ({ database }: LibraryFixture) =>
  until(async () => {
    const open = await database('tasks').where('type', 'arrange_library').whereIn('status', ['pending', 'processing']).first('id')
    return open === undefined
  })
const editLayout = async (fixture: LibraryFixture, request: Parameters<typeof editLibrary>[2]) => {
  await editLibrary(partsOf(fixture), fixture.libraryId, request)
  await settled(fixture)
}
const preview = (fixture: LibraryFixture, request: Parameters<typeof editLibrary>[2]) =>
  previewLayout(partsOf(fixture), fixture.libraryId, { request, by: null, signal: new AbortController().signal })

t.test('a scan with auto places books by the rules, and a later file changes no decision', async (t) => {
  const fixture = await openLibraryFixture(t, {
    files: [
      'Manga/Berserk/Vol 1/one.cbz',
      'Manga/Berserk/Vol 2/two.cbz',
      'Manga/Berserk/Specials/Special.cbz',
      'One Shots/Maus.cbz',
      'In/Batman 001.cbz',
      'In/Batman 002.cbz',
      'In/Saga 001.cbz',
      'In/Saga 002.cbz',
      'DC/Batman (2011)/Batman 001.cbz',
      'DC/Batman (2016)/Batman 001.cbz',
      'Hulk/Hulk 001.cbz',
    ],
  })
  await fixture.database('libraries').update({ series_strategy: 'auto' })
  await fixture.scan()
  t.same(await labels(fixture), {
    'Manga/Berserk': 3,
    'One Shots/Maus.cbz': 1,
    'In#batman': 2,
    'In#saga': 2,
    'DC/Batman (2011)': 1,
    'DC/Batman (2016)': 1,
    Hulk: 1,
  })
  const books = await fixture.database('books').orderBy('path').select('file_name', 'volume', 'number', 'side')
  t.match(
    books.filter(({ file_name }) => ['one.cbz', 'two.cbz', 'Special.cbz'].includes(file_name)),
    [
      { file_name: 'Special.cbz', number: null, side: true },
      { file_name: 'one.cbz', volume: 1, side: false },
      { file_name: 'two.cbz', volume: 2, side: false },
    ],
  )
  const publisher = await fixture
    .database('series_metadata')
    .join('series', 'id', 'series_id')
    .where('path', 'like', 'DC/%')
    .select('publisher', 'sources')
  t.match(publisher, [{ publisher: 'DC', sources: { publisher: 'file_name' } }, { publisher: 'DC' }])

  for (const file of ['Hulk/Thor 001.cbz', 'Hulk/Thor 002.cbz', 'Hulk/Hulk 002.cbz', 'Manga/Berserk/Vol 3/three.cbz', 'In/Thor 001.cbz'])
    fixture.put(file)
  await fixture.scan()
  await settled(fixture)
  t.match(
    await labels(fixture),
    { Hulk: 4, 'Manga/Berserk': 4, 'In#batman': 2, 'In#thor': 1 },
    'the folder stays a series, and the bundle a bundle',
  )
})

const OPF =
  '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>One</dc:title></metadata></package>'

/** Scans the files with `auto`, those of each step after the ones before. */
async function scanInSteps(t: Test, steps: readonly (readonly string[])[]): Promise<LibraryFixture> {
  const fixture = await openLibraryFixture(t)
  await fixture.database('libraries').update({ series_strategy: 'auto' })
  for (const files of steps) {
    for (const file of filesOf({ files })) fixture.put(file, file.endsWith('.opf') ? OPF : undefined)
    await fixture.scan()
    await settled(fixture)
  }
  return fixture
}
const makeOld = async ({ database }: LibraryFixture) =>
  await database('books').update({ created_at: database.raw(`now() - interval '2 days'`) })

t.test('a tree that arrives in several steps has the series of the tree that is scanned at once', async (t) => {
  const steps = [
    [
      'Saga 001.cbz',
      'Watchmen.cbz',
      'Downloads/Batman {001-006}.cbz',
      'Events/Civil War 01.cbz',
      'Mix/Abe {01-02}.cbz',
      'Mix/Hellboy {01-02}.cbz',
      'Magazines/2023/Wired 2023-01.cbz',
      'Saga (2012)/Saga 001.cbz',
      'Saga (2012)/metadata.opf',
      'Austen/Emma (7)/Emma.cbz',
    ],
    [
      'Saga 002.cbz',
      'Downloads/Saga 001.cbz',
      'Events/Civil War 02.cbz',
      'Events/Secret Invasion {01-02}.cbz',
      'Mix/Hellboy {03-09}.cbz',
      'Magazines/2023/Time 2023-01.cbz',
      'Saga (2012)/Saga 002.cbz',
      'Austen/Emma (7)/metadata.opf',
    ],
    ['Downloads/Saga 002.cbz', 'Downloads/Thor {001-002}.cbz', 'Magazines/2024/Wired 2024-01.cbz'],
  ]
  const series = {
    '#saga': 2,
    'Watchmen.cbz': 1,
    'Downloads#batman': 6,
    'Downloads#saga': 2,
    'Downloads#thor': 2,
    'Events#civil war': 2,
    'Events#secret invasion': 2,
    Mix: 11,
    'Magazines#wired': 2,
    'Magazines#time': 1,
    'Saga (2012)': 2,
    'Austen/Emma (7)/Emma.cbz': 1,
  }
  t.same(await labels(await scanInSteps(t, [steps.flat()])), series)
  t.same(await labels(await scanInSteps(t, steps)), series)
})

t.test('a folder that becomes a bundle keeps its series for the name that most of its books have', async (t) => {
  const fixture = await scanInSteps(t, [['Downloads/Batman {001-006}.cbz']])
  const known = await fixture.database('series').first('id')
  const before = await fixture.books()
  for (const file of filesOf({ files: ['Downloads/Saga {001-003}.cbz'] })) fixture.put(file)
  await fixture.scan()
  await settled(fixture)
  t.same(await labels(fixture), { 'Downloads#batman': 6, 'Downloads#saga': 3 })
  t.match(await fixture.database('series').where('name_key', 'batman').first(), { id: known.id, title: 'Batman' })
  const after = await fixture.books()
  for (const [path, { id }] of before) t.equal(after.get(path)?.id, id, path)
})

t.test('one new file regroups no folder whose books came long ago; as many as it had are decided about with them', async (t) => {
  const fixture = await scanInSteps(t, [['Mix/Hellboy {01-09}.cbz', 'Mix/Abe {01-02}.cbz', 'Downloads/Batman {001-004}.cbz']])
  await makeOld(fixture)
  for (const file of ['Mix/Abe 03.cbz', 'Downloads/Saga 001.cbz', 'Downloads/Saga 002.cbz']) fixture.put(file)
  await fixture.scan()
  await settled(fixture)
  t.same(await labels(fixture), { Mix: 12, Downloads: 6 })
  for (const file of filesOf({ files: ['Downloads/Saga {003-006}.cbz'] })) fixture.put(file)
  await fixture.scan()
  await settled(fixture)
  t.same(await labels(fixture), { Mix: 12, 'Downloads#batman': 4, 'Downloads#saga': 6 })
})

t.test(
  'with auto from now on, only a metadata.opf makes a folder with a number one of Calibre, no other file beside the book',
  async (t) => {
    const fixture = await openLibraryFixture(t, { files: ['Saga (2012)/Saga 001.cbz', 'Austen/Emma (7)/Emma.cbz'] })
    fixture.put('Saga (2012)/ComicInfo.xml', '<ComicInfo><Title>One</Title></ComicInfo>')
    fixture.put('Austen/Emma (7)/metadata.opf', OPF)
    await fixture.scan()
    await editLayout(fixture, { seriesStrategy: 'auto' })
    t.same(await labels(fixture), { 'Saga (2012)': 1, 'Austen/Emma (7)/Emma.cbz': 1 })
    fixture.put('Saga (2012)/Saga 002.cbz')
    await fixture.scan()
    await settled(fixture)
    t.match(await labels(fixture), { 'Saga (2012)': 2 })
  },
)

t.test('another layout moves books, which keep everything', async (t) => {
  const files = ['Manga/Berserk/Vol 1/a.cbz', 'Manga/Berserk/Vol 1/b.cbz', 'Manga/Berserk/Vol 2/c.cbz', 'Manga/Monster/Vol 1/d.cbz']
  const fixture = await openLibraryFixture(t, { files })
  await fixture.scan()
  const before = await fixture.books()
  const { database } = fixture
  const first = await database('series').where('path', 'Manga/Berserk/Vol 1').first('id')
  const second = await database('series').where('path', 'Manga/Berserk/Vol 2').first('id')
  const [tag] = await database('sharing_tags').insert({ name: 'adults' }, ['id'])
  await database('series_sharing_tags').insert({ series_id: second.id, sharing_tag_id: tag.id })
  const request = { seriesStrategy: 'series_volume_chapter' as const }
  const shown = await preview(fixture, request)
  t.match(shown, { booksMoved: 1, seriesKept: 2, seriesNew: 0, seriesRemoved: 1, examples: [{ rule: 'part' }] })
  t.same((await fixture.books()).size, before.size)
  t.match(await labels(fixture), { 'Manga/Berserk/Vol 2': 1 }, 'a preview moves nothing')

  await editLayout(fixture, request)
  t.same(await labels(fixture), { 'Manga/Berserk': 3, 'Manga/Monster': 1 })
  const after = await fixture.books()
  for (const [path, { id }] of before) t.equal(after.get(path)?.id, id, path)
  t.match(
    await database('series').where('id', first.id).first(),
    { path: 'Manga/Berserk', title: 'Berserk' },
    'the larger series keeps its row',
  )
  t.equal(await database('series').where('id', second.id).first('id'), undefined)
  t.same(await database('series_sharing_tags').pluck('series_id'), [first.id], 'what was hidden stays hidden')
  t.match(await database('libraries').first(), { series_strategy: 'series_volume_chapter', arrange_due: false })

  await editLayout(fixture, { seriesStrategy: 'series_volume' })
  t.same(await labels(fixture), { 'Manga/Berserk/Vol 1': 2, 'Manga/Berserk/Vol 2': 1, 'Manga/Monster/Vol 1': 1 })
  t.equal((await database('series_sharing_tags')).length, 2, 'every part of a tagged series is tagged')
  await fixture.scan()
  t.match(await labels(fixture), { 'Manga/Berserk/Vol 1': 2 })
})

t.test('settings of a layout are checked, and a change during a scan is refused', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['DC/Batman/1.cbz', 'DC/Saga/1.cbz', 'Loose.cbz'] })
  await fixture.scan()
  const refuse = (request: Parameters<typeof editLibrary>[2], path: string) =>
    t.rejects(editLibrary(partsOf(fixture), fixture.libraryId, request), { code: 'invalid_value', details: [{ path }] }, path)
  await refuse({ seriesConfig: { skipDepth: 1 } }, '/seriesConfig')
  await refuse({ seriesStrategy: 'publisher_hierarchy', seriesConfig: { skipDepth: 0 } }, '/seriesConfig/skipDepth')
  await refuse({ seriesStrategy: 'custom', seriesConfig: { pattern: '^(.*)$' } }, '/seriesConfig/pattern')
  await refuse({ seriesStrategy: 'custom', seriesConfig: { pattern: '(?P<series>' } }, '/seriesConfig/pattern')
  await refuse({ seriesStrategy: 'custom', seriesConfig: { pattern: '(?P<series>a)(?P<series>b)' } }, '/seriesConfig/pattern')
  await refuse({ seriesStrategy: 'custom' }, '/seriesConfig')
  await refuse({ seriesStrategy: 'custom', seriesConfig: { pattern: '(?P<series>Nowhere)/' } }, '/seriesConfig/pattern')
  await refuse({ seriesStrategy: 'flat', seriesConfig: { filenamePatterns: ['(?P<series>Nowhere)'] } }, '/seriesConfig/filenamePatterns')
  await editLayout(fixture, {
    seriesStrategy: 'custom',
    seriesConfig: { pattern: '^(?P<publisher>[^/]+)/(?P<series>[^/]+)/(?P<number>\\d+)\\.cbz$' },
  })
  t.same(await labels(fixture), { '#dc/batman': 1, '#dc/saga': 1, '#unsorted': 1 })
  t.match(await fixture.database('series').orderBy('title').pluck('title'), ['Batman', 'Saga', 'Unsorted'])
  const status = await fixture.scan()
  t.match(status, { seriesFound: 3, warnings: [/^1 book is in the series "Unsorted"/] })
})

t.test('a flat library is grouped by its files at once', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['Batman 001.cbz', 'Batman 002.cbz', 'Saga 001.cbz'] })
  await fixture.database('libraries').update({ series_strategy: 'flat' })
  await fixture.scan()
  await settled(fixture)
  t.same(await labels(fixture), { '#batman': 2, '#saga': 1 })
})

t.test('a missing book whose path another one has moves with that one', async (t) => {
  const files = ['Manga/Berserk/Vol 1/one.cbz', ...['two', 'three', 'four'].map((name) => `Manga/Berserk/Vol 2/${name}.cbz`)]
  const fixture = await openLibraryFixture(t, { files })
  await fixture.scan()
  const books = await fixture.books()
  const [one, two] = files.map((path) => books.get(path))
  if (!one || !two) return t.fail('both are books')
  const place = { path: one.path + missingSuffix(two.id), series_id: one.series_id, deleted_at: new Date() }
  await fixture.database('books').where('id', two.id).update(place)
  t.same(await labels(fixture), { 'Manga/Berserk/Vol 1': 2, 'Manga/Berserk/Vol 2': 2 })
  await editLayout(fixture, { seriesStrategy: 'series_volume_chapter' })
  t.same(await labels(fixture), { 'Manga/Berserk': 4 })
})
