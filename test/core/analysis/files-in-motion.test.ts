import { appendFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findMotion, findMotionAfter, nextLook } from '#core/analysis/files-in-motion.ts'
import { comic, type LibraryFixture, openLibraryFixture, until } from '#test/support/library-fixture.ts'
import { buildZip } from '#test/support/zip-builder.ts'

t.setTimeout(240_000)

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const version = { bytes: '10', mtimeNs: String(BigInt(50 * HOUR) * 1_000_000n) }
const other = { ...version, bytes: '11' }
const now = 50 * HOUR

t.test('a file is read when two looks have seen the same, or its time is not new', (t) => {
  const given = { quietMs: 10_000, now }
  const look = (agoMs: number) => ({ ...version, since: now - agoMs })
  t.equal(findMotion({ look: null, version, isYoung: false }, given), null)
  t.same(findMotion({ look: null, version, isYoung: true }, given), { look: look(0), at: now + 10_000 })
  t.same(findMotion({ look: look(4_000), version, isYoung: true }, given), { look: look(4_000), at: now + 6_000 }, 'only the rest')
  t.equal(findMotion({ look: look(10_000), version, isYoung: true }, given), null, 'whatever its time says')
  t.same(findMotion({ look: look(HOUR), version: other, isYoung: false }, given), { look: { ...other, since: now }, at: now + 10_000 })
  const changed = (agoMs: number) => ({ bytes: '11', mtimeNs: String(BigInt(now - agoMs) * 1_000_000n) })
  const late = changed(4_000)
  t.same(findMotion({ look: look(HOUR), version: late, isYoung: false }, given), { look: { ...late, since: now - 4_000 }, at: now + 6_000 })
  t.equal(findMotion({ look: look(HOUR), version: changed(20_000), isYoung: false }, given), null, 'its time is later than the last look')
  t.match(findMotion({ look: look(HOUR), version: changed(2 * HOUR), isYoung: false }, given), { at: now + 10_000 }, 'and not before it')
  t.match(findMotion({ look: look(-100 * HOUR), version, isYoung: true }, given), { at: now + 10_000 }, 'a clock that was set back')
  const part = { ...look(MINUTE), isIncomplete: true }
  t.same(findMotion({ look: part, version, isYoung: false }, given), { look: part, at: now + MINUTE }, 'a part is not read again')
  t.equal(findMotion({ look: { ...part, since: now - 10 * MINUTE }, version, isYoung: false }, given), null, 'until it has stalled')
  t.end()
})

t.test('what was read is recorded if the file did not change, and is complete or has stalled', (t) => {
  const given = { quietMs: 10_000, now }
  const after = (look: number | null, more: { isIncomplete: boolean; after?: typeof version }) =>
    findMotionAfter({ look: look === null ? null : { ...version, since: now - look }, before: version, after: version, ...more }, given)
  t.equal(after(null, { isIncomplete: false }), null)
  t.match(after(null, { isIncomplete: false, after: other }), { look: { bytes: '11', since: now }, at: now + 10_000 })
  t.match(after(15_000, { isIncomplete: true }), { at: now + 15_000 }, 'after twice the time')
  t.match(after(9 * MINUTE, { isIncomplete: true }), { at: now + MINUTE }, 'at the latest after ten minutes')
  t.equal(after(10 * MINUTE, { isIncomplete: true }), null)
  const aged = (ms: number) => ({ ...version, mtimeNs: String(BigInt(now - ms) * 1_000_000n) })
  const first = (ms: number) => findMotionAfter({ look: null, before: aged(ms), after: aged(ms), isIncomplete: true }, given)
  t.match(first(4 * MINUTE), { look: { isIncomplete: true, since: now - 4 * MINUTE }, at: now + 4 * MINUTE }, 'by its own time')
  t.equal(first(11 * MINUTE), null)
  t.equal(first(now), null, 'a time in 1970 says nothing')
  t.equal(first(-1_000_000 * HOUR), null, 'nor does one in 2084')
  t.end()
})

t.test('a file with an error is looked at for a day, a complete one once', (t) => {
  const look = (agoMs: number) => ({ ...version, since: now - agoMs })
  t.equal(nextLook({ look: null, version, isIncomplete: false }, now), null)
  t.match(nextLook({ look: look(10_000), version, isIncomplete: false }, now), { at: now - 10_000 + 10 * MINUTE })
  t.equal(nextLook({ look: look(10 * MINUTE), version, isIncomplete: false }, now), null)
  t.match(nextLook({ look: look(10 * MINUTE), version, isIncomplete: true }, now), { at: now + 10 * MINUTE })
  t.match(nextLook({ look: look(5 * HOUR), version, isIncomplete: true }, now), { look: { isIncomplete: true }, at: now + 5 * HOUR })
  t.equal(nextLook({ look: look(25 * HOUR), version, isIncomplete: true }, now), null)
  t.end()
})

const errorsOf = async ({ database }: LibraryFixture): Promise<{ message: string; fatal: boolean }[]> =>
  await database('book_errors').select('message', 'fatal')

/** The task that looks at the file again, not the one of the scan. */
const waitingOf = async ({ database }: LibraryFixture) =>
  await database('tasks')
    .where({ type: 'analyze_book', status: 'pending' })
    .whereRaw(`params -> 'look' IS NOT NULL`)
    .first('id', 'params', 'scheduled_for', 'book_id')

/** Has the task that looks again do so now, as if the file had been the same for so long. */
async function lookNow(fixture: LibraryFixture, agoMs: number): Promise<void> {
  const waiting = await until(() => waitingOf(fixture))
  const since = Date.now() - agoMs
  await fixture
    .database('tasks')
    .where('id', waiting.id)
    .update({ params: { look: { ...waiting.params.look, since } } })
  await fixture.tasks.add({ type: 'analyze_book', libraryId: fixture.libraryId, bookId: waiting.book_id, dedupeKey: waiting.book_id })
  await until(async () => {
    const task = await fixture.database('tasks').where('id', waiting.id).first('status')
    return task.status === 'completed'
  })
}

const stateOf = async (fixture: LibraryFixture, path: string) => (await fixture.books()).get(path)?.state
const scanned = async (fixture: LibraryFixture) => {
  const { taskId } = await fixture.scans.start(fixture.libraryId)
  await until(async () => (await fixture.database('scans').where('id', taskId).first('status')).status === 'completed')
}

t.test('a file that is copied waits without an error, and is analyzed by itself when it is complete', async (t) => {
  const fixture = await openLibraryFixture(t, { quietMs: 1_500 })
  const whole = comic('whole', 20)
  const path = fixture.put('a/copied.cbz', whole.subarray(0, 900))
  await scanned(fixture)
  await until(async () => (await waitingOf(fixture))?.params.look.isIncomplete)
  t.same(await errorsOf(fixture), [], 'a pause of the copy is no error')
  t.equal(await stateOf(fixture, 'a/copied.cbz'), 'pending')
  appendFileSync(path, whole.subarray(900))
  await until(async () => (await stateOf(fixture, 'a/copied.cbz')) === 'analyzed')
  t.equal((await fixture.books()).get('a/copied.cbz')?.page_count, 20)
  t.same(await errorsOf(fixture), [])
})

t.test('a copy that has stalled becomes an error that says so, and heals by itself', async (t) => {
  const fixture = await openLibraryFixture(t, { quietMs: 300_000 })
  const whole = comic('whole', 20)
  fixture.put('a/stalled.cbz', whole.subarray(0, 900))
  await scanned(fixture)
  t.match(await until(() => waitingOf(fixture)), { params: { look: { bytes: '900' } } })
  t.equal(await stateOf(fixture, 'a/stalled.cbz'), 'pending')
  t.equal(fixture.analyzed.size, 0, 'it is not read')
  await lookNow(fixture, 400_000)
  t.equal(fixture.analyzed.get('a/stalled.cbz'), 1)
  t.same(await errorsOf(fixture), [])
  await lookNow(fixture, 500_000)
  t.equal(fixture.analyzed.get('a/stalled.cbz'), 1, 'it is not read again while it is the same')
  await lookNow(fixture, 601_000)
  t.match(await errorsOf(fixture), [{ fatal: true, message: /not changed for 10 minutes: its copy or download may have stopped/ }])
  t.equal(await stateOf(fixture, 'a/stalled.cbz'), 'failed')
  await lookNow(fixture, 1_300_000)
  t.equal(fixture.analyzed.get('a/stalled.cbz'), 2)
  await fixture.tasks.stop()
  t.match(await waitingOf(fixture), { params: { look: { bytes: '900', isIncomplete: true } } }, 'a stopped server looks again later')

  const next = await openLibraryFixture(t, { quietMs: 300_000 })
  const same = next.put('stalled.cbz', whole.subarray(0, 900))
  await scanned(next)
  await lookNow(next, 601_000)
  t.equal(await stateOf(next, 'stalled.cbz'), 'failed')
  writeFileSync(same, whole)
  await lookNow(next, 700_000)
  t.match(await waitingOf(next), { params: { look: { bytes: String(whole.length) } } }, 'the copy continues')
  await lookNow(next, 300_000)
  t.equal(await stateOf(next, 'stalled.cbz'), 'analyzed')
  t.same(await errorsOf(next), [])
})

t.test('a file with the time of another one, as of a copy that keeps times, is complete', async (t) => {
  const fixture = await openLibraryFixture(t, { quietMs: 300_000, files: ['1970.cbz', '2100.cbz', 'last year.cbz'] })
  utimesSync(join(fixture.root, '1970.cbz'), 0, 0)
  utimesSync(join(fixture.root, '2100.cbz'), 4_102_444_800, 4_102_444_800)
  const year = Date.now() / 1000 - 366 * 86_400
  utimesSync(join(fixture.root, 'last year.cbz'), year, year)
  await fixture.scan()
  t.same(
    [...(await fixture.books()).values()].map(({ state }) => state),
    ['analyzed', 'analyzed', 'analyzed'],
  )
})

t.test('a file that changes while it is read waits', async (t) => {
  const fixture: LibraryFixture = await openLibraryFixture(t, {
    quietMs: 1_000,
    analyze: async ({ path }) => {
      if (fixture.analyzed.get('grows.cbz') === 1) appendFileSync(path, 'more')
      const { findPool } = await import('#test/support/pool.ts')
      return await findPool().analyze({ root: fixture.root, path, verifyPages: false })
    },
  })
  const path = fixture.put('grows.cbz')
  // Of a drive whose clock is an hour behind.
  const then = Date.now() / 1000 - 3_600
  utimesSync(path, then, then)
  await scanned(fixture)
  await until(async () => (await stateOf(fixture, 'grows.cbz')) === 'analyzed')
  t.equal(fixture.analyzed.get('grows.cbz'), 2)
  t.same(await errorsOf(fixture), [])
})

t.test('what is no book, or locked, is reported at once, and what may be the beginning of a book waits', async (t) => {
  const fixture = await openLibraryFixture(t, { quietMs: 1_000 })
  const page = '<!DOCTYPE html><html><title>404</title></html>'
  fixture.put('new.epub', Buffer.from(page))
  const old = fixture.put('old.epub', Buffer.from(page))
  const year = Date.now() / 1000 - 366 * 86_400
  utimesSync(old, year, year)
  fixture.put('text.cbz', Buffer.from('x'.repeat(1_024)))
  fixture.put('texts.cbz', buildZip([{ name: 'a.txt', data: Buffer.from('text') }]))
  fixture.put('locked.cbz', buildZip([{ name: '1.gif', data: Buffer.from('GIF89a'), encrypted: true }]))
  fixture.put('begins.pdf', Buffer.from('%PD'))
  fixture.put('preallocated.cbz', Buffer.alloc(4_096))
  await scanned(fixture)
  const statesOf = async () => Object.fromEntries([...(await fixture.books())].map(([path, { state }]) => [path, state]))
  await until(async () => (await fixture.scans.getStatus(fixture.libraryId)).incomplete === 2)
  await until(async () => (await errorsOf(fixture)).length === 5)
  t.same(await statesOf(), {
    ...{ 'new.epub': 'failed', 'old.epub': 'failed', 'text.cbz': 'failed', 'texts.cbz': 'failed', 'locked.cbz': 'failed' },
    ...{ 'begins.pdf': 'pending', 'preallocated.cbz': 'pending' },
  })
  for (const { message } of await errorsOf(fixture))
    t.match(
      message,
      /^This (file is (a web page|plain text); Carrel reads CBZ, CBR, EPUB, PDF|archive (contains no pictures, so it has no pages|is protected by a password\. Pack it again without one))\.$/,
    )
  t.equal((await fixture.scans.getStatus(fixture.libraryId)).pendingAnalysis, 2)
})
