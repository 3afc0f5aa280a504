import { existsSync, readdirSync, readFileSync, renameSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { analyzeBook, queueAnalyses } from '#core/analysis/analyze-book.ts'
import { getLibraryRow } from '#core/analysis/named-records.ts'
import { removeCovers, writeCover } from '#core/covers/book-cover-files.ts'
import { coverPath } from '#core/covers/cover.ts'
import type { Analysis, Analyze, Problem } from '#core/fields/analysis.ts'
import { silentLog } from '#core/foundation/log.ts'
import { storable } from '#core/foundation/storable-text.ts'
import { recordFiles } from '#core/scan/found-file-store.ts'
import { purgeDeleted } from '#core/scan/purge-deleted.ts'
import { countTasks } from '#core/tasks/task-query.ts'
import { factsOfFile, fakeAnalysis } from '#test/support/analyses.ts'
import { type LibraryFixture, openLibraryFixture, until } from '#test/support/library-fixture.ts'
import { makePicture } from '#test/support/pictures.ts'
import { findRules } from '#test/support/supervisor.ts'
import { buildZip } from '#test/support/zip-builder.ts'

t.setTimeout(240_000)

const errorsOf = async (fixture: LibraryFixture, fileName: string) => {
  const rows = await fixture
    .database('book_errors')
    .join('books', 'books.id', 'book_errors.book_id')
    .where({ file_name: fileName })
    .orderBy('error_type')
    .select('error_type', 'message', 'fatal', 'details')
  return rows as { error_type: string; message: string; fatal: boolean; details: unknown }[]
}

const problem = (type: Problem['type'], fatal = false): Problem => ({ type, message: `${type} went wrong`, fatal })

t.test('everything that the analysis found is written', async (t) => {
  const fixture = await openLibraryFixture(t)
  const page = await makePicture({ width: 600, height: 900 })
  fixture.put(
    'a/Book v02 c5.5.cbz',
    buildZip([
      { name: 'p10.jpg', data: page },
      { name: 'p2.jpg', data: page },
    ]),
  )
  fixture.put('keep.cbz')
  await fixture.scan()
  const book = (await fixture.books()).get('a/Book v02 c5.5.cbz')
  t.match(book, {
    state: 'analyzed',
    page_count: 2,
    page_source: 'zip',
    file_format: 'cbz',
    title: 'Book v02 c5.5',
    number: 5.5,
    volume: 2,
    chapter: 5.5,
    file_hash: /^[0-9a-f]{64}$/,
    reader_hash: /^[0-9a-f]{32}$/,
    cover_hash: /^[0-9a-f]{64}$/,
  })
  const { pages } = await fixture.database('book_pages').where('book_id', book?.id).first('pages')
  t.match(pages, [
    { name: 'p2.jpg', width: 600, height: 900, mediaType: 'image/jpeg', bytes: page.length, zip: { method: 0 } },
    { name: 'p10.jpg' },
  ])
  const cover = coverPath(fixture.dataFolder, book?.id as string)
  t.equal(readFileSync(cover).subarray(0, 2).toString('hex'), 'ffd8')
  // Those of other books are in the same folder when their ids begin alike.
  const covers = [...(await fixture.books()).values()].map(({ id }) => `${id}.jpg`)
  const others = readdirSync(join(cover, '..')).filter((name) => !covers.includes(name))
  t.same(others, [], 'no incomplete file is beside it')

  unlinkSync(join(fixture.root, 'a/Book v02 c5.5.cbz'))
  await fixture.scan()
  t.equal(await purgeDeleted(fixture, fixture.libraryId), 1)
  t.notOk(existsSync(cover), 'its cover goes with the book')
  t.equal(await purgeDeleted(fixture, fixture.libraryId), 0)
})

t.test('errors are added and removed with the steps they belong to', async (t) => {
  let answer = fakeAnalysis()
  const fixture = await openLibraryFixture(t, { files: ['a.cbz'], analyze: async () => answer })
  const again = async (next: Analysis) => {
    answer = next
    const { id } = (await fixture.books()).get('a.cbz') ?? { id: '' }
    await queueAnalyses(fixture.tasks, fixture.libraryId, [id], { deep: false, force: true })
    await until(async () => {
      const { pending, processing } = await countTasks(fixture.database)
      return pending + processing === 0
    })
    return (await errorsOf(fixture, 'a.cbz')).map((row) => row.error_type)
  }
  await fixture.scan()
  t.same(await errorsOf(fixture, 'a.cbz'), [])
  t.same(
    await again(fakeAnalysis({ problems: [problem('metadata'), problem('thumbnail'), { ...problem('thumbnail'), message: 'twice' }] })),
    ['metadata', 'thumbnail'],
  )
  t.equal((await fixture.books()).get('a.cbz')?.state, 'analyzed', 'readable all the same')
  t.same(
    await again(fakeAnalysis({ problems: [problem('parser', true)] })),
    ['metadata', 'parser', 'thumbnail'],
    'steps that were not tried say nothing new',
  )
  t.equal((await fixture.books()).get('a.cbz')?.state, 'failed')
  t.same(await again(fakeAnalysis({ problems: [problem('thumbnail')] })), ['thumbnail'])
  t.same(
    await again(fakeAnalysis({ problems: [{ ...problem('other'), message: 'a\0b \ud800', details: { name: 'x\0y', deep: ['\udfff'] } }] })),
    ['other'],
    'text that PostgreSQL would refuse',
  )
  t.match(await errorsOf(fixture, 'a.cbz'), [{ message: 'a\uFFFDb \uFFFD', details: { name: 'x\uFFFDy', deep: ['\uFFFD'] } }])
  t.same(await again(fakeAnalysis()), [])
  t.equal(storable('plain 📚'), 'plain 📚')
})

t.test('an unexpected error of the analysis is an error of the book, never of the queue', async (t) => {
  const fixture = await openLibraryFixture(t, {
    files: ['crash.cbz', 'fine.cbz'],
    analyze: async ({ path }) => {
      if (path.endsWith('crash.cbz')) throw new TypeError('undefined is not a function')
      return fakeAnalysis()
    },
  })
  await fixture.scan()
  t.match(await errorsOf(fixture, 'crash.cbz'), [
    { error_type: 'other', fatal: true, message: /error in the server/, details: { reason: /not a function/ } },
  ])
  t.equal((await fixture.books()).get('fine.cbz')?.state, 'analyzed')
  t.match(await countTasks(fixture.database), { failed: 0, byType: { analyze_book: { completed: 2 } } })
})

t.test('a file that vanishes or changes during the analysis', async (t) => {
  const fixture: LibraryFixture = await openLibraryFixture(t, {
    files: ['vanishes.cbz', 'grows.cbz', 'never-ends.cbz', 'stays.cbz'],
    analyze: async ({ path }) => {
      const times = fixture.analyzed.get(path.slice(fixture.root.length + 1)) ?? 0
      if (path.endsWith('vanishes.cbz')) unlinkSync(path)
      if (path.endsWith('never-ends.cbz') || (path.endsWith('grows.cbz') && times === 1))
        writeFileSync(path, `longer ${'x'.repeat(times * 100)}`)
      return fakeAnalysis({ pageCount: times })
    },
  })
  await fixture.scan()
  const books = await fixture.books()
  t.match(books.get('vanishes.cbz'), { state: 'pending', deleted_at: null }, 'only a scan decides whether it is missing')
  t.same(await errorsOf(fixture, 'vanishes.cbz'), [])
  t.match(books.get('grows.cbz'), { state: 'analyzed', page_count: 2, deleted_at: null }, 'it was analyzed again')
  t.equal(fixture.analyzed.get('never-ends.cbz'), 4, 'a bounded number of times')
  t.match(await errorsOf(fixture, 'never-ends.cbz'), [{ error_type: 'other', message: /changed several times/ }])
  t.equal(books.get('stays.cbz')?.state, 'analyzed')
  fixture.analyzed.clear()
  writeFileSync(join(fixture.root, 'never-ends.cbz'), 'the end')
  t.match(await fixture.scan(), { status: 'completed', filesTotal: 3 })
  t.ok(fixture.analyzed.has('never-ends.cbz'), 'the next scan tries again')
  t.notOk((await fixture.books()).has('vanishes.cbz'), 'and removes the other one, which nobody has read')
})

t.test('when the whole library goes missing, its books are not marked as deleted', async (t) => {
  const fixture: LibraryFixture = await openLibraryFixture(t, {
    files: ['a/1.cbz', 'a/2.cbz'],
    analyze: async () => {
      await sleep(50)
      if (existsSync(fixture.root)) renameSync(fixture.root, `${fixture.root}-away`)
      return fakeAnalysis()
    },
  })
  await fixture.scan()
  t.same(
    [...(await fixture.books()).values()].map((row) => [row.state, row.deleted_at]),
    [
      ['pending', null],
      ['pending', null],
    ],
  )
})

t.test('an analyzed, unchanged file is not opened again', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['a.cbz'] })
  await fixture.scan()
  const { id } = (await fixture.books()).get('a.cbz') ?? { id: '' }
  const settle = async () =>
    until(
      async () =>
        (await countTasks(fixture.database)).byType.analyze_book?.completed ===
        (await countTasks(fixture.database)).byType.analyze_book?.total,
    )
  await queueAnalyses(fixture.tasks, fixture.libraryId, [id, '00000000-0000-4000-8000-000000000000'], { deep: false })
  await settle()
  t.equal(fixture.analyzed.get('a.cbz'), 1)
  utimesSync(join(fixture.root, 'a.cbz'), 5000, 5000)
  await queueAnalyses(fixture.tasks, fixture.libraryId, [id], { deep: false })
  await settle()
  t.equal(fixture.analyzed.get('a.cbz'), 2)
})

t.test('time spent waiting for a thread is not an error of a book, and a stop writes nothing', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['slow.cbz'], manual: true })
  const library = await getLibraryRow(fixture.database, null, fixture.libraryId)
  const [bookId] = await recordFiles(fixture.database, { library, deep: false, rules: findRules() }, [
    { path: 'slow.cbz', bytes: 1, mtimeNs: 1n, sidecars: null },
  ])
  const hanging: Analyze = (_, { signal } = {}) =>
    new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  // A total deadline would be the caller's: an earlier version of the settings had one.
  const parts = { database: fixture.database, analyze: hanging, dataFolder: fixture.dataFolder, log: silentLog, deadlineMs: 5 }
  const stop = new AbortController()
  const run = {
    id: 'x',
    type: 'analyze_book' as const,
    params: {},
    attempt: 1,
    bookId: bookId as string,
    progress() {},
    signal: stop.signal,
  }
  const stopped = analyzeBook(parts)(run)
  stopped.catch(() => {})
  // An error of the analysis would be written by then.
  await sleep(100)
  t.same(await errorsOf(fixture, 'slow.cbz'), [])
  stop.abort(new Error('the server stops'))
  await t.rejects(stopped, { message: 'the server stops' })
  t.equal((await fixture.books()).get('slow.cbz')?.state, 'pending')
})

/** What the thread and the pool report about a file that they could not read at all. */
const unread = (details: Record<string, unknown>): Analysis => ({
  ...fakeAnalysis({ format: null, pageCount: 0, pageSource: 'none' }),
  problems: [{ type: 'other', message: 'It could not be read.', details, fatal: true }],
})

t.test('after a temporary failure the book keeps its data, and is retried', async (t) => {
  let fault: Record<string, unknown> | null = null
  const jpeg = await makePicture({ width: 60, height: 90 })
  const fixture: LibraryFixture = await openLibraryFixture(t, {
    files: ['a/good.cbz', 'a/other.cbz'],
    analyze: async ({ path }) => {
      if (fault !== null && !path.endsWith('other.cbz')) return unread(fault)
      return fakeAnalysis({
        file: factsOfFile(path),
        pageCount: 7,
        embedded: { title: 'Good' },
        cover: { jpeg, width: 60, height: 90, color: '#804020', page: 2 },
      })
    },
  })
  const find = async (path: string) =>
    (await fixture.books()).get(path) as unknown as { id: string; state: string; file_hash: string | null; cover_hash: string | null }
  await fixture.scan()
  const good = await find('a/good.cbz')
  t.match(good, { state: 'analyzed', page_count: 7, title: 'Good', cover_hash: /./ })

  fault = { code: 'EACCES', syscall: 'open' }
  await fixture.scan('deep')
  const kept = { ...good, updated_at: Date, retry_due: true }
  t.match(await find('a/good.cbz'), kept, 'its data stays')
  t.ok(existsSync(coverPath(fixture.dataFolder, good.id)))
  t.match(await errorsOf(fixture, 'good.cbz'), [{ error_type: 'other', fatal: false, message: 'It could not be read.' }])

  fixture.put('a/new.cbz')
  for (const round of ['first', 'second']) {
    fixture.analyzed.clear()
    await fixture.scan()
    t.ok(fixture.analyzed.has('a/good.cbz'), `the ${round} scan after tries again`)
    t.notOk(fixture.analyzed.has('a/other.cbz'))
    t.match(await find('a/good.cbz'), kept, 'and still it is the book it was')
    t.match(await find('a/new.cbz'), { state: 'failed', file_hash: null })
  }
  unlinkSync(join(fixture.root, 'a/new.cbz'))
  await fixture.scan()
  fixture.put('a/new.cbz')

  fault = null
  fixture.analyzed.clear()
  await fixture.scan()
  t.same([...fixture.analyzed.keys()].sort(), ['a/good.cbz', 'a/new.cbz'])
  t.same(await errorsOf(fixture, 'good.cbz'), [])
  t.match(await find('a/good.cbz'), { state: 'analyzed', page_count: 7, file_hash: good.file_hash })
  t.match(await find('a/new.cbz'), { state: 'analyzed' })
  fixture.analyzed.clear()
  await fixture.scan()
  t.equal(fixture.analyzed.size, 0, 'and then there is peace')

  // Time and memory: a retry would cost the same again.
  fault = { deadlineMs: 60_000 }
  fixture.put('a/huge.cbz')
  await fixture.scan()
  t.match(await find('a/huge.cbz'), { state: 'failed' })
  await fixture.scan('deep')
  t.match(await find('a/good.cbz'), { ...kept, retry_due: false })
  fixture.analyzed.clear()
  await fixture.scan()
  t.equal(fixture.analyzed.size, 0)

  // Changed and unreadable: the recorded data belongs to other content.
  fault = { code: 'EACCES', syscall: 'open' }
  fixture.put('a/good.cbz', 'longer than before, and something else')
  await fixture.scan()
  t.match(await find('a/good.cbz'), { state: 'failed', page_count: 0, cover_hash: null })
  fixture.analyzed.clear()
  await fixture.scan()
  t.ok(fixture.analyzed.has('a/good.cbz'))
  t.match(await find('a/good.cbz'), { state: 'failed' })
})

t.test('a disk that fails for a moment is retried within seconds', async (t) => {
  const fixture: LibraryFixture = await openLibraryFixture(t, {
    files: ['a.cbz'],
    analyze: async ({ path }) =>
      fixture.analyzed.get('a.cbz') === 1 ? unread({ code: 'EIO', syscall: 'read' }) : fakeAnalysis({ file: factsOfFile(path) }),
  })
  await fixture.scan()
  t.match((await fixture.books()).get('a.cbz'), { state: 'analyzed' })
  t.equal(fixture.analyzed.get('a.cbz'), 2)
  t.same(await errorsOf(fixture, 'a.cbz'), [])

  const last = analyzeBook({
    database: fixture.database,
    analyze: async () => unread({ code: 'EIO', syscall: 'read' }),
    dataFolder: fixture.dataFolder,
    log: silentLog,
  })
  const bookId = (await fixture.books()).get('a.cbz')?.id as string
  const run = {
    id: 'x',
    type: 'analyze_book' as const,
    params: { force: true },
    bookId,
    progress() {},
    signal: new AbortController().signal,
  }
  await t.rejects(last({ ...run, attempt: 3 }), { message: 'It could not be read.' })
  t.same(await errorsOf(fixture, 'a.cbz'), [])
  await last({ ...run, attempt: 4 })
  t.match(await errorsOf(fixture, 'a.cbz'), [{ error_type: 'other', fatal: false }], 'the last try writes it down')
})

t.test('a moved book and its analysis are written together', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['a/1.cbz', 'b/2.cbz'] })
  await fixture.scan()
  const { id } = (await fixture.books()).get('a/1.cbz') ?? { id: '' }
  await fixture.database.raw(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$;
    CREATE TRIGGER refuse BEFORE UPDATE ON book_pages FOR EACH ROW EXECUTE FUNCTION refuse()`)
  renameSync(join(fixture.root, 'a/1.cbz'), join(fixture.root, 'b/1.cbz'))
  await fixture.scans.start(fixture.libraryId)
  await until(async () => {
    const { rows } = await fixture.database.raw(
      `SELECT 1 FROM tasks WHERE type = 'analyze_book' AND status = 'pending' AND last_error IS NOT NULL`,
    )
    return rows.length > 0
  })
  // The analysis may be faster than the end of the scan, which finds missing files.
  await until(async () => (await fixture.books()).get('a/1.cbz')?.deleted_at != null)
  const halfway = await fixture.books()
  t.match(halfway.get('b/1.cbz'), { state: 'pending', file_hash: null }, 'the new row waits for the next try')
  t.equal(halfway.get('a/1.cbz')?.id, id, 'the old one is where it was')
  await fixture.database.raw('DROP TRIGGER refuse ON book_pages')
  await until(async () => (await fixture.books()).get('b/1.cbz')?.state === 'analyzed')
  t.equal((await fixture.books()).get('b/1.cbz')?.id, id)
})

t.test('covers of books are written and removed', async (t) => {
  const folder = t.testdir()
  const id = '12345678-0000-4000-8000-000000000000'
  const path = coverPath(folder, id)
  await writeCover(folder, id, Buffer.from('first'))
  writeFileSync(`${path}.tmp`, 'half of one, left by a server that was killed')
  await writeCover(folder, id, Buffer.from('second'))
  t.same(readdirSync(join(path, '..')), [`${id}.jpg`])
  const pictures = ['a', 'b', 'c', 'd'].map((letter) => Buffer.alloc(3_000_000, letter))
  await Promise.all(pictures.map((picture) => writeCover(folder, id, picture)))
  const kept = readFileSync(path)
  t.ok(
    pictures.some((picture) => picture.equals(kept)),
    'written at once, one of them is there in whole',
  )
  writeFileSync(`${path}.tmp`, 'half')
  await removeCovers(folder, [id])
  t.same(readdirSync(join(path, '..')), [])
})
