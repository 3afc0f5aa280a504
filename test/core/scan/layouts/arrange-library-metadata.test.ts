import { existsSync } from 'node:fs'
import t, { type Test } from 'tap'
import type { SeriesStrategy } from '#core/catalog/library.ts'
import { coverPath } from '#core/covers/cover.ts'
import { patchMetadata } from '#core/metadata/edit-metadata.ts'
import { editLibrary } from '#core/scan/edit-library.ts'
import { buildEpub } from '#test/support/epub-builder.ts'
import { type LibraryFixture, openLibraryFixture, until } from '#test/support/library-fixture.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { makePicture } from '#test/support/pictures.ts'
import { findPool } from '#test/support/pool.ts'
import { findRules } from '#test/support/supervisor.ts'
import { buildZip } from '#test/support/zip-builder.ts'

t.setTimeout(240_000)

const page = await makePicture({ width: 40, height: 60 })

const comicOf = (series: string | null, seed: string, more = '') =>
  buildZip([
    { name: '1.jpg', data: page },
    ...(series === null ? [] : [{ name: 'ComicInfo.xml', data: Buffer.from(`<ComicInfo><Series>${series}</Series>${more}</ComicInfo>`) }]),
    { name: 'seed.txt', data: Buffer.from(seed) },
  ])
const opfOf = (title: string, series?: string) =>
  `<package xmlns:opf="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>${title}</dc:title>${
    series ? `<meta name="calibre:series" content="${series}"/><meta name="calibre:series_index" content="2"/>` : ''
  }</metadata></package>`
const epubOf = (title: string, { writer = 'Terry Pratchett', series }: { writer?: string; series?: string } = {}) =>
  buildEpub({
    version: '2.0',
    metadata: `<dc:title>${title}</dc:title><dc:creator opf:role="aut">${writer}</dc:creator>${series ? `<meta name="calibre:series" content="${series}"/>` : ''}`,
  })

/** A library whose analyses wait until `analyze` is called. */
async function open(t: Test, strategy: SeriesStrategy) {
  let go = () => {}
  let gate: Promise<void> = Promise.resolve()
  const fixture = await openLibraryFixture(t, {
    analyze: async (...given) => {
      await gate
      return await findPool().analyze(...given)
    },
  })
  t.teardown(() => go())
  const { database, scans, libraryId } = fixture
  await database('libraries').update({ series_strategy: strategy })
  const settle = async () => {
    // A scan adds the task that moves books a moment after its end.
    await until(
      async () =>
        !(await database('tasks')
          .whereIn('type', ['scan_library', 'analyze_book', 'arrange_library'])
          .whereIn('status', ['pending', 'processing'])
          .first('id')),
    )
  }
  return {
    ...fixture,
    /** Finds files, without reading them. */
    find: async () => {
      gate = new Promise((resolve) => {
        go = resolve
      })
      await scans.start(libraryId)
      await until(async () => (await scans.listActive()).length === 0)
    },
    analyze: async () => {
      go()
      await settle()
    },
    scan: async () => {
      const status = await fixture.scan()
      await settle()
      return status
    },
    settle,
  }
}

const labels = async ({ database }: Pick<LibraryFixture, 'database'>): Promise<Record<string, number>> => {
  const { rows } = await database.raw(
    'SELECT s.path, s.name_key, count(*)::int AS n FROM series s JOIN books b ON b.series_id = s.id GROUP BY s.id',
  )
  type Row = { path: string; name_key: string; n: number }
  return Object.fromEntries((rows as Row[]).map(({ path, name_key, n }) => [name_key === '' ? path : `${path}#${name_key}`, n]))
}
const idsOf = async (fixture: Pick<LibraryFixture, 'books'>) =>
  Object.fromEntries([...(await fixture.books())].map(([path, { id }]) => [path, id]))

t.test('flat: the series in ComicInfo counts once it is read, and what somebody has written stays', async (t) => {
  const fixture = await open(t, 'flat')
  const { database } = fixture
  for (const n of [1, 2]) fixture.put(`In/Btmn 00${n}.cbz`, comicOf('Batman', `b${n}`))
  for (const n of [1, 2]) fixture.put(`In/Saga 00${n}.cbz`, comicOf(n === 1 ? 'Saga' : null, `s${n}`))
  fixture.put('In/scan.cbz', comicOf('Batman', 'x'))
  fixture.put('Other/Batman 001.cbz', comicOf('Batman', 'o'))
  await fixture.find()
  t.same(await labels(fixture), { 'In#btmn': 2, 'In#saga': 2, 'In#scan': 1, 'Other#batman': 1 }, 'by names at once')
  const ids = await idsOf(fixture)
  const by = await addCaller(database, { role: 'admin' })
  const { id } = await database('series').where('name_key', 'btmn').first('id')
  await patchMetadata(database, by, { kind: 'series', ids: [id], patch: { title: 'My Batman', summary: 'Mine' } })
  await patchMetadata(database, by, { kind: 'book', ids: [ids['In/scan.cbz'] as string], patch: { title: 'My scan', number: 7 } })
  await fixture.analyze()
  t.same(await labels(fixture), { 'In#batman': 3, 'In#saga': 2, 'Other#batman': 1 })
  t.same(await idsOf(fixture), ids, 'the books are the same')
  t.match(await database('series').where('name_key', 'batman').where('path', 'In').first(), { id, title: 'My Batman' })
  t.match(await database('series_metadata').where('series_id', id).first(), { summary: 'Mine' })
  t.match(await database('books').where('id', ids['In/scan.cbz']).first(), { title: 'My scan', number: 7 })
  t.match(await database('series').where('path', 'Other').first(), { title: 'Batman' }, 'equal names in different places stay apart')
})

t.test('books are grouped by their metadata once; another layout groups them anew', async (t) => {
  const fixture = await open(t, 'flat')
  const { database, tasks, dataFolder, libraryId } = fixture
  fixture.put('In/a.cbz', comicOf('One', 'a'))
  fixture.put('In/b.cbz', comicOf('One', 'b'))
  await fixture.scan()
  t.same(await labels(fixture), { 'In#one': 2 })
  fixture.put('In/b.cbz', comicOf('Two', 'b, tagged anew'))
  fixture.put('In/c.cbz', comicOf('Three', 'c'))
  await fixture.scan()
  t.same(await labels(fixture), { 'In#one': 2, 'In#three': 1 }, 'a new file is grouped, and one that has changed is not moved')
  fixture.put('In/c.cbz', comicOf(null, 'c, without a series'))
  await fixture.scan()
  t.same(await labels(fixture), { 'In#one': 2, 'In#three': 1 })
  const parts = { database, tasks, rules: findRules(), settings: { dataFolder } }
  for (const seriesStrategy of ['series_volume', 'flat'] as const) {
    await editLibrary(parts, libraryId, { seriesStrategy })
    await fixture.settle()
  }
  t.same(await labels(fixture), { 'In#one': 1, 'In#two': 1, 'In#c': 1 }, 'by what the files say now')
})

t.test('an age rating that a person has cleared does not come back where a series is divided', async (t) => {
  const fixture = await open(t, 'series_volume')
  const { database, tasks, dataFolder, libraryId } = fixture
  for (const name of ['One', 'Two']) fixture.put(`In/${name} 1.cbz`, comicOf(name, name, '<AgeRating>Teen</AgeRating>'))
  await fixture.scan()
  const { id } = await database('series').first('id')
  t.match(await database('series_metadata').first(), { age_rating: 13 })
  const by = await addCaller(database, { role: 'admin' })
  for (const ageRating of [6, null]) await patchMetadata(database, by, { kind: 'series', ids: [id], patch: { ageRating } })
  await editLibrary({ database, tasks, rules: findRules(), settings: { dataFolder } }, libraryId, { seriesStrategy: 'flat' })
  await fixture.settle()
  t.same(await labels(fixture), { 'In#one': 1, 'In#two': 1 })
  t.same(await database('series_metadata').pluck('age_rating'), [null, null])
})

t.test('calibre: series of metadata.opf, one book of several formats, its cover, and no id in titles', async (t) => {
  const fixture = await open(t, 'calibre')
  const { database, dataFolder } = fixture
  const cover = await makePicture({ width: 90, height: 30 })
  for (const [n, title] of ['The Final Empire', 'The Well'].entries()) {
    const folder = `Sanderson/${title} (${n + 1})`
    fixture.put(`${folder}/${title} - Sanderson.epub`, epubOf(title))
    fixture.put(`${folder}/metadata.opf`, opfOf(title, 'Mistborn'))
    fixture.put(`${folder}/cover.jpg`, cover)
  }
  fixture.put('Sanderson/The Well (2)/The Well - Sanderson.pdf', 'never read')
  fixture.put('Sanderson/Elantris (3)/Elantris - Sanderson.epub', buildEpub({ metadata: '' }))
  await fixture.find()
  const ids = await idsOf(fixture)
  const leftOut = { count: 1, files: ['Sanderson/The Well (2)/The Well - Sanderson.pdf'] }
  t.match(await fixture.scans.getStatus(fixture.libraryId), { leftOut })
  t.equal(Object.keys(ids).length, 3, 'the other format is no book')
  await fixture.analyze()
  t.same(await idsOf(fixture), ids)
  t.same(await labels(fixture), { '#mistborn': 2, 'Sanderson/Elantris (3)/Elantris - Sanderson.epub': 1 })
  t.same(await database('series').orderBy('title').pluck('title'), ['Elantris', 'Mistborn'])
  const books = await database('books').orderBy('title').select('id', 'title', 'number')
  t.same(
    books.filter(({ title }) => /\(\d+\)/.test(title)),
    [],
  )
  t.match(
    books.filter(({ title }) => title.startsWith('The ')),
    [{ number: 2 }, { number: 2 }],
    'the index is that of metadata.opf',
  )
  t.match(await fixture.scan(), { leftOut }, 'also when nothing has changed')
  for (const { id, title } of books) t.equal(existsSync(coverPath(dataFolder, id)), title.startsWith('The '), title)
})

t.test('auto: the books of a person are told apart when they are analyzed', async (t) => {
  const fixture = await open(t, 'auto')
  for (const title of ['Mort', 'Sourcery']) fixture.put(`Pratchett, Terry/${title}.epub`, epubOf(title, { series: 'Discworld' }))
  for (const title of ['Nation', 'Dodger']) fixture.put(`Pratchett, Terry/${title}.epub`, epubOf(title))
  for (const title of ['Dune', 'Messiah', 'Heretics'])
    fixture.put(`Frank Herbert/${title}.epub`, epubOf(title, { writer: 'Frank Herbert', series: 'Dune' }))
  for (const title of ['One', 'Another']) fixture.put(`Not a person/${title}.epub`, epubOf(title))
  await fixture.find()
  t.same(await labels(fixture), { 'Pratchett, Terry': 4, 'Frank Herbert': 3, 'Not a person': 2 })
  const ids = await idsOf(fixture)
  await fixture.analyze()
  const apart = {
    'Pratchett, Terry#discworld': 2,
    'Pratchett, Terry/Nation.epub': 1,
    'Pratchett, Terry/Dodger.epub': 1,
    'Frank Herbert': 3,
    'Not a person': 2,
  }
  t.same(await labels(fixture), apart)
  t.same(await idsOf(fixture), ids)
  fixture.put('Pratchett, Terry/Mort.epub', epubOf('Mort', { series: 'Death' }))
  fixture.put('Not a person/Third.epub', epubOf('Third', { writer: 'Not a Person' }))
  await fixture.scan()
  t.same(await labels(fixture), { ...apart, 'Not a person': 3 }, 'what is decided stays')
})

t.test('auto: the books of a person are told apart also when the first one comes alone', async (t) => {
  const fixture = await open(t, 'auto')
  fixture.put('Terry Pratchett/Mort.epub', epubOf('Mort', { series: 'Discworld' }))
  await fixture.scan()
  t.same(await labels(fixture), { 'Terry Pratchett': 1 }, 'one book agrees with itself')
  const ids = await idsOf(fixture)
  for (const title of ['Nation', 'Dodger']) fixture.put(`Terry Pratchett/${title}.epub`, epubOf(title))
  await fixture.scan()
  t.same(await labels(fixture), { 'Terry Pratchett#discworld': 1, 'Terry Pratchett/Nation.epub': 1, 'Terry Pratchett/Dodger.epub': 1 })
  t.match(await idsOf(fixture), ids)
})
