import { mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Log, silentLog } from '#core/foundation/log.ts'
import { LibraryWatches } from '#core/scan/watch/library-watches.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { setTestRule } from '#test/support/access-rules.ts'
import { type LibraryFixture, openLibraryFixture, until } from '#test/support/library-fixture.ts'
import { addCaller } from '#test/support/library-rows.ts'

t.setTimeout(240_000)

/** A node that watches the library of the fixture. */
function openWatches(
  t: Test,
  { database, scans, tasks }: Pick<LibraryFixture, 'database' | 'tasks'> & { scans: Pick<LibraryFixture['scans'], 'start'> },
  { log = silentLog, nodeLock = tasks.nodeLock }: { log?: Log; nodeLock?: number } = {},
) {
  const watches = new LibraryWatches({ database, scans, log, nodeLock, quietMs: 0 })
  t.teardown(() => watches.close())
  return watches
}

const isWatching = ({ scans, libraryId }: LibraryFixture) => until(async () => (await scans.getStatus(libraryId)).watching)
const partsOf = async ({ database }: LibraryFixture): Promise<(string | null)[]> =>
  await database('scans').orderBy('started_at').pluck('path')
const configure = async ({ database, libraryId }: LibraryFixture, config: object | null) =>
  await database('libraries')
    .where('id', libraryId)
    .update({ scanning_config: config && JSON.stringify({ enabled: true, scanMode: 'normal', ...config }) })

t.test('a new book is listed without a scan by a person, by scans of the folders concerned only', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['A/1.cbz', 'B/1.cbz'] })
  await fixture.scan()
  const watches = openWatches(t, fixture)
  t.equal((await fixture.scans.getStatus(fixture.libraryId)).watching, false)
  await watches.refresh()
  await isWatching(fixture)
  fixture.put('A/2.cbz')
  await until(async () => (await fixture.books()).get('A/2.cbz')?.state === 'analyzed')
  t.same(await partsOf(fixture), [null, 'A'])
  fixture.put('New/sub/1.cbz')
  await until(async () => (await fixture.books()).get('New/sub/1.cbz')?.state === 'analyzed')
  rmSync(join(fixture.root, 'A/2.cbz'))
  await until(async () => (await fixture.books()).get('A/2.cbz')?.deleted_at)
  t.same(await partsOf(fixture), [null, 'A', 'New', 'A'])
  await watches.refresh()
  t.match(await fixture.database('library_watches').first(), { folders: 5, silent: 0, problem: null })

  await watches.close()
  t.same(await fixture.database('library_watches'), [], 'nothing is watched after the end')
  t.equal((await fixture.scans.getStatus(fixture.libraryId)).watching, false)
})

t.test('the books behind a link come and go with it', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['A/1.cbz', 'Far/1.cbz'] })
  const target = realpathSync(mkdtempSync(join(tmpdir(), 'carrel-target-')))
  t.teardown(() => rmSync(target, { recursive: true, force: true }))
  renameSync(join(fixture.root, 'Far'), join(target, 'Far'))
  await fixture.database('libraries').update({ link_targets: [target] })
  await fixture.scan()
  const watches = openWatches(t, fixture)
  await watches.refresh()
  await isWatching(fixture)
  symlinkSync(join(target, 'Far'), join(fixture.root, 'Link'))
  await until(async () => (await fixture.books()).get('Link/1.cbz')?.state === 'analyzed')
  rmSync(join(fixture.root, 'Link'))
  await until(async () => (await fixture.books()).get('Link/1.cbz')?.deleted_at)
  t.same(await partsOf(fixture), [null, 'Link', 'Link'])
})

t.test('a library is watched as its settings say', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['A/1.cbz'] })
  const watches = openWatches(t, fixture)
  const count = async () => (await fixture.database('library_watches')).length
  await watches.refresh()
  t.equal(await count(), 1, 'by default')
  for (const off of [{ watch: 'off' }, { watch: 'poll' }, { enabled: false }]) {
    await configure(fixture, off)
    await watches.refresh()
    t.equal(await count(), 0, JSON.stringify(off))
    await configure(fixture, { watch: 'on' })
    await watches.refresh()
    t.equal(await count(), 1)
  }
  await fixture.database('libraries').update({ is_active: false })
  await watches.refresh()
  t.equal(await count(), 0)
  await fixture.database('libraries').update({ is_active: true })
  await watches.refresh()
  await isWatching(fixture)
  await fixture.database('libraries').update({ excluded_patterns: 'B' })
  await watches.refresh()
  await isWatching(fixture)
  fixture.put('B/1.cbz')
  fixture.put('A/2.cbz')
  await until(async () => (await fixture.books()).has('A/2.cbz'))
  t.same((await partsOf(fixture))[0], null, 'between two watches, changes may have been missed')
  t.notOk((await fixture.books()).has('B/1.cbz'))
})

t.test('one node watches, and another one goes on after its death, and scans what it may have missed', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['A/1.cbz'] })
  const other = await openTaskQueue({ database: fixture.database, log: silentLog, nodeId: 'other' })
  await other.start()
  const first = openWatches(t, fixture, { nodeLock: other.nodeLock })
  const second = openWatches(t, fixture)
  await first.refresh()
  await isWatching(fixture)
  await second.refresh()
  const [{ node_lock: lock }] = await fixture.database('library_watches')
  t.equal(Number(lock), other.nodeLock)
  // As if it were killed: its connection ends, and its claim stays.
  await other.stop()
  t.equal((await fixture.scans.getStatus(fixture.libraryId)).watching, false, 'a dead node watches nothing')
  t.same(await partsOf(fixture), [])
  await second.refresh()
  await isWatching(fixture)
  t.equal(Number((await fixture.database('library_watches').first()).node_lock), fixture.tasks.nodeLock)
  await until(async () => (await partsOf(fixture)).length === 1)
  t.same(await partsOf(fixture), [null])
  await first.refresh()
  t.equal(Number((await fixture.database('library_watches').first()).node_lock), fixture.tasks.nodeLock)
})

t.test('changes that are not scanned at the end are scanned by the next node', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['A/1.cbz'] })
  const refused: unknown[] = []
  const start: LibraryFixture['scans']['start'] = async (...given) =>
    await fixture.scans.start(...given).catch((error: unknown) => {
      refused.push(error)
      throw error
    })
  const watches = openWatches(t, { ...fixture, scans: { start } })
  await watches.refresh()
  await isWatching(fixture)
  // A scan that never ends, so that no other one begins. One that seems to have begun long ago would count as lost.
  const begun = { mode: 'normal', status: 'processing', started_at: new Date(Date.now() + 3_600_000) }
  await fixture.database('scans').insert({ id: fixture.libraryId, library_id: fixture.libraryId, ...begun })
  fixture.put('A/2.cbz')
  await until(() => refused.length > 0)
  t.match(refused[0], { code: 'scan_running' })
  await watches.refresh()
  await watches.close()
  t.equal((await fixture.database('library_watches')).length, 1, 'the claim says that something was missed')
})

t.test('why a library is not watched is in the status of its scans', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['A/1.cbz'] })
  const messages: string[] = []
  const watches = openWatches(t, fixture, { log: { ...silentLog, warn: (_: object, message: string) => messages.push(message) } as Log })
  rmSync(fixture.root, { recursive: true })
  await watches.refresh()
  const found = await until(async () => {
    const { warnings, watching, watchProblem } = await fixture.scans.getStatus(fixture.libraryId)
    return warnings && { warnings, watching, watchProblem }
  })
  const watchProblem =
    'The library is not watched. The folder of the library does not exist. New files there are found by scans and their schedule only.'
  t.same(found, { warnings: [watchProblem], watching: false, watchProblem })
  t.match(messages, [/"Test" is not watched: The folder of the library does not exist/])
  const reader = await addCaller(fixture.database)
  t.match(await fixture.scans.getStatus(fixture.libraryId, reader), { warnings: found?.warnings ?? [] })
  await setTestRule(fixture.database, { user_id: reader.userId }, { age: { mode: 'up_to', years: 12, unrated: 'hide' } })
  t.equal(
    (await fixture.scans.getStatus(fixture.libraryId, reader)).warnings,
    undefined,
    'which may be about folders that a user does not see',
  )
})
