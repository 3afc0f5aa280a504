import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { findLibraryRow, type LibraryRow } from '#core/catalog/library-store.ts'
import { silentLog } from '#core/foundation/log.ts'
import { editLibrary } from '#core/scan/edit-library.ts'
import { markMissing } from '#core/scan/mark-missing.ts'
import { describeLoss, isMassLoss } from '#core/scan/mass-loss.ts'
import type { TaskRun } from '#core/tasks/task.ts'
import { factsOfFile, fakeAnalysis } from '#test/support/analyses.ts'
import { type LibraryFixture, openLibraryFixture, until } from '#test/support/library-fixture.ts'
import { findRules } from '#test/support/supervisor.ts'
import { assertInTime } from '#test/support/timed-property.ts'

t.setTimeout(240_000)

const open = (t: Parameters<typeof openLibraryFixture>[0], count: number): Promise<LibraryFixture> =>
  openLibraryFixture(t, {
    files: Array.from({ length: count }, (_, index) => `${index % 5}/${index}.cbz`),
    analyze: async ({ path }) => fakeAnalysis({ file: factsOfFile(path) }),
  })
const present = async (fixture: LibraryFixture) => [...(await fixture.books()).values()].filter((book) => book.deleted_at === null).length

t.test('a scan that misses more than half of the books stops', async (t) => {
  assertInTime(
    fc.property(fc.nat(500), fc.nat(500), (known, missing) => {
      const expected = missing > 0 && (missing >= known || (missing > known / 2 && known >= 5))
      return isMassLoss({ known, missing }) === expected
    }),
  )
  const text = describeLoss({ known: 12_345, missing: 9_876 }, '/books')
  t.match(text, /^9,876 of the 12,345 known books are gone.*confirm=true.*--confirm/)
})

t.test('a missing disk, and a stray book on its mount point', async (t) => {
  const fixture = await open(t, 9)
  await fixture.scan()
  const away = `${fixture.root}-disk`
  renameSync(fixture.root, away)
  mkdirSync(fixture.root)
  fixture.put('stray.cbz')
  for (const night of ['first', 'second', 'third']) {
    const status = await fixture.scan()
    t.match(status, { status: 'failed', guard: { known: 9, missing: 9 }, errors: [/^All 9 known books are gone/] }, `the ${night} scan`)
    t.equal(await present(fixture), 10, 'all are there, and the stray one too: it does not make up for the others')
  }
  rmSync(fixture.root, { recursive: true })
  renameSync(away, fixture.root)
  t.match(await fixture.scan(), { status: 'completed', guard: null, errors: [] })
  t.equal(await present(fixture), 9, 'the stray one is missing, which is not a mass loss')
})

t.test('a scan that stops before it has looked for missing books, and is repeated: new files do not make up for them', async (t) => {
  const fixture = await open(t, 5)
  await fixture.scan()
  for (let index = 0; index < 5; index++) {
    unlinkSync(join(fixture.root, `${index}/${index}.cbz`))
    fixture.put(`${index}/new ${index}.cbz`)
  }
  await fixture.database.raw(`
    CREATE FUNCTION stop_scan() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''stopped''; END';
    CREATE TRIGGER stop_scan BEFORE UPDATE ON books FOR EACH ROW WHEN (NEW.missing_why IS NOT NULL) EXECUTE FUNCTION stop_scan()`)
  t.match(await fixture.scan(), { status: 'failed', guard: null })
  await fixture.database.raw('DROP TRIGGER stop_scan ON books; DROP FUNCTION stop_scan')
  await fixture.scan()
  t.match(await fixture.scan(), { status: 'failed', guard: { known: 5, missing: 5 } })
  t.equal(await present(fixture), 10)
})

t.test('more than half, all together or in a folder that remains', async (t) => {
  const fixture = await open(t, 40)
  await fixture.scan()
  for (let index = 0; index < 20; index++) unlinkSync(join(fixture.root, `${index % 5}/${index}.cbz`))
  t.match(await fixture.scan(), { status: 'completed' }, 'half is not more than half')
  t.equal(await present(fixture), 20)
  for (let index = 0; index < 20; index++) fixture.put(`${index % 5}/${index}.cbz`)
  await fixture.scan()
  for (let index = 0; index < 21; index++) unlinkSync(join(fixture.root, `${index % 5}/${index}.cbz`))
  t.match(await fixture.scan(), { status: 'failed', guard: { known: 40, missing: 21 } })
  t.equal(await present(fixture), 40)
  t.match(await fixture.scan('deep'), { status: 'failed', guard: { known: 40, missing: 21 } }, 'a deep scan confirms nothing')
  t.match(await fixture.scan('normal', { confirm: true }), { status: 'completed', guard: null })
  t.equal(await present(fixture), 19)
})

t.test('moved files are not missing', async (t) => {
  const fixture = await open(t, 30)
  await fixture.scan()
  const before = [...(await fixture.books()).values()].map(({ id }) => id).sort()
  for (let folder = 0; folder < 5; folder++) renameSync(join(fixture.root, `${folder}`), join(fixture.root, `new ${folder}`))
  t.match(await fixture.scan(), { status: 'completed', guard: null, errors: [] })
  const after = await fixture.books()
  t.same([...after.values()].map(({ id }) => id).sort(), before, 'each book stayed the one it was')
  t.equal(await present(fixture), 30)
})

t.test('an empty folder counts as empty if a user confirms it, and only that folder', async (t) => {
  const fixture = await open(t, 4)
  await fixture.scan()
  const away = `${fixture.root}-disk`
  renameSync(fixture.root, away)
  t.match(
    await fixture.scan('normal', { confirm: true }),
    { status: 'failed', errors: [/does not exist/] },
    'what is missing changes nothing even so',
  )
  writeFileSync(fixture.root, 'a file')
  t.match(await fixture.scan('normal', { confirm: true }), { status: 'failed', errors: [/not a folder/] })
  unlinkSync(fixture.root)
  symlinkSync(`${fixture.root}-nowhere`, fixture.root)
  t.match(await fixture.scan('normal', { confirm: true }), { status: 'failed', errors: [/does not exist/] }, 'a dangling link')
  unlinkSync(fixture.root)
  t.equal(await present(fixture), 4)

  // Confirmed for the folder with the books; when the scan begins, the disk is missing.
  renameSync(away, fixture.root)
  await fixture.tasks.stop()
  const { taskId } = await fixture.scans.start(fixture.libraryId, 'normal', null, { confirm: true })
  const { confirmed_root } = await fixture.database('scans').where('id', taskId).first()
  t.match(confirmed_root, /^\d+:\d+$/)
})

t.test('an empty folder that a user has confirmed', async (t) => {
  const fixture = await open(t, 4)
  await fixture.scan()
  renameSync(fixture.root, `${fixture.root}-disk`)
  mkdirSync(fixture.root)
  t.match(await fixture.scan(), { status: 'failed' })
  t.match(await fixture.scan('normal', { confirm: true }), { status: 'completed', filesTotal: 0 })
  t.equal(await present(fixture), 0)
  t.match(await fixture.scan(), { status: 'completed' }, 'and then there is peace')
  rmSync(fixture.root, { recursive: true })
  renameSync(`${fixture.root}-disk`, fixture.root)
  await fixture.scan()
  t.equal(await present(fixture), 4, 'they come back as they were')
})

t.test('a confirmation for one folder is not valid for another', async (t) => {
  const fixture = await open(t, 4)
  await fixture.scan()
  await fixture.database('scans').insert({
    id: '00000000-0000-4000-8000-000000000001',
    library_id: fixture.libraryId,
    mode: 'normal',
    status: 'pending',
    confirmed_root: '1:1',
  })
  for (const folder of [0, 1, 2, 3]) rmSync(join(fixture.root, `${folder}`), { recursive: true })
  await fixture.tasks.add({
    id: '00000000-0000-4000-8000-000000000001',
    type: 'scan_library',
    libraryId: fixture.libraryId,
    dedupeKey: 'x',
  })
  const status = await until(async () => {
    const found = await fixture.scans.getStatus(fixture.libraryId)
    return found.status === 'failed' && found
  })
  t.match(status, { guard: { known: 4, missing: 4 } })
  t.equal(await present(fixture), 4)
})

t.test('a library that was moved to the wrong folder', async (t) => {
  const fixture = await open(t, 4)
  await fixture.scan()
  const wrong = `${fixture.root}-wrong`
  mkdirSync(wrong)
  const parts = { database: fixture.database, tasks: fixture.tasks, rules: findRules(), settings: { dataFolder: fixture.dataFolder } }
  await editLibrary(parts, fixture.libraryId, { path: wrong })
  t.match(await fixture.scan(), { status: 'failed', guard: { known: 4, missing: 4 } })
  await editLibrary(parts, fixture.libraryId, { path: fixture.root })
  t.match(await fixture.scan(), { status: 'completed', filesTotal: 4 })
  t.equal(await present(fixture), 4)
})

t.test('books in a folder that may not be read are not missing', async (t) => {
  const fixture = await open(t, 30)
  await fixture.scan()
  const library = (await findLibraryRow(fixture.database, fixture.libraryId)) as LibraryRow
  const run = { signal: new AbortController().signal } as TaskRun
  const nothing = {
    run,
    library,
    part: '',
    unchangedFolders: new Set<string>(),
    seen: new Set<number>(),
    devices: new Map<string, number>(),
    counts: { filesTotal: 0 },
    known: 30,
    foldersBefore: 5,
    confirmed: new Set<string>(),
  }
  const parts = { database: fixture.database, log: silentLog }
  const everywhere = {
    ...nothing,
    unreadable: new Set(['0', '1', '2', '3', '4/4.cbz', '4/9.cbz', '4/14.cbz', '4/19.cbz', '4/24.cbz', '4/29.cbz']),
  }
  t.same(await markMissing(parts, everywhere), { missing: 0, guard: null, withheld: [], waiting: 0, overlooks: false })
  t.equal(await present(fixture), 30)
  const half = { ...nothing, unreadable: new Set(['0', '1', '2']) }
  t.match(await markMissing(parts, half), { missing: 0, guard: { known: 12, missing: 12 } }, 'all books in readable folders are missing')
  t.equal(await present(fixture), 30)
  t.match(
    await markMissing(parts, { ...half, confirmed: 'all' }),
    { missing: 12, guard: null },
    'and a person speaks of what can be looked at',
  )
  t.equal(await present(fixture), 18)
})
