import t from 'tap'
import { createLibrary, editLibrary } from '#core/scan/edit-library.ts'
import { nextScan } from '#core/scan/scan-schedule.ts'
import { openLibraryFixture, until } from '#test/support/library-fixture.ts'
import { findRules } from '#test/support/supervisor.ts'

t.setTimeout(120_000)

const nightly = { enabled: true, scanMode: 'normal', cronSchedule: '0 3 * * *', cronTimezone: 'Europe/Berlin' } as const
/** Half a day away: it does not become due during a test. */
const distant = { enabled: true, scanMode: 'normal', cronSchedule: `0 ${(new Date().getUTCHours() + 12) % 24} * * *` } as const

t.test('the next scan follows the schedule of the library', async (t) => {
  const noon = new Date('2026-07-01T10:00:00Z')
  t.equal(nextScan(nightly, noon)?.toISOString(), '2026-07-02T01:00:00.000Z')
  t.equal(nextScan({ ...nightly, cronTimezone: null }, noon)?.toISOString(), '2026-07-02T03:00:00.000Z')
  for (const none of [null, undefined, { ...nightly, enabled: false }, { ...nightly, cronSchedule: null }])
    t.equal(nextScan(none, noon), null)
  const refused = (path: string) => ({ code: 'invalid_value', details: [{ path }] })
  t.throws(() => nextScan({ ...nightly, cronSchedule: 'not a cron' }), refused('/scanningConfig/cronSchedule'))
  t.throws(() => nextScan({ ...nightly, cronSchedule: '*/4 * * * *', enabled: false }), refused('/scanningConfig/cronSchedule'))
  t.throws(() => nextScan({ ...nightly, cronTimezone: 'Mars/Base' }), refused('/scanningConfig/cronTimezone'))
})

t.test('a library that is polled is scanned in its interval, and by its schedule as well', async (t) => {
  const noon = new Date('2026-07-01T10:00:00Z')
  const polled = { enabled: true, scanMode: 'normal', watch: 'poll' } as const
  t.equal(nextScan(polled, noon)?.toISOString(), '2026-07-01T11:00:00.000Z')
  t.equal(nextScan({ ...polled, pollMinutes: 5 }, noon)?.toISOString(), '2026-07-01T10:05:00.000Z')
  t.equal(nextScan({ ...polled, pollMinutes: 10_080, cronSchedule: '0 12 * * *' }, noon)?.toISOString(), '2026-07-01T12:00:00.000Z')
  t.equal(nextScan({ ...polled, enabled: false }, noon), null)
  t.equal(nextScan({ ...polled, watch: 'on' }, noon), null)
  t.throws(() => nextScan({ ...polled, watch: 'auto', pollMinutes: 30 }, noon), {
    code: 'invalid_value',
    details: [{ path: '/scanningConfig/pollMinutes' }],
  })
})

t.test('a library keeps its next scan while its schedule changes', async (t) => {
  const { database, tasks, scans, root, dataFolder, libraryId } = await openLibraryFixture(t)
  const parts = { database, tasks, scans, rules: findRules(), settings: { dataFolder } }
  const due = async () => (await database('libraries').where('id', libraryId).first('next_scan_at')).next_scan_at as Date | null
  await editLibrary(parts, libraryId, { scanningConfig: distant })
  t.ok((await due()) as Date)
  await t.rejects(editLibrary(parts, libraryId, { scanningConfig: { ...nightly, cronSchedule: '* * * * *' } }), { code: 'invalid_value' })
  t.ok(await due(), 'what is refused changes nothing')
  await database('libraries')
    .where('id', libraryId)
    .update({ next_scan_at: new Date(0) })
  await editLibrary(parts, libraryId, { isActive: false })
  await scans.startDue()
  t.same(await database('scans'), [], 'a disabled library is not scanned')
  await editLibrary(parts, libraryId, { isActive: true })
  t.ok(((await due()) as Date) > new Date(), 'what it missed meanwhile is not made up for')
  await editLibrary(parts, libraryId, { scanningConfig: { ...nightly, enabled: false } })
  t.equal(await due(), null)
  const stored = (cronSchedule: string) => JSON.stringify({ ...nightly, cronSchedule })
  await database('libraries')
    .where('id', libraryId)
    .update({ is_active: false, scanning_config: stored('H 3 * * *') })
  await editLibrary(parts, libraryId, { isActive: true })
  t.equal(await due(), null, 'an invalid schedule of an earlier version is ignored')
  await t.rejects(createLibrary(parts, { name: 'x', path: `${root}/..`, scanningConfig: { ...nightly, cronTimezone: 'Mars/Base' } }))
})

t.test('a scan that several times were missed runs once, also if two nodes notice', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['s/1.cbz'], manual: true })
  const { database, scans, tasks, libraryId } = fixture
  const missed = async (mode: string) =>
    await database('libraries')
      .where('id', libraryId)
      .update({ scanning_config: { ...distant, scanMode: mode }, next_scan_at: new Date(Date.now() - 5 * 86_400_000) })
  const ended = () => until(async () => (await scans.listActive()).length === 0)
  const modes = async () => await database('scans').orderBy('started_at').pluck('mode')
  await missed('normal')
  await Promise.all([scans.startDue(), scans.startDue()])
  // Not before: a scan that has ended by then refuses no second one.
  await tasks.start()
  await ended()
  await scans.startDue()
  t.same(await modes(), ['normal'])
  const { next_scan_at } = await database('libraries').where('id', libraryId).first('next_scan_at')
  t.ok(next_scan_at > new Date())

  // Another node, which read the due time before the first one replaced it, or a server that scanned at its start.
  await database('libraries')
    .where('id', libraryId)
    .update({ next_scan_at: new Date(Date.now() - 60_000) })
  await scans.startDue()
  t.same(await modes(), ['normal'], 'the scan that began since then counts')
  await database('libraries')
    .where('id', libraryId)
    .update({ scanning_config: { ...distant, scanMode: 'deep' } })
  await database('libraries')
    .where('id', libraryId)
    .update({ next_scan_at: new Date(Date.now() - 60_000) })
  await scans.startDue()
  await ended()
  t.same(await modes(), ['normal', 'deep'], 'a normal scan is no deep one')
})

t.test('a schedule that an earlier version stored without a check is ignored, and the state of the scan says so', async (t) => {
  const { database, scans, libraryId, scan } = await openLibraryFixture(t, { files: ['s/1.cbz'] })
  await database('libraries')
    .where('id', libraryId)
    .update({ scanning_config: { ...nightly, cronSchedule: 'not a cron' }, next_scan_at: new Date() })
  await scans.startDue()
  t.same(await database('scans'), [])
  t.equal((await database('libraries').first('next_scan_at')).next_scan_at, null)
  t.match((await scan()).warnings, [/^The schedule of scans is ignored\. scanningConfig\/cronSchedule: a schedule has five fields/])
})

t.test('a start scans the libraries that want it, and those of which nobody has decided anything', async (t) => {
  const { database, scans, libraryId } = await openLibraryFixture(t, { manual: true })
  const started = async (config: object | null) => {
    await database('scans').delete()
    await database('libraries').where('id', libraryId).update({ scanning_config: config })
    await scans.startOnStart()
    return await database('scans').pluck('mode')
  }
  t.same(await started(null), ['normal'])
  t.same(await started({ enabled: true, scanMode: 'deep', scanOnStart: true }), ['deep'])
  t.same(await started({ enabled: true, scanMode: 'normal' }), [])
  t.same(await started({ enabled: false, scanMode: 'normal', scanOnStart: true }), [], 'nothing automatic at all')
  await database('libraries').where('id', libraryId).update({ is_active: false })
  t.same(await started(null), [])
})
