import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import { editLibrary } from '#core/ingest/edit-library.ts'
import { markMissing } from '#core/ingest/mark-missing.ts'
import { describeLoss, isMassLoss } from '#core/ingest/mass-loss.ts'
import { findScannedLibrary, type ScannedLibrary } from '#core/ingest/scan-store.ts'
import type { TaskRun } from '#core/tasks/task.ts'
import { factsOfFile, madeUpAnalysis } from '#test/support/analyses.ts'
import { type House, openHouse } from '#test/support/house.ts'
import { findRules } from '#test/support/supervisor.ts'
import { assertInTime } from '#test/support/timed-property.ts'

t.setTimeout(240_000)

const open = (t: Parameters<typeof openHouse>[0], count: number): Promise<House> =>
  openHouse(t, {
    files: Array.from({ length: count }, (_, index) => `${index % 5}/${index}.cbz`),
    analyze: async ({ path }) => madeUpAnalysis({ file: factsOfFile(path) }),
  })
const present = async (house: House) => [...(await house.books()).values()].filter((book) => book.deleted_at === null).length

t.test('the rule', async (t) => {
  assertInTime(
    fc.property(fc.nat(500), fc.nat(500), (known, missing) => {
      const expected = missing > 0 && (missing >= known || (missing > known / 2 && missing >= 20))
      return isMassLoss({ known, missing }) === expected
    }),
  )
  const text = describeLoss({ known: 12_345, missing: 9_876 }, '/books')
  t.match(text, /^9,876 of the 12,345 known books are gone.*confirm=true.*--confirm/)
})

t.test('a missing disk, and a stray book on its mount point', async (t) => {
  const house = await open(t, 9)
  await house.scan()
  const away = `${house.root}-disk`
  renameSync(house.root, away)
  mkdirSync(house.root)
  house.put('stray.cbz')
  for (const night of ['first', 'second', 'third']) {
    const status = await house.scan()
    t.match(status, { status: 'failed', guard: { known: 9, missing: 9 }, errors: [/^All 9 known books are gone/] }, `the ${night} scan`)
    t.equal(await present(house), 10, 'all are there, and the stray one too: it does not make up for the others')
  }
  rmSync(house.root, { recursive: true })
  renameSync(away, house.root)
  t.match(await house.scan(), { status: 'completed', guard: null, errors: [] })
  t.equal(await present(house), 9, 'the stray one is missing, which is not a mass loss')
})

t.test('more than half, all together or in a folder that remains', async (t) => {
  const house = await open(t, 40)
  await house.scan()
  for (let index = 0; index < 20; index++) unlinkSync(join(house.root, `${index % 5}/${index}.cbz`))
  t.match(await house.scan(), { status: 'completed' }, 'half is not more than half')
  t.equal(await present(house), 20)
  for (let index = 0; index < 20; index++) house.put(`${index % 5}/${index}.cbz`)
  await house.scan()
  for (let index = 0; index < 21; index++) unlinkSync(join(house.root, `${index % 5}/${index}.cbz`))
  t.match(await house.scan(), { status: 'failed', guard: { known: 40, missing: 21 } })
  t.equal(await present(house), 40)
  t.match(await house.scan('deep'), { status: 'failed', guard: { known: 40, missing: 21 } }, 'a deep scan confirms nothing')
  t.match(await house.scan('normal', { confirm: true }), { status: 'completed', guard: null })
  t.equal(await present(house), 19)
})

t.test('moved files are not missing', async (t) => {
  const house = await open(t, 30)
  await house.scan()
  const before = [...(await house.books()).values()].map(({ id }) => id).sort()
  for (let folder = 0; folder < 5; folder++) renameSync(join(house.root, `${folder}`), join(house.root, `new ${folder}`))
  t.match(await house.scan(), { status: 'completed', guard: null, errors: [] })
  const after = await house.books()
  t.same([...after.values()].map(({ id }) => id).sort(), before, 'each book stayed the one it was')
  t.equal(await present(house), 30)
})

t.test('an empty folder counts as empty if a user confirms it, and only that folder', async (t) => {
  const house = await open(t, 4)
  await house.scan()
  const away = `${house.root}-disk`
  renameSync(house.root, away)
  t.match(
    await house.scan('normal', { confirm: true }),
    { status: 'failed', errors: [/does not exist/] },
    'what is missing changes nothing even so',
  )
  writeFileSync(house.root, 'a file')
  t.match(await house.scan('normal', { confirm: true }), { status: 'failed', errors: [/not a folder/] })
  unlinkSync(house.root)
  symlinkSync(`${house.root}-nowhere`, house.root)
  t.match(await house.scan('normal', { confirm: true }), { status: 'failed', errors: [/does not exist/] }, 'a dangling link')
  unlinkSync(house.root)
  t.equal(await present(house), 4)

  // Confirmed for the folder with the books; when the scan begins, the disk is missing.
  renameSync(away, house.root)
  await house.tasks.stop()
  const { taskId } = await house.scans.start(house.libraryId, 'normal', null, { confirm: true })
  const { confirmed_root } = await house.database('scans').where('id', taskId).first()
  t.match(confirmed_root, /^\d+:\d+$/)
})

t.test('an empty folder that a user has confirmed', async (t) => {
  const house = await open(t, 4)
  await house.scan()
  renameSync(house.root, `${house.root}-disk`)
  mkdirSync(house.root)
  t.match(await house.scan(), { status: 'failed' })
  t.match(await house.scan('normal', { confirm: true }), { status: 'completed', filesTotal: 0 })
  t.equal(await present(house), 0)
  t.match(await house.scan(), { status: 'completed' }, 'and then there is peace')
  rmSync(house.root, { recursive: true })
  renameSync(`${house.root}-disk`, house.root)
  await house.scan()
  t.equal(await present(house), 4, 'they come back as they were')
})

t.test('a confirmation for one folder is not valid for another', async (t) => {
  const house = await open(t, 4)
  await house.scan()
  await house.database('scans').insert({
    id: '00000000-0000-4000-8000-000000000001',
    library_id: house.libraryId,
    mode: 'normal',
    status: 'pending',
    confirmed_root: '1:1',
  })
  for (const folder of [0, 1, 2, 3]) rmSync(join(house.root, `${folder}`), { recursive: true })
  await house.tasks.add({
    id: '00000000-0000-4000-8000-000000000001',
    type: 'scan_library',
    libraryId: house.libraryId,
    dedupeKey: 'x',
  })
  const status = await new Promise<Awaited<ReturnType<typeof house.scans.getStatus>>>((resolve) => {
    const look = setInterval(async () => {
      const found = await house.scans.getStatus(house.libraryId)
      if (found.status !== 'failed') return
      clearInterval(look)
      resolve(found)
    }, 30)
  })
  t.match(status, { guard: { known: 4, missing: 4 } })
  t.equal(await present(house), 4)
})

t.test('a library that was moved to the wrong folder', async (t) => {
  const house = await open(t, 4)
  await house.scan()
  const wrong = `${house.root}-wrong`
  mkdirSync(wrong)
  const parts = { database: house.database, rules: findRules(), settings: { dataFolder: house.dataFolder } }
  await editLibrary(parts, house.libraryId, { path: wrong })
  t.match(await house.scan(), { status: 'failed', guard: { known: 4, missing: 4 } })
  await editLibrary(parts, house.libraryId, { path: house.root })
  t.match(await house.scan(), { status: 'completed', filesTotal: 4 })
  t.equal(await present(house), 4)
})

t.test('books in a folder that may not be read are not missing', async (t) => {
  const house = await open(t, 30)
  await house.scan()
  const library = (await findScannedLibrary(house.database, house.libraryId)) as ScannedLibrary
  const run = { signal: new AbortController().signal } as TaskRun
  const nothing = {
    run,
    library,
    unchangedFolders: new Set<string>(),
    seen: new Set<number>(),
    counts: { filesTotal: 0 },
    known: 30,
    confirmed: false,
  }
  const parts = { database: house.database, log: silentLog }
  const everywhere = {
    ...nothing,
    unreadable: new Set(['0', '1', '2', '3', '4/4.cbz', '4/9.cbz', '4/14.cbz', '4/19.cbz', '4/24.cbz', '4/29.cbz']),
  }
  t.same(await markMissing(parts, everywhere), { missing: 0, guard: null })
  t.equal(await present(house), 30)
  const half = { ...nothing, unreadable: new Set(['0', '1', '2']) }
  t.same(await markMissing(parts, half), { missing: 0, guard: { known: 12, missing: 12 } }, 'all books in readable folders are missing')
  t.equal(await present(house), 30)
  t.match(
    await markMissing(parts, { ...half, confirmed: true }),
    { missing: 12, guard: null },
    'and a person speaks of what can be looked at',
  )
  t.equal(await present(house), 18)
})
