import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { PART_FILES_MAX } from '#core/scan/walk-folders.ts'
import { getTask } from '#core/tasks/task-query.ts'
import { fakeAnalysis } from '#test/support/analyses.ts'
import { comic, type LibraryFixture, openLibraryFixture, until } from '#test/support/library-fixture.ts'
import { slowDown } from '#test/support/slow-table.ts'

t.setTimeout(240_000)

const present = async (fixture: Awaited<ReturnType<typeof openLibraryFixture>>) =>
  [...(await fixture.books())].filter(([, row]) => row.deleted_at === null).map(([path]) => path)

t.test('a folder of books becomes a library', async (t) => {
  const fixture = await openLibraryFixture(t, {
    files: [
      'Saga/Saga v01.cbz',
      'Saga/Saga v02.cbz',
      'Image/Extras/#1.cbz',
      'DC/Extras/#1.cbz',
      'Watchmen.cbz',
      'new\nline/📚 c7.5.cbz',
      'bad/broken.cbz',
    ],
  })
  fixture.put('bad/broken.cbz', 'this is no archive')
  fixture.put('bad/tar.cbt', 'nor is this')
  fixture.put('bad/.hidden.cbz')
  const before = await fixture.scans.getStatus(fixture.libraryId)
  t.match(before, { status: 'idle', filesTotal: 0, pendingAnalysis: 0, errors: [] })
  const status = await fixture.scan()
  t.match(status, { status: 'completed', filesTotal: 8, filesProcessed: 8, booksFound: 8, seriesFound: 6, pendingAnalysis: 0, errors: [] })
  const books = await fixture.books()
  t.same([...books.keys()].sort(), [
    'DC/Extras/#1.cbz',
    'Image/Extras/#1.cbz',
    'Saga/Saga v01.cbz',
    'Saga/Saga v02.cbz',
    'Watchmen.cbz',
    'bad/broken.cbz',
    'bad/tar.cbt',
    'new\nline/📚 c7.5.cbz',
  ])
  t.match(books.get('Saga/Saga v02.cbz'), { title: 'Saga v02', number: 2, state: 'analyzed', page_count: 1 })
  t.match(books.get('new\nline/📚 c7.5.cbz'), { number: 7.5, state: 'analyzed' })
  t.equal(books.get('bad/broken.cbz')?.state, 'failed')
  t.equal(books.get('bad/tar.cbt')?.state, 'failed')
  const errors = await fixture
    .database('book_errors')
    .join('books', 'books.id', 'book_errors.book_id')
    .select('file_name', 'error_type')
    .orderBy('file_name')
  t.same(errors, [
    { file_name: 'broken.cbz', error_type: 'format_detection' },
    { file_name: 'tar.cbt', error_type: 'format_detection' },
  ])
  const series = await fixture.database('series').orderBy('path').select('path', 'title', 'oneshot')
  t.same(series, [
    { path: 'DC/Extras', title: 'Extras', oneshot: false },
    { path: 'Image/Extras', title: 'Extras', oneshot: false },
    { path: 'Saga', title: 'Saga', oneshot: false },
    { path: 'Watchmen.cbz', title: 'Watchmen', oneshot: true },
    { path: 'bad', title: 'bad', oneshot: false },
    { path: 'new\nline', title: 'new line', oneshot: false },
  ])
  const library = await fixture.database('libraries').first('last_scanned_at')
  t.ok(library.last_scanned_at)

  t.test('nothing is opened when nothing changed', async (t) => {
    fixture.analyzed.clear()
    const rows = await fixture.books()
    const again = await fixture.scan()
    t.match(again, { status: 'completed', filesTotal: 8, filesProcessed: 8, seriesFound: 6, booksFound: 8 })
    t.same([...fixture.analyzed], [])
    t.same(await fixture.books(), rows)
  })

  t.test('a deep scan opens everything', async (t) => {
    fixture.analyzed.clear()
    const again = await fixture.scan('deep')
    t.match(again, { status: 'completed', mode: 'deep', filesTotal: 8 })
    t.equal(fixture.analyzed.size, 8)
  })
})

t.test('changed, missing and restored files', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['a/1.cbz', 'a/2.cbz', 'a/3.cbz', 'b/1.cbz', 'one.cbz'] })
  await fixture.scan()
  const first = await fixture.books()
  fixture.analyzed.clear()

  fixture.put('a/1.cbz', comic('another content', 3))
  unlinkSync(join(fixture.root, 'a/2.cbz'))
  fixture.put('a/4.cbz')
  rmSync(join(fixture.root, 'b'), { recursive: true })
  t.match(await fixture.scan(), { status: 'completed', filesTotal: 4 })
  t.same([...fixture.analyzed.keys()].sort(), ['a/1.cbz', 'a/4.cbz'])
  const second = await fixture.books()
  t.equal(second.get('a/1.cbz')?.id, first.get('a/1.cbz')?.id)
  t.not(second.get('a/1.cbz')?.file_hash, first.get('a/1.cbz')?.file_hash)
  t.equal(second.get('a/1.cbz')?.page_count, 3)
  t.ok(second.get('a/2.cbz')?.deleted_at)
  t.ok(second.get('b/1.cbz')?.deleted_at)
  t.equal(second.get('a/3.cbz')?.updated_at.getTime(), first.get('a/3.cbz')?.updated_at.getTime(), 'its neighbor was left alone')

  fixture.analyzed.clear()
  const times = Number((await fixture.database('books').where('id', second.get('b/1.cbz')?.id).first('file_mtime_ns')).file_mtime_ns) / 1e9
  fixture.put('b/1.cbz')
  utimesSync(join(fixture.root, 'b/1.cbz'), times, times)
  fixture.put('a/2.cbz', comic('it came back as another'))
  await fixture.scan()
  const third = await fixture.books()
  t.equal(third.get('b/1.cbz')?.id, first.get('b/1.cbz')?.id, 'a book that is seen again comes back as itself')
  t.equal(third.get('b/1.cbz')?.deleted_at, null)
  t.equal(third.get('a/2.cbz')?.id, first.get('a/2.cbz')?.id)
  t.equal(third.get('a/2.cbz')?.state, 'analyzed')
  t.equal((await present(fixture)).length, 6)
})

t.test('a moved or renamed file stays the same book', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['a/1.cbz', 'a/2.cbz', 'b/9.cbz', 'one.cbz'] })
  await fixture.scan()
  const first = await fixture.books()
  const idOf = (path: string) => first.get(path)?.id

  renameSync(join(fixture.root, 'a/1.cbz'), join(fixture.root, 'b/Renamed v03.cbz'))
  renameSync(join(fixture.root, 'one.cbz'), join(fixture.root, 'two.cbz'))
  // A copy is another book: the original still exists.
  fixture.put('b/copy.cbz', comic('a/2.cbz'))
  await fixture.scan()
  const second = await fixture.books()
  t.same([...second.keys()].sort(), ['a/2.cbz', 'b/9.cbz', 'b/Renamed v03.cbz', 'b/copy.cbz', 'two.cbz'], 'no second row is left behind')
  t.equal(second.get('b/Renamed v03.cbz')?.id, idOf('a/1.cbz'))
  t.match(second.get('b/Renamed v03.cbz'), {
    number: 3,
    title: 'Renamed v03',
    deleted_at: null,
    state: 'analyzed',
    series_id: first.get('b/9.cbz')?.series_id,
  })
  t.equal(second.get('two.cbz')?.id, idOf('one.cbz'))
  t.equal(second.get('two.cbz')?.series_id, first.get('one.cbz')?.series_id, 'and its series with it')
  t.not(second.get('b/copy.cbz')?.id, idOf('a/2.cbz'))

  // The folder is renamed: the series keeps its id, and with it everything that users did to it.
  renameSync(join(fixture.root, 'a'), join(fixture.root, 'z'))
  await fixture.scan()
  const third = await fixture.books()
  t.equal(third.get('z/2.cbz')?.id, idOf('a/2.cbz'))
  t.equal(third.get('z/2.cbz')?.series_id, first.get('a/2.cbz')?.series_id)
  t.match(await fixture.database('series').where('id', first.get('a/2.cbz')?.series_id).first(), { path: 'z', title: 'z' })

  // And back to its old place, unchanged in size and time.
  renameSync(join(fixture.root, 'z'), join(fixture.root, 'a'))
  renameSync(join(fixture.root, 'b/Renamed v03.cbz'), join(fixture.root, 'a/1.cbz'))
  await fixture.scan()
  const fourth = await fixture.books()
  t.equal(fourth.get('a/1.cbz')?.id, idOf('a/1.cbz'))
  t.equal(fourth.get('a/2.cbz')?.id, idOf('a/2.cbz'))
  t.same((await present(fixture)).sort(), ['a/1.cbz', 'a/2.cbz', 'b/9.cbz', 'b/copy.cbz', 'two.cbz'])
})

t.test('equal files of a renamed folder stay the same books', async (t) => {
  const names = Array.from({ length: 8 }, (_, index) => `${index}.cbz`)
  const fixture = await openLibraryFixture(t)
  for (const name of names) fixture.put(`a/${name}`, comic('the same'))
  await fixture.scan()
  const first = await fixture.books()
  renameSync(join(fixture.root, 'a'), join(fixture.root, 'z'))
  await fixture.scan()
  const second = await fixture.books()
  t.same(
    names.map((name) => second.get(`z/${name}`)?.id),
    names.map((name) => first.get(`a/${name}`)?.id),
  )
})

t.test('a file that is restored before its first analysis is a new book, and analyzed', async (t) => {
  let away = true
  const fixture: LibraryFixture = await openLibraryFixture(t, {
    files: ['a/1.cbz', 'a/2.cbz'],
    analyze: async ({ path }, { signal } = {}) => {
      if (away && path.endsWith('1.cbz')) await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
      return fakeAnalysis()
    },
  })
  await fixture.scans.start(fixture.libraryId)
  await until(() => fixture.analyzed.has('a/1.cbz'))
  await fixture.scans.cancel(fixture.libraryId)
  away = false
  const aside = join(fixture.root, '..', '1.cbz')
  renameSync(join(fixture.root, 'a/1.cbz'), aside)
  await fixture.scan()
  t.notOk((await fixture.books()).has('a/1.cbz'), 'nobody loses anything with a book that was never read')
  renameSync(aside, join(fixture.root, 'a/1.cbz'))
  t.match(await fixture.scan(), { pendingAnalysis: 0 })
  t.match((await fixture.books()).get('a/1.cbz'), { state: 'analyzed', deleted_at: null })
})

t.test('a folder that fills its parts exactly is recorded as well', async (t) => {
  const files = Array.from({ length: PART_FILES_MAX }, (_, index) => `s/${index}.cbz`)
  const fixture = await openLibraryFixture(t, { files, analyze: async () => fakeAnalysis() })
  const { taskId } = await fixture.scans.start(fixture.libraryId)
  // Not fixture.scan(), which waits for the analyses as well.
  await until(async () => {
    const status = await fixture.scans.getStatus(fixture.libraryId)
    return status.taskId === taskId && status.status === 'completed'
  })
  t.match(await fixture.database('scanned_folders'), [{ path: 's', files: PART_FILES_MAX }])
})

t.test('the unexpected error of a scan is only in the log', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['a/1.cbz'] })
  await fixture.database.raw('ALTER TABLE scanned_folders RENAME TO hidden')
  const status = await fixture.scan()
  t.match(status, { status: 'failed', errors: [/error in the server/] })
  const task = await until(async () => {
    const found = await getTask(fixture.database, status.taskId as string)
    return found.status === 'failed' && found
  })
  t.notMatch(JSON.stringify([status.errors, task.lastError]), /scanned_folders|select/i)
})

t.test('a library whose folder is missing loses nothing', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['a/1.cbz', 'a/2.cbz'] })
  await fixture.scan()
  const before = await fixture.books()
  const away = `${fixture.root}-away`

  renameSync(fixture.root, away)
  const missing = await fixture.scan()
  t.match(missing, { status: 'failed', errors: [/does not exist/] })
  await until(async () => (await getTask(fixture.database, missing.taskId as string)).status === 'failed')

  mkdirSync(fixture.root)
  t.match(
    await fixture.scan(),
    { status: 'failed', errors: [/^All 2 known books are gone/], guard: { known: 2, missing: 2 } },
    'an empty mount point',
  )

  rmSync(fixture.root, { recursive: true })
  writeFileSync(fixture.root, 'a file')
  t.match(await fixture.scan(), { status: 'failed', errors: [/not a folder/] })
  t.match([...(await fixture.books()).values()], [{ missing_why: 'withheld' }, { missing_why: 'withheld' }])

  rmSync(fixture.root)
  renameSync(away, fixture.root)
  t.match(await fixture.scan(), { status: 'completed', filesTotal: 2 })
  t.same(await fixture.books(), before)
})

t.test('an empty folder that was always empty is an empty library', async (t) => {
  const fixture = await openLibraryFixture(t)
  t.match(await fixture.scan(), { status: 'completed', filesTotal: 0, errors: [] })
})

t.test('links are not followed', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['a/1.cbz'] })
  symlinkSync(fixture.root, join(fixture.root, 'a', 'loop'))
  symlinkSync('/etc', join(fixture.root, 'out'))
  const status = await fixture.scan()
  t.match(status, { status: 'completed', filesTotal: 1 })
  const task = await until(async () => {
    const found = await getTask(fixture.database, status.taskId as string)
    return found.status === 'completed' && found
  })
  t.match(task.result, { symlinksSkipped: 2, filesTotal: 1, missing: 0 })
})

t.test('one scan at a time, and canceling stops it and its analyses', async (t) => {
  const gate = Promise.withResolvers<void>()
  let started = 0
  const aborted: string[] = []
  const fixture = await openLibraryFixture(t, {
    files: Array.from({ length: 50 }, (_, index) => `s/${index}.cbz`),
    manual: true,
    analyze: async ({ path }, { signal } = {}) => {
      if (++started > 2) {
        await Promise.race([
          gate.promise,
          new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
        ]).catch((error) => {
          aborted.push(path)
          throw error
        })
      }
      return fakeAnalysis()
    },
  })
  t.teardown(() => gate.resolve())
  const [one, two] = await Promise.allSettled([fixture.scans.start(fixture.libraryId), fixture.scans.start(fixture.libraryId)])
  const refused = [one, two].filter((result) => result.status === 'rejected')
  t.equal(refused.length, 1, 'one of two concurrent requests is refused')
  t.match(refused[0], { reason: { code: 'scan_running' } })
  await fixture.tasks.start()
  await until(async () => (await fixture.scans.getStatus(fixture.libraryId)).status === 'completed')
  await until(() => started >= 5)
  t.ok((await fixture.scans.getStatus(fixture.libraryId)).pendingAnalysis >= 40)
  // Analyses that have ended are written together, a moment later.
  await until(async () => [...(await fixture.books()).values()].filter((row) => row.state === 'analyzed').length === 2)
  await fixture.scans.cancel(fixture.libraryId)
  await until(() => aborted.length === started - 2)
  const at = started
  // Another analysis would have begun by then.
  await sleep(300)
  t.equal(started, at, 'nothing more was begun')
  const rows = [...(await fixture.books()).values()]
  t.equal(rows.filter((row) => row.state === 'analyzed').length, 2, 'finished books stay')
  t.equal(rows.filter((row) => row.state === 'pending').length, 48, 'the others wait')
  gate.resolve()
  t.match(await fixture.scan(), { status: 'completed', pendingAnalysis: 0 }, 'the next scan continues with the rest')
  t.equal([...(await fixture.books()).values()].filter((row) => row.state === 'pending').length, 0)
})

t.test('a scan that waits or walks can be canceled too', async (t) => {
  const fixture = await openLibraryFixture(t, {
    files: Array.from({ length: 6_000 }, (_, index) => `s${index % 60}/${index}.cbz`),
    manual: true,
    analyze: () => Promise.reject(new Error('not in this test')),
  })
  // Each batch takes a moment: all of them together longer than a process may stand still on a busy machine.
  await slowDown(fixture.database, { after: 'INSERT', table: 'books', each: 'STATEMENT', ms: 200 })
  const { taskId } = await fixture.scans.start(fixture.libraryId)
  t.match(await fixture.scans.listActive(), [{ taskId, status: 'pending', libraryId: fixture.libraryId }])
  await fixture.scans.cancel(fixture.libraryId)
  t.match(await fixture.scans.getStatus(fixture.libraryId), { status: 'cancelled' })
  t.equal((await getTask(fixture.database, taskId)).status, 'cancelled')
  t.same(await fixture.scans.listActive(), [])

  await fixture.tasks.start()
  const second = await fixture.scans.start(fixture.libraryId)
  await until(async () => (await fixture.books()).size > 0)
  // Without waiting for cancel(): a client that reads only the status can rely on it as well.
  const cancelling = fixture.scans.cancel(fixture.libraryId)
  await until(async () => (await fixture.scans.getStatus(fixture.libraryId)).status === 'cancelled')
  const count = (await fixture.books()).size
  t.ok(count < 6_000, `it had come to ${count} of 6000`)
  t.match(await fixture.scans.getStatus(fixture.libraryId), { status: 'cancelled', taskId: second.taskId })
  await cancelling
  // Another batch of books would be written by then.
  await sleep(600)
  t.equal((await fixture.books()).size, count, 'and no further')
  const analyses = async (status: string) => (await fixture.database('tasks').where({ type: 'analyze_book', status })).length
  await until(async () => (await analyses('processing')) === 0)
  t.equal(await analyses('pending'), 0)
})

t.test('a scan whose task is lost does not block the next one', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['a/1.cbz'] })
  await fixture.database('scans').insert({
    id: '00000000-0000-4000-8000-000000000001',
    library_id: fixture.libraryId,
    mode: 'normal',
    status: 'processing',
    started_at: fixture.database.raw(`now() - interval '1 minute'`),
  })
  // Not fixture.scan(), which waits until no scan is active: the lost one is active until the next one begins.
  const { taskId } = await fixture.scans.start(fixture.libraryId, undefined, null)
  const status = await until(async () => {
    const found = await fixture.scans.getStatus(fixture.libraryId)
    return found.taskId === taskId && found.status !== 'pending' && found.status !== 'processing' ? found : null
  })
  t.match(status, { status: 'completed', filesTotal: 1 })
})

t.test('patterns, formats and an inactive library', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['a/1.cbz', 'a/sample.cbz', 'extras/2.cbz', 'b.pdf'] })
  await fixture.scan()
  t.equal((await present(fixture)).length, 4)
  await fixture.database('libraries').update({ excluded_patterns: '*sample*\nextras', allowed_formats: ['cbz'] })
  t.match(await fixture.scan(), { status: 'completed', filesTotal: 1 })
  t.same(await present(fixture), ['a/1.cbz'], 'newly excluded files count as missing')
  await fixture.database('libraries').update({
    excluded_patterns: null,
    allowed_formats: null,
    scanning_config: JSON.stringify({ enabled: true, scanMode: 'normal', purgeDeletedOnScan: true }),
  })
  await fixture.scan()
  t.equal((await present(fixture)).length, 4, 'and comes back')
  unlinkSync(join(fixture.root, 'b.pdf'))
  await fixture.scan()
  t.equal((await fixture.books()).size, 4, 'what this scan missed may have been moved')
  const earlier = {
    started_at: fixture.database.raw(`started_at - interval '2 days'`),
    boot_seconds: fixture.database.raw('boot_seconds - 172800'),
  }
  await fixture.database('scans').update(earlier)
  await fixture.scan()
  t.same(await fixture.database('series').where('path', 'b.pdf'), [], 'purged with its series')
  t.equal((await fixture.books()).size, 3)

  await fixture.database('libraries').update({ is_active: false })
  await t.rejects(fixture.scans.start(fixture.libraryId), { code: 'conflict' })
  await t.rejects(fixture.scans.start('00000000-0000-4000-8000-000000000000'), { code: 'not_found' })
  await t.rejects(fixture.scans.getStatus('00000000-0000-4000-8000-000000000000'), { code: 'not_found' })
})
