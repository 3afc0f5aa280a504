import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { PART_FILES_MAX } from '#core/ingest/walk-folders.ts'
import { getTask } from '#core/tasks/task-query.ts'
import { madeUpAnalysis } from '#test/support/analyses.ts'
import { comic, type House, openHouse, until } from '#test/support/house.ts'

t.setTimeout(240_000)

const present = async (house: Awaited<ReturnType<typeof openHouse>>) =>
  [...(await house.books())].filter(([, row]) => row.deleted_at === null).map(([path]) => path)

t.test('a folder of books becomes a library', async (t) => {
  const house = await openHouse(t, {
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
  house.put('bad/broken.cbz', 'this is no archive')
  house.put('bad/tar.cbt', 'nor is this')
  house.put('bad/.hidden.cbz')
  const before = await house.scans.getStatus(house.libraryId)
  t.match(before, { status: 'idle', filesTotal: 0, pendingAnalysis: 0, errors: [] })
  const status = await house.scan()
  t.match(status, { status: 'completed', filesTotal: 8, filesProcessed: 8, booksFound: 8, seriesFound: 6, pendingAnalysis: 0, errors: [] })
  const books = await house.books()
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
  const errors = await house
    .database('book_errors')
    .join('books', 'books.id', 'book_errors.book_id')
    .select('file_name', 'error_type')
    .orderBy('file_name')
  t.same(errors, [
    { file_name: 'broken.cbz', error_type: 'format_detection' },
    { file_name: 'tar.cbt', error_type: 'format_detection' },
  ])
  const series = await house.database('series').orderBy('path').select('path', 'title', 'oneshot')
  t.same(series, [
    { path: 'DC/Extras', title: 'Extras', oneshot: false },
    { path: 'Image/Extras', title: 'Extras', oneshot: false },
    { path: 'Saga', title: 'Saga', oneshot: false },
    { path: 'Watchmen.cbz', title: 'Watchmen', oneshot: true },
    { path: 'bad', title: 'bad', oneshot: false },
    { path: 'new\nline', title: 'new line', oneshot: false },
  ])
  const library = await house.database('libraries').first('last_scanned_at')
  t.ok(library.last_scanned_at)

  t.test('nothing is opened when nothing changed', async (t) => {
    house.analyzed.clear()
    const rows = await house.books()
    const again = await house.scan()
    t.match(again, { status: 'completed', filesTotal: 8, filesProcessed: 8, seriesFound: 6, booksFound: 8 })
    t.same([...house.analyzed], [])
    t.same(await house.books(), rows)
  })

  t.test('a deep scan opens everything', async (t) => {
    house.analyzed.clear()
    const again = await house.scan('deep')
    t.match(again, { status: 'completed', mode: 'deep', filesTotal: 8 })
    t.equal(house.analyzed.size, 8)
  })
})

t.test('changed, missing and restored files', async (t) => {
  const house = await openHouse(t, { files: ['a/1.cbz', 'a/2.cbz', 'a/3.cbz', 'b/1.cbz', 'one.cbz'] })
  await house.scan()
  const first = await house.books()
  house.analyzed.clear()

  house.put('a/1.cbz', comic('another content', 3))
  unlinkSync(join(house.root, 'a/2.cbz'))
  house.put('a/4.cbz')
  rmSync(join(house.root, 'b'), { recursive: true })
  t.match(await house.scan(), { status: 'completed', filesTotal: 4 })
  t.same([...house.analyzed.keys()].sort(), ['a/1.cbz', 'a/4.cbz'])
  const second = await house.books()
  t.equal(second.get('a/1.cbz')?.id, first.get('a/1.cbz')?.id)
  t.not(second.get('a/1.cbz')?.file_hash, first.get('a/1.cbz')?.file_hash)
  t.equal(second.get('a/1.cbz')?.page_count, 3)
  t.ok(second.get('a/2.cbz')?.deleted_at)
  t.ok(second.get('b/1.cbz')?.deleted_at)
  t.equal(second.get('a/3.cbz')?.updated_at.getTime(), first.get('a/3.cbz')?.updated_at.getTime(), 'its neighbor was left alone')

  house.analyzed.clear()
  const times = Number((await house.database('books').where('id', second.get('b/1.cbz')?.id).first('file_mtime_ns')).file_mtime_ns) / 1e9
  house.put('b/1.cbz')
  utimesSync(join(house.root, 'b/1.cbz'), times, times)
  house.put('a/2.cbz', comic('it came back as another'))
  await house.scan()
  const third = await house.books()
  t.equal(third.get('b/1.cbz')?.id, first.get('b/1.cbz')?.id, 'a book that is seen again comes back as itself')
  t.equal(third.get('b/1.cbz')?.deleted_at, null)
  t.equal(third.get('a/2.cbz')?.id, first.get('a/2.cbz')?.id)
  t.equal(third.get('a/2.cbz')?.state, 'analyzed')
  t.equal((await present(house)).length, 6)
})

t.test('a moved or renamed file stays the same book', async (t) => {
  const house = await openHouse(t, { files: ['a/1.cbz', 'a/2.cbz', 'b/9.cbz', 'one.cbz'] })
  await house.scan()
  const first = await house.books()
  const idOf = (path: string) => first.get(path)?.id

  renameSync(join(house.root, 'a/1.cbz'), join(house.root, 'b/Renamed v03.cbz'))
  renameSync(join(house.root, 'one.cbz'), join(house.root, 'two.cbz'))
  // A copy is another book: the original still exists.
  house.put('b/copy.cbz', comic('a/2.cbz'))
  await house.scan()
  const second = await house.books()
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
  renameSync(join(house.root, 'a'), join(house.root, 'z'))
  await house.scan()
  const third = await house.books()
  t.equal(third.get('z/2.cbz')?.id, idOf('a/2.cbz'))
  t.equal(third.get('z/2.cbz')?.series_id, first.get('a/2.cbz')?.series_id)
  t.match(await house.database('series').where('id', first.get('a/2.cbz')?.series_id).first(), { path: 'z', title: 'z' })

  // And back to its old place, unchanged in size and time.
  renameSync(join(house.root, 'z'), join(house.root, 'a'))
  renameSync(join(house.root, 'b/Renamed v03.cbz'), join(house.root, 'a/1.cbz'))
  await house.scan()
  const fourth = await house.books()
  t.equal(fourth.get('a/1.cbz')?.id, idOf('a/1.cbz'))
  t.equal(fourth.get('a/2.cbz')?.id, idOf('a/2.cbz'))
  t.same((await present(house)).sort(), ['a/1.cbz', 'a/2.cbz', 'b/9.cbz', 'b/copy.cbz', 'two.cbz'])
})

t.test('equal files of a renamed folder stay the same books', async (t) => {
  const names = Array.from({ length: 8 }, (_, index) => `${index}.cbz`)
  const house = await openHouse(t)
  for (const name of names) house.put(`a/${name}`, comic('the same'))
  await house.scan()
  const first = await house.books()
  renameSync(join(house.root, 'a'), join(house.root, 'z'))
  await house.scan()
  const second = await house.books()
  t.same(
    names.map((name) => second.get(`z/${name}`)?.id),
    names.map((name) => first.get(`a/${name}`)?.id),
  )
})

t.test('a book that is restored before its first analysis is analyzed', async (t) => {
  let away = true
  const house: House = await openHouse(t, {
    files: ['a/1.cbz', 'a/2.cbz'],
    analyze: async ({ path }, { signal } = {}) => {
      if (away && path.endsWith('1.cbz')) await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
      return madeUpAnalysis()
    },
  })
  await house.scans.start(house.libraryId)
  await until(() => house.analyzed.has('a/1.cbz'))
  await house.scans.cancel(house.libraryId)
  away = false
  const aside = join(house.root, '..', '1.cbz')
  renameSync(join(house.root, 'a/1.cbz'), aside)
  await house.scan()
  t.match((await house.books()).get('a/1.cbz'), { state: 'pending', deleted_at: Date })
  renameSync(aside, join(house.root, 'a/1.cbz'))
  t.match(await house.scan(), { pendingAnalysis: 0 })
  t.match((await house.books()).get('a/1.cbz'), { state: 'analyzed', deleted_at: null })
})

t.test('a folder that fills its parts exactly is recorded as well', async (t) => {
  const files = Array.from({ length: PART_FILES_MAX }, (_, index) => `s/${index}.cbz`)
  const house = await openHouse(t, { files, analyze: async () => madeUpAnalysis() })
  const { taskId } = await house.scans.start(house.libraryId)
  // Not house.scan(), which waits for the analyses as well.
  await until(async () => {
    const status = await house.scans.getStatus(house.libraryId)
    return status.taskId === taskId && status.status === 'completed'
  })
  t.match(await house.database('scanned_folders'), [{ path: 's', files: PART_FILES_MAX }])
})

t.test('the unexpected error of a scan is only in the log', async (t) => {
  const house = await openHouse(t, { files: ['a/1.cbz'] })
  await house.database.raw('ALTER TABLE scanned_folders RENAME TO hidden')
  const status = await house.scan()
  t.match(status, { status: 'failed', errors: [/error in the server/] })
  const task = await until(async () => {
    const found = await getTask(house.database, status.taskId as string)
    return found.status === 'failed' && found
  })
  t.notMatch(JSON.stringify([status.errors, task.lastError]), /scanned_folders|select/i)
})

t.test('a library whose folder is missing loses nothing', async (t) => {
  const house = await openHouse(t, { files: ['a/1.cbz', 'a/2.cbz'] })
  await house.scan()
  const before = await house.books()
  const away = `${house.root}-away`

  renameSync(house.root, away)
  const missing = await house.scan()
  t.match(missing, { status: 'failed', errors: [/does not exist/] })
  await until(async () => (await getTask(house.database, missing.taskId as string)).status === 'failed')

  mkdirSync(house.root)
  t.match(
    await house.scan(),
    { status: 'failed', errors: [/^All 2 known books are gone/], guard: { known: 2, missing: 2 } },
    'an empty mount point',
  )

  rmSync(house.root, { recursive: true })
  writeFileSync(house.root, 'a file')
  t.match(await house.scan(), { status: 'failed', errors: [/not a folder/] })
  t.same(await house.books(), before)

  rmSync(house.root)
  renameSync(away, house.root)
  t.match(await house.scan(), { status: 'completed', filesTotal: 2 })
  t.same(await house.books(), before)
})

t.test('an empty folder that was always empty is an empty library', async (t) => {
  const house = await openHouse(t)
  t.match(await house.scan(), { status: 'completed', filesTotal: 0, errors: [] })
})

t.test('links are not followed', async (t) => {
  const house = await openHouse(t, { files: ['a/1.cbz'] })
  symlinkSync(house.root, join(house.root, 'a', 'loop'))
  symlinkSync('/etc', join(house.root, 'out'))
  const status = await house.scan()
  t.match(status, { status: 'completed', filesTotal: 1 })
  t.match((await getTask(house.database, status.taskId as string)).result, { symlinksSkipped: 2, filesTotal: 1, missing: 0 })
})

t.test('one scan at a time, and canceling stops it and its analyses', async (t) => {
  let release = () => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  let started = 0
  const aborted: string[] = []
  const house = await openHouse(t, {
    files: Array.from({ length: 50 }, (_, index) => `s/${index}.cbz`),
    analyze: async ({ path }, { signal } = {}) => {
      started += 1
      if (started > 2) {
        await Promise.race([gate, new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))]).catch(
          (error) => {
            aborted.push(path)
            throw error
          },
        )
      }
      return madeUpAnalysis()
    },
  })
  t.teardown(() => release())
  const [one, two] = await Promise.allSettled([house.scans.start(house.libraryId), house.scans.start(house.libraryId)])
  const refused = [one, two].filter((result) => result.status === 'rejected')
  t.equal(refused.length, 1, 'one of two concurrent requests is refused')
  t.match(refused[0], { reason: { code: 'scan_running' } })
  await until(async () => (await house.scans.getStatus(house.libraryId)).status === 'completed')
  await until(() => started >= 5)
  t.ok((await house.scans.getStatus(house.libraryId)).pendingAnalysis >= 40)
  await house.scans.cancel(house.libraryId)
  await until(() => aborted.length === started - 2)
  const at = started
  await sleep(300)
  t.equal(started, at, 'nothing more was begun')
  const rows = [...(await house.books()).values()]
  t.equal(rows.filter((row) => row.state === 'analyzed').length, 2, 'finished books stay')
  t.equal(rows.filter((row) => row.state === 'pending').length, 48, 'the others wait')
  release()
  t.match(await house.scan(), { status: 'completed', pendingAnalysis: 0 }, 'the next scan continues with the rest')
  t.equal([...(await house.books()).values()].filter((row) => row.state === 'pending').length, 0)
})

t.test('a scan that waits or walks can be canceled too', async (t) => {
  const house = await openHouse(t, {
    files: Array.from({ length: 6_000 }, (_, index) => `s${index % 60}/${index}.cbz`),
    manual: true,
    analyze: async () => {
      throw new Error('not in this test')
    },
  })
  const { taskId } = await house.scans.start(house.libraryId)
  t.match(await house.scans.listActive(), [{ taskId, status: 'pending', libraryId: house.libraryId }])
  await house.scans.cancel(house.libraryId)
  t.match(await house.scans.getStatus(house.libraryId), { status: 'cancelled' })
  t.equal((await getTask(house.database, taskId)).status, 'cancelled')
  t.same(await house.scans.listActive(), [])

  await house.tasks.start()
  const second = await house.scans.start(house.libraryId)
  await until(async () => (await house.books()).size > 0)
  // Without waiting for cancel(): a client that reads only the status can rely on it as well.
  const cancelling = house.scans.cancel(house.libraryId)
  await until(async () => (await house.scans.getStatus(house.libraryId)).status === 'cancelled')
  const count = (await house.books()).size
  t.ok(count < 6_000, `it had come to ${count} of 6000`)
  t.match(await house.scans.getStatus(house.libraryId), { status: 'cancelled', taskId: second.taskId })
  await cancelling
  await sleep(300)
  t.equal((await house.books()).size, count, 'and no further')
  const { rows } = await house.database.raw(
    `SELECT count(*)::int AS count FROM tasks WHERE type = 'analyze_book' AND status IN ('pending', 'processing')`,
  )
  t.equal(rows[0].count, 0)
})

t.test('a scan whose task is lost does not block the next one', async (t) => {
  const house = await openHouse(t, { files: ['a/1.cbz'] })
  await house.database('scans').insert({
    id: '00000000-0000-4000-8000-000000000001',
    library_id: house.libraryId,
    mode: 'normal',
    status: 'processing',
    started_at: house.database.raw(`now() - interval '1 minute'`),
  })
  // Not house.scan(), which waits until no scan is active: the lost one is active until the next one begins.
  const { taskId } = await house.scans.start(house.libraryId, undefined, null)
  const status = await until(async () => {
    const found = await house.scans.getStatus(house.libraryId)
    return found.taskId === taskId && found.status !== 'pending' && found.status !== 'processing' ? found : null
  }, 30_000)
  t.match(status, { status: 'completed', filesTotal: 1 })
})

t.test('patterns, formats and an inactive library', async (t) => {
  const house = await openHouse(t, { files: ['a/1.cbz', 'a/sample.cbz', 'extras/2.cbz', 'b.pdf'] })
  await house.scan()
  t.equal((await present(house)).length, 4)
  await house.database('libraries').update({ excluded_patterns: '*sample*\nextras', allowed_formats: ['cbz'] })
  t.match(await house.scan(), { status: 'completed', filesTotal: 1 })
  t.same(await present(house), ['a/1.cbz'], 'newly excluded files count as missing')
  await house.database('libraries').update({
    excluded_patterns: null,
    allowed_formats: null,
    scanning_config: JSON.stringify({ enabled: true, scanMode: 'normal', purgeDeletedOnScan: true }),
  })
  await house.scan()
  t.equal((await present(house)).length, 4, 'and comes back')
  unlinkSync(join(house.root, 'b.pdf'))
  await house.scan()
  t.equal((await house.books()).size, 4, 'what this scan missed may have been moved')
  const earlier = {
    started_at: house.database.raw(`started_at - interval '2 days'`),
    boot_seconds: house.database.raw('boot_seconds - 172800'),
  }
  await house.database('scans').update(earlier)
  await house.scan()
  t.same(await house.database('series').where('path', 'b.pdf'), [], 'purged with its series')
  t.equal((await house.books()).size, 3)

  await house.database('libraries').update({ is_active: false })
  await t.rejects(house.scans.start(house.libraryId), { code: 'conflict' })
  await t.rejects(house.scans.start('00000000-0000-4000-8000-000000000000'), { code: 'not_found' })
  await t.rejects(house.scans.getStatus('00000000-0000-4000-8000-000000000000'), { code: 'not_found' })
})
