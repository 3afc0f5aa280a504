import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, renameSync, rmSync, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { listSparedFolders, purgeBooks, purgeDeletedOf } from '#core/scan/purge-deleted.ts'
import { getTask } from '#core/tasks/task-query.ts'
import { rateSeries, setTestRule } from '#test/support/access-rules.ts'
import { factsOfFile, fakeAnalysis } from '#test/support/analyses.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { type LibraryFixture, openLibraryFixture, until } from '#test/support/library-fixture.ts'
import { addBook, addCaller, addSeries } from '#test/support/library-rows.ts'
import { mountDisk } from '#test/support/mounted-disk.ts'

t.setTimeout(240_000)

t.test('purging after a scan spares moved books', async (t) => {
  let release = () => {}
  let gate = Promise.resolve()
  const fixture: LibraryFixture = await openLibraryFixture(t, {
    files: ['a/1.cbz', 'a/2.cbz', 'a/3.cbz'],
    analyze: async ({ path }) => {
      await gate
      return fakeAnalysis({ file: factsOfFile(path) })
    },
  })
  await fixture.scan()
  await fixture.database('libraries').update({ scanning_config: JSON.stringify({ purgeDeletedOnScan: true }) })
  const { id } = (await fixture.books()).get('a/1.cbz') ?? { id: '' }
  gate = new Promise<void>((resolve) => {
    release = resolve
  })
  t.teardown(() => release())
  renameSync(join(fixture.root, 'a/1.cbz'), join(fixture.root, 'a/moved.cbz'))
  unlinkSync(join(fixture.root, 'a/3.cbz'))
  const ended = async () => {
    const { taskId } = await fixture.scans.start(fixture.libraryId)
    await until(async () => (await getTask(fixture.database, taskId)).status === 'completed')
    return ((await getTask(fixture.database, taskId)).result as { purged: number }).purged
  }
  t.equal(await ended(), 0)
  t.equal(await ended(), 0, 'nor does a later scan while the new file waits for its analysis')
  t.equal((await fixture.books()).get('a/1.cbz')?.id, id)
  release()
  await until(async () => (await fixture.books()).get('a/moved.cbz')?.state === 'analyzed')
  t.equal((await fixture.books()).get('a/moved.cbz')?.id, id)
  t.equal(await ended(), 0, 'two scans of one day are one')
  await passTime(fixture, 25)
  t.equal(await ended(), 1)
  t.same([...(await fixture.books()).keys()].sort(), ['a/2.cbz', 'a/moved.cbz'])
})

/** As if all scans so far had run this many hours earlier. */
async function passTime({ database }: LibraryFixture, hours: number, clocks: 'both' | 'wall' = 'both'): Promise<void> {
  const seconds = hours * 3600
  await database('scans').update({
    started_at: database.raw('started_at - make_interval(secs => ?)', [seconds]),
    ...(clocks === 'both' && { boot_seconds: database.raw('boot_seconds - ?', [seconds]) }),
  })
}

async function openPurging(
  t: Test,
  count: number,
): Promise<{ fixture: LibraryFixture; scan: (options?: { confirm?: boolean }) => Promise<number> }> {
  const fixture: LibraryFixture = await openLibraryFixture(t, {
    files: Array.from({ length: count }, (_, index) => `s/${index}.cbz`),
    analyze: async ({ path }) => fakeAnalysis({ file: factsOfFile(path) }),
  })
  await fixture.scan()
  await fixture.database('libraries').update({ scanning_config: JSON.stringify({ purgeDeletedOnScan: true }) })
  return {
    fixture,
    async scan(options) {
      const { taskId } = await fixture.scan('normal', options)
      const task = await until(async () => {
        const { status, result } = await getTask(fixture.database, taskId as string)
        return (status === 'completed' || status === 'failed') && { purged: (result as { purged: number } | null)?.purged ?? 0 }
      })
      return task.purged
    },
  }
}

t.test('books are purged automatically only after two complete scans found them missing, a day apart', async (t) => {
  const { fixture, scan } = await openPurging(t, 6)
  const gone = ['s/0.cbz', 's/1.cbz']
  for (const path of gone) unlinkSync(join(fixture.root, path))
  t.equal(await scan(), 0)
  await passTime(fixture, 23)
  t.equal(await scan(), 0, 'too early')
  await passTime(fixture, 24 * 365, 'wall')
  t.equal(await scan(), 0, 'a clock that was set forward is no time that has passed')
  await passTime(fixture, 24, 'both')

  fixture.put('s/0.cbz')
  t.equal(await scan(), 1, 'one of them was restored, the other has been missing long enough')
  t.same((await fixture.books()).get('s/0.cbz')?.deleted_at, null)

  unlinkSync(join(fixture.root, 's/0.cbz'))
  t.equal(await scan(), 0, 'the count starts again')
})

t.test('most of a library is never purged automatically', async (t) => {
  const { fixture, scan } = await openPurging(t, 45)
  // In steps that are each too small for the scan's limit.
  for (let left = 45; left > 1; left = Math.ceil(left / 2)) {
    for (let index = Math.ceil(left / 2); index < left; index++) unlinkSync(join(fixture.root, `s/${index}.cbz`))
    await scan()
  }
  await passTime(fixture, 48)
  t.equal(await scan(), 0)
  t.match(await fixture.scans.getStatus(fixture.libraryId), {
    status: 'completed',
    errors: [/44 of 45 books.*purge-deleted/s],
  })
  t.equal((await fixture.books()).size, 45)
  t.equal(
    await purgeDeletedOf({ database: fixture.database, dataFolder: fixture.dataFolder }, null, fixture.libraryId),
    44,
    'a person is obeyed at once',
  )
})

t.test('books that a user confirmed as gone are purged like the others', async (t) => {
  const { fixture, scan } = await openPurging(t, 3)
  for (const index of [0, 1, 2]) unlinkSync(join(fixture.root, `s/${index}.cbz`))
  t.equal(await scan(), 0)
  await passTime(fixture, 48)
  t.equal(await scan(), 0)
  t.equal((await fixture.books()).get('s/0.cbz')?.deleted_at, null, 'nothing is marked without confirmation')
  await scan({ confirm: true })
  t.equal(await scan(), 0)
  await passTime(fixture, 25)
  t.equal(await scan(), 3)
})

t.test('the number of purged books does not count those that the caller may not see', async (t) => {
  const { database, dataFolder, libraryId: library_id } = await openLibraryFixture(t)
  const maintainer = await addCaller(database, { role: 'maintainer' })
  await setTestRule(database, { user_id: maintainer.userId }, { age: { mode: 'not_from', years: 18, unrated: 'show' } })
  const [open, adult] = [
    await addSeries(database, { library_id, title: 'Open' }),
    await addSeries(database, { library_id, title: 'Adult' }),
  ]
  await rateSeries(database, adult, 18)
  for (const series_id of [open, adult, adult]) await addBook(database, { library_id, series_id, title: 'Book', deleted_at: new Date() })
  t.equal(await purgeDeletedOf({ database, dataFolder }, maintainer, library_id), 1)
  t.same(await database('books'), [], 'all of the library are purged')
})

t.test('a selection of missing books is removed, or nothing at all', async (t) => {
  const { database, dataFolder, libraryId: library_id } = await openLibraryFixture(t)
  const maintainer = await addCaller(database, { role: 'maintainer' })
  await setTestRule(database, { user_id: maintainer.userId }, { age: { mode: 'not_from', years: 18, unrated: 'show' } })
  const [open, adult] = [
    await addSeries(database, { library_id, title: 'Open' }),
    await addSeries(database, { library_id, title: 'Adult' }),
  ]
  await rateSeries(database, adult, 18)
  const gone = { library_id, title: 'Gone', deleted_at: new Date() }
  const [one, two] = [await addBook(database, { ...gone, series_id: open }), await addBook(database, { ...gone, series_id: open })]
  const hidden = await addBook(database, { ...gone, series_id: adult })
  const there = await addBook(database, { library_id, series_id: adult, title: 'There' })
  const parts = { database, dataFolder }
  const count = async () => (await database('books')).length
  await t.rejects(purgeBooks(parts, maintainer, [one, hidden]), { code: 'not_found' })
  await t.rejects(purgeBooks(parts, null, [one, there]), { code: 'conflict', message: /the last scan has found its file/ })
  await database('books').where('id', there).update({ missing_why: 'withheld', missing_since: new Date() })
  await t.rejects(purgeBooks(parts, null, [there]), { code: 'conflict', message: /its disk may be missing/ })
  t.equal(await count(), 4, 'nothing was removed')
  t.equal(await purgeBooks(parts, maintainer, [one.toUpperCase(), two]), 2)
  t.same(await database('series').pluck('id'), [adult], 'a series that is empty then is removed too')
  t.equal(await count(), 2)
})

t.test('the missing books of a folder in which only a NAS has left something are spared', async (t) => {
  const { database, libraryId: library_id, root, put } = await openLibraryFixture(t, { manual: true })
  const [scan] = await database('scans').insert({ id: randomUUID(), library_id, mode: 'normal', status: 'completed' }, 'id')
  const series_id = await addSeries(database, { library_id, title: 'a' })
  for (const folder of ['nas', 'windows', 'used']) {
    const missing = { deleted_at: new Date(), missing_since: new Date(), missed_by: scan.id }
    await addBook(database, { library_id, series_id, title: folder, path: join(root, folder, '1.cbz'), ...missing })
  }
  put('nas/@eaDir/1.cbz')
  put('windows/Thumbs.db')
  put('used/notes.txt')
  const spared = await listSparedFolders(database, { id: library_id, path: root }, 30)
  t.same(spared.toSorted(), [join(root, 'nas'), join(root, 'windows')])
})

t.test('the missing books of a disk that does not answer are spared, and nothing waits for it', onlyFull, async (t) => {
  const room = mkdtempSync(join(tmpdir(), 'carrel-silent-'))
  const [mirrored, mounted] = ['mirrored', 'mounted'].map((name) => join(room, name)) as [string, string]
  for (const folder of [join(mirrored, 'a'), mounted]) mkdirSync(folder, { recursive: true })
  const disk = await mountDisk(t, mirrored, mounted)
  if (disk === null) return void t.pass('this process may not mount: the test needs the rights of root and /dev/fuse')
  t.teardown(() => {
    disk.kill('SIGKILL')
    spawnSync('umount', ['-l', mounted])
    rmSync(room, { recursive: true, force: true })
  })
  const { database, libraryId: library_id } = await openLibraryFixture(t, { manual: true })
  const [scan] = await database('scans').insert({ id: randomUUID(), library_id, mode: 'normal', status: 'completed' }, 'id')
  const series_id = await addSeries(database, { library_id, title: 'a' })
  await addBook(database, {
    library_id,
    series_id,
    title: '1',
    path: join(mounted, 'a/1.cbz'),
    deleted_at: new Date(),
    missing_since: new Date(),
    missed_by: scan.id,
  })
  disk.kill('SIGSTOP')
  t.same(await listSparedFolders(database, { id: library_id, path: mounted }, 30), [join(mounted, 'a')])
})
