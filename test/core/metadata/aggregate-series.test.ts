import { renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { queueAnalyses } from '#core/analysis/analyze-book.ts'
import type { Analyze } from '#core/fields/analysis.ts'
import { patchMetadata } from '#core/metadata/edit-metadata.ts'
import { comic, type LibraryFixture, openLibraryFixture, until } from '#test/support/library-fixture.ts'
import { addCaller, listOrphanedPeople } from '#test/support/library-rows.ts'
import { buildZip } from '#test/support/zip-builder.ts'
import { openPool } from '#workers/pool/pool.ts'

t.setTimeout(240_000)

const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
const described = (publisher: string, number: number) =>
  buildZip([
    { name: '1.gif', data: PIXEL },
    {
      name: 'ComicInfo.xml',
      data: Buffer.from(
        `<ComicInfo><Publisher>${publisher}</Publisher><Writer>A ${publisher}</Writer><Number>${number}</Number></ComicInfo>`,
      ),
    },
  ])

t.test('a series aggregates the metadata of all its books, whichever is analyzed last', async (t) => {
  const fixture = await openLibraryFixture(t)
  for (let number = 1; number <= 12; number++) fixture.put(`Mixed/${number}.cbz`, described(number % 4 === 0 ? 'Guest' : 'House', number))
  fixture.put('Mixed/13 plain.cbz', comic('plain'))
  fixture.put('Mixed/14 broken.cbz', 'this is not an archive')
  await fixture.scan()
  const seriesOf = async (path: string) => await fixture.database('series').where({ path }).first('id', 'aggregate_due')
  const publisherOf = async (path: string) => {
    const { id } = await seriesOf(path)
    return (await fixture.database('series_metadata').where('series_id', id).first('publisher'))?.publisher ?? null
  }
  t.equal(await publisherOf('Mixed'), 'House', 'the value of the majority')
  t.equal((await seriesOf('Mixed')).aggregate_due, false, 'no aggregation is due')
  const people = fixture.database('series_people').join('people', 'people.id', 'person_id').pluck('name')
  t.same(await people, ['A House'], 'and its people')
  t.same(await listOrphanedPeople(fixture.database), [])

  // The state that a kill -9 between the last book and its series leaves.
  const { id } = await seriesOf('Mixed')
  await fixture.database('series_metadata').where('series_id', id).update({ publisher: 'Guest' })
  await fixture.database('series').where({ id }).update({ aggregate_due: true })
  await fixture.scan()
  t.equal(await publisherOf('Mixed'), 'House', 'the next scan aggregates what was due')
  t.equal((await seriesOf('Mixed')).aggregate_due, false)

  fixture.put('Mixed/1.cbz', described('Guest', 1))
  await fixture.scan()
  t.equal(await publisherOf('Mixed'), 'House', 'one changed book counts at once and does not outvote the others')

  // Books that move away no longer contribute.
  for (const number of [2, 3, 5, 6, 7, 9, 10, 11]) {
    fixture.put('Other/stays.cbz', comic('other'))
    renameSync(join(fixture.root, `Mixed/${number}.cbz`), join(fixture.root, `Other/${number}.cbz`))
  }
  await fixture.scan()
  t.equal(await publisherOf('Other'), 'House')
  t.equal(await publisherOf('Mixed'), 'Guest', 'the series that they left has the metadata of the remaining books')
  t.same(await listOrphanedPeople(fixture.database), [])
})

async function publisherOf(fixture: LibraryFixture, path: string): Promise<string | null> {
  const row = await fixture
    .database('series')
    .join('series_metadata', 'series_metadata.series_id', 'series.id')
    .where({ path, library_id: fixture.libraryId })
    .first('publisher')
  return row?.publisher ?? null
}

/** The real analysis, with a pause before its result is written. */
function withMoment(t: Test, moment: (path: string) => Promise<void>): Analyze {
  const pool = openPool({ threads: 2, memoryMbMax: 256, deadlineMs: 20_000 })
  t.teardown(() => pool.close())
  return async (request, more) => {
    const analysis = await pool.analyze(request, more)
    await moment(request.path)
    return analysis
  }
}

t.test('two analyses that end at the same time still aggregate their series', async (t) => {
  const gates = new Map(['plain a.cbz', 'plain b.cbz'].map((name) => [name, Promise.withResolvers<void>()]))
  const fixture = await openLibraryFixture(t, {
    analyze: withMoment(t, async (path) => await gates.get(basename(path))?.promise),
  })
  const { database } = fixture
  fixture.put('Run/1.cbz', described('Guest', 1))
  for (const name of gates.keys()) fixture.put(`Run/${name}`, comic(name))
  for (const number of [2, 3, 4, 5]) fixture.put(`Run/${number}.cbz`, described('House', number))
  const scanned = fixture.scan()
  const bookOf = async (name: string) => (await fixture.books()).get(`Run/${name}`)
  await until(async () => (await database('books').where('state', 'analyzed')).length === 5)

  // Stops one transaction after it has seen the other book waiting.
  const stop = await database.transaction()
  await stop('book_pages').insert({ book_id: (await bookOf('plain a.cbz'))?.id, pages: '[]' })
  gates.get('plain a.cbz')?.resolve()
  await until(async () => {
    const { rows } = await database.raw(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
    return rows.length > 0
  })
  gates.get('plain b.cbz')?.resolve()
  await until(async () => (await bookOf('plain b.cbz'))?.state === 'analyzed')
  await stop.rollback()
  await scanned
  t.equal(await publisherOf(fixture, 'Run'), 'House')
  t.equal((await database('series').first('aggregate_due')).aggregate_due, false, 'it does not wait for another scan')
})

const rated = (rating: string) =>
  buildZip([
    { name: '1.gif', data: PIXEL },
    { name: 'ComicInfo.xml', data: Buffer.from(`<ComicInfo><Series>${rating}</Series><AgeRating>${rating}</AgeRating></ComicInfo>`) },
  ])

t.test('the age rating of a series rises as soon as one file says so, and falls when the others are done', async (t) => {
  const gates = new Map<string, PromiseWithResolvers<void>>()
  const fixture = await openLibraryFixture(t, { analyze: withMoment(t, async (path) => await gates.get(basename(path))?.promise) })
  const { database } = fixture
  const hold = (...names: string[]) => {
    for (const name of names) gates.set(name, Promise.withResolvers<void>())
  }
  const ageOf = async () => (await database('series_metadata').first('age_rating'))?.age_rating ?? null
  const pending = async () => (await fixture.books()).get('Run/last.cbz')?.state === 'pending'
  fixture.put('Run/1.cbz', rated('PG'))
  fixture.put('Run/2.cbz', rated('Adults Only 18+'))
  fixture.put('Run/last.cbz', comic('last'))
  hold('2.cbz', 'last.cbz')
  let scanned = fixture.scan()
  await until(async () => (await ageOf()) === 8)
  gates.get('2.cbz')?.resolve()
  await until(async () => (await ageOf()) === 18)
  t.equal(await pending(), true, 'while another book waits')
  gates.get('last.cbz')?.resolve()
  await scanned
  t.equal(await ageOf(), 18, 'and so it is when all are done, although no two books name one series')

  renameSync(join(fixture.root, 'Run/2.cbz'), join(fixture.root, '2.away'))
  await fixture.scan()
  t.equal(await ageOf(), 8, 'the book is gone')
  renameSync(join(fixture.root, '2.away'), join(fixture.root, 'Run/2.cbz'))
  fixture.put('Run/last.cbz', comic('another'))
  hold('last.cbz')
  scanned = fixture.scan()
  await until(async () => (await ageOf()) === 18)
  t.equal(await pending(), true, 'it is back, and counts before others are analyzed')
  gates.get('last.cbz')?.resolve()
  await scanned
  t.equal(await ageOf(), 18)
})

t.test('no file raises an age rating that a person or the file of the series gave', async (t) => {
  const gate = Promise.withResolvers<void>()
  const fixture = await openLibraryFixture(t, {
    analyze: withMoment(t, async (path) => void (basename(path) === 'last.cbz' && (await gate.promise))),
  })
  const { database } = fixture
  const folders = ['Person', 'Locked', 'File', 'Free']
  const put = (name: string, content: Buffer) => {
    for (const folder of folders) fixture.put(`${folder}/${name}`, content)
  }
  put('1.cbz', rated('PG'))
  fixture.put('File/series.json', JSON.stringify({ metadata: { name: 'File', age_rating: '9+' } }))
  await fixture.scan()
  const agesOf = async () => {
    const rows = await database('series').leftJoin('series_metadata', 'series_id', 'series.id').select('series.path', 'age_rating')
    return Object.fromEntries(rows.map(({ path, age_rating }) => [path, age_rating]))
  }
  t.same(await agesOf(), { Person: 8, Locked: 8, File: 9, Free: 8 })
  const ofSeries = (path: string) => database('series_metadata').whereIn('series_id', database('series').where({ path }).select('id'))
  const { id } = await database('series').where('path', 'Person').first('id')
  await patchMetadata(database, await addCaller(database, { role: 'admin' }), { kind: 'series', ids: [id], patch: { ageRating: 6 } })
  await ofSeries('Person').update({ locks: [] })
  await ofSeries('Locked').update({ locks: ['ageRating'] })

  put('2.cbz', rated('Teen'))
  put('last.cbz', comic('last'))
  const scanned = fixture.scan()
  await until(async () => (await database('books').where('state', 'analyzed')).length === 8)
  await until(async () => (await agesOf()).Free === 13)
  const expected = { Person: 6, Locked: 8, File: 9, Free: 13 }
  t.same(await agesOf(), expected, 'while other books wait')
  gate.resolve()
  await scanned
  t.same(await agesOf(), expected, 'and after')
})

t.test('the last pending book vanishes before its analysis', async (t) => {
  const analyze = withMoment(t, async (path) => {
    if (!path.endsWith('gone.cbz')) return
    await until(async () => (await fixture.database('books').where('state', 'pending')).length === 1)
    rmSync(path)
  })
  const fixture = await openLibraryFixture(t, { analyze })
  fixture.put('Run/1.cbz', described('Guest', 1))
  for (const number of [2, 3]) fixture.put(`Run/${number}.cbz`, described('House', number))
  fixture.put('Run/gone.cbz', described('Guest', 9))
  await fixture.scan()
  // Only a scan marks a book as deleted.
  await fixture.scan()
  t.equal(await publisherOf(fixture, 'Run'), 'House')
  t.equal((await fixture.database('series').first('aggregate_due')).aggregate_due, false)
})

t.test('a task that is repeated after the server was killed aggregates what is due', async (t) => {
  const fixture = await openLibraryFixture(t)
  for (const number of [1, 2]) fixture.put(`Run/${number}.cbz`, described('House', number))
  await fixture.scan()
  const [book] = (await fixture.books()).values()
  // The book was written, but its series was not.
  await fixture.database('series_metadata').update({ publisher: 'Guest' })
  await fixture.database('series').update({ aggregate_due: true })
  await queueAnalyses(fixture.tasks, fixture.libraryId, [book?.id as string], { deep: false })
  await until(async () => (await publisherOf(fixture, 'Run')) === 'House')
  t.equal((await fixture.database('series').first('aggregate_due')).aggregate_due, false, 'without another scan')
})
