import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, renameSync, rmSync, statSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { folderOfShown } from '#core/scan/withheld.ts'
import { GUARD_CASES, type GuardCase } from '#test/core/scan/guards.table.ts'
import { factsOfFile, fakeAnalysis } from '#test/support/analyses.ts'
import { type LibraryFixture, openLibraryFixture, until } from '#test/support/library-fixture.ts'

t.setTimeout(240_000)

async function open(t: Test, books: GuardCase['books']) {
  let held: Promise<void> | undefined
  const fixture = await openLibraryFixture(t, {
    files: Object.entries(books).flatMap(([folder, count]) => Array.from({ length: count }, (_, index) => `${folder}/${index}.cbz`)),
    analyze: async ({ path }) => {
      await held
      return fakeAnalysis({ file: factsOfFile(path), pagesHash: pagesOf(path) })
    },
  })
  const { database } = fixture
  return {
    ...fixture,
    /** Scans; the new files wait for their analysis until the scan has ended, and are analyzed then. */
    async scanFirst() {
      const scans = database('scans').whereNotNull('completed_at').count({ count: '*' }).first()
      const before = (await scans.clone())?.count
      held = until(async () => (await scans.clone())?.count !== before).then(() => {})
      const status = await fixture.scan()
      // It must not look at the database after the test.
      await held
      return status
    },
  }
}

const TAG = 'a tag'

const pagesOf = (path: string): string => createHash('sha256').update(readFileSync(path, 'latin1').replace(TAG, '')).digest('hex')

/** Tags all books of a folder, and moves them to names of their own. */
function tag({ root, put }: LibraryFixture, from: string, to: string): void {
  for (const name of readdirSync(join(root, from))) {
    const path = join(root, from, name)
    put(`${to}/tagged ${from} ${name}`, Buffer.concat([readFileSync(path), Buffer.from(TAG)]))
    unlinkSync(path)
  }
}

function remove({ root }: LibraryFixture, folder: string, count: number | 'all'): void {
  const path = join(root, folder)
  if (count === 'all') {
    rmSync(path, { recursive: true })
    return
  }
  for (const name of readdirSync(path)
    .filter((one) => one.endsWith('.cbz'))
    .slice(0, count))
    unlinkSync(join(path, name))
}

const byFolder = (paths: readonly string[]) => {
  const counts: Record<string, number> = {}
  for (const path of paths) {
    const folder = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.'
    counts[folder] = (counts[folder] ?? 0) + 1
  }
  return counts
}
const marked = async (fixture: LibraryFixture) =>
  byFolder([...(await fixture.books())].filter(([, book]) => book.deleted_at !== null).map(([path]) => path))

/** As if these folders had been on devices of their own. */
const pretendDevices = async ({ database, root }: LibraryFixture, folders: readonly string[]) =>
  await database('libraries').update({
    devices: JSON.stringify({ '': statSync(root).dev, ...Object.fromEntries(folders.map((folder) => [folder, 1])) }),
  })

for (const one of GUARD_CASES)
  t.test(`missing: ${one.title}`, async (t) => {
    const fixture = await open(t, one.books)
    await fixture.scan()
    const before = await idsOf(fixture)
    await pretendDevices(fixture, one.otherDevice ?? [])
    for (const [from, to] of Object.entries(one.tagged ?? {})) tag(fixture, from, to)
    for (const [folder, count] of Object.entries(one.added ?? {}))
      for (let index = 0; index < count; index++) fixture.put(`${folder}/added ${index}.cbz`)
    for (const [folder, count] of Object.entries(one.deleted ?? {})) remove(fixture, folder, count)
    for (const [folder, names] of Object.entries(one.leftBehind ?? {})) for (const name of names) fixture.put(`${folder}/${name}`)
    for (const [from, to] of Object.entries(one.renamed ?? {})) renameSync(join(fixture.root, from), join(fixture.root, to))
    const look = async () => {
      const { status, withheld = [], guard } = await fixture.scanFirst()
      return [status, Object.fromEntries(withheld.map(({ folder, reason }) => [folder, reason])), guard !== null, await marked(fixture)]
    }
    const expected = [one.isMass ? 'failed' : 'completed', one.withheld ?? {}, one.isMass ?? false, one.marked ?? {}]
    t.same(await look(), expected)
    const [, again] = (await look()) as [string, object]
    t.same(Object.keys(again), Object.keys(one.withheld ?? {}), 'until somebody confirms it')
    if (one.tagged && !one.withheld) t.same(await idsOf(fixture), before, 'each book is the one it was')
    if (!one.withheld) return
    await fixture.scan('normal', { confirm: Object.keys(one.withheld) })
    t.same((await fixture.scan()).withheld, undefined, 'what is confirmed is no longer withheld')
    const total = Object.values(await marked(fixture)).reduce((sum, count) => sum + count, 0)
    t.equal(total, missingOf(one), 'all of them are marked then')
  })

const idsOf = async ({ database }: LibraryFixture): Promise<string[]> => await database('books').orderBy('id').pluck('id')

const missingOf = ({ books, deleted = {} }: GuardCase) =>
  Object.entries(deleted).reduce((sum, [folder, count]) => sum + (count === 'all' ? (books[folder] as number) : count), 0)

for (const { title, lost, status } of [
  { title: 'six of twenty folders', lost: 6, status: 'completed' },
  { title: 'all of an exchanged root', lost: 20, status: 'failed' },
])
  t.test(`other files of exactly the lost sizes do not make up for ${title}`, async (t) => {
    const fixture = await open(t, Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`s${index}`, 3])))
    await fixture.scan()
    for (let index = 0; index < lost; index++) {
      for (const name of readdirSync(join(fixture.root, `s${index}`))) {
        const content = readFileSync(join(fixture.root, `s${index}`, name))
        fixture.put(`other ${index}/${name}`, Buffer.from(content.map((byte) => byte ^ 1)))
      }
      remove(fixture, `s${index}`, 'all')
    }
    t.match(await fixture.scanFirst(), { status: 'completed', guard: null, withheld: undefined }, 'their analysis has to tell')
    t.same(await marked(fixture), {}, 'and until then nothing is marked')
    t.match(await fixture.scan(), { status, withheld: { length: lost } }, 'they are others')
    t.same(await marked(fixture), {})
  })

t.test('exactly the folders that a user confirms are marked, the others stay, and books that return are as they were', async (t) => {
  const fixture = await open(t, Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`s${index}`, 3])))
  await fixture.scan()
  const away = (index: number) => join(fixture.root, '..', `away-${index}`)
  for (let index = 0; index < 6; index++) renameSync(join(fixture.root, `s${index}`), away(index))
  const status = await fixture.scan()
  t.equal(status.withheld?.length, 6)
  t.match(
    status.warnings?.[0],
    /^"s0": 3 missing books were not marked as deleted, because it vanished together with several others: is its disk mounted\?/,
  )
  const event = (await fixture.database('scans').orderBy('started_at', 'desc').first()).withheld
  t.match(event[0], { folder: 's0', reason: 'vanished', books: 3 })
  for (const confirm of [['s9'], ['../s0'], [''], ['s0', 's'], ['/s0']])
    await t.rejects(fixture.scans.start(fixture.libraryId, 'normal', null, { confirm }), { code: 'invalid_value' }, confirm.join())
  t.match(await fixture.scan('normal', { confirm: ['s0/', './s1'] }), { status: 'completed' })
  t.same(await marked(fixture), { s0: 3, s1: 3 })
  t.equal((await fixture.scan()).withheld?.length, 4, 'few vanished folders stay withheld after some were confirmed')
  const why = async () =>
    await fixture.database('books').whereNotNull('missing_why').distinct('missing_why', 'loss_confirmed').orderBy('missing_why')
  t.same(await why(), [
    { missing_why: 'folder', loss_confirmed: true },
    { missing_why: 'withheld', loss_confirmed: false },
  ])
  for (let index = 0; index < 6; index++) renameSync(away(index), join(fixture.root, `s${index}`))
  t.match(await fixture.scan(), { status: 'completed', guard: null })
  t.same(await marked(fixture), {})
  t.same(await why(), [], 'nothing is left of it')
})

t.test('a folder of missing books that is gone or empty is not purged automatically for 30 days, unless it was confirmed', async (t) => {
  const fixture = await open(t, { a: 4, b: 4, c: 4, d: 4 })
  await fixture.database('libraries').update({ scanning_config: JSON.stringify({ purgeDeletedOnScan: true }) })
  await fixture.scan()
  remove(fixture, 'a', 1)
  remove(fixture, 'b', 'all')
  await fixture.scan()
  t.same(await marked(fixture), { a: 1, b: 4 })
  const pass = async (days: number) => {
    await fixture.database.raw('UPDATE scans SET started_at = started_at - make_interval(days => ?), boot_id = NULL', [days])
    await fixture.database.raw('UPDATE books SET missing_since = missing_since - make_interval(days => ?)', [days])
  }
  await pass(2)
  await fixture.scan()
  t.same(await marked(fixture), { b: 4 }, 'of a folder that is still there')
  await pass(20)
  await fixture.scan()
  t.same(await marked(fixture), { b: 4 })
  await pass(10)
  await fixture.scan()
  t.same(await marked(fixture), {})
  t.equal((await fixture.books()).size, 11)
})

t.test(
  'a library that was exchanged for another one on the same disk loses nothing, and says so when the other books are known',
  async (t) => {
    const fixture = await open(t, { a: 5, b: 4 })
    await fixture.scan()
    renameSync(fixture.root, `${fixture.root}-away`)
    for (let index = 0; index < 12; index++) fixture.put(`c/other ${index}.cbz`)
    t.match(await fixture.scanFirst(), { status: 'completed', guard: null, withheld: undefined }, 'each may be one of those that are gone')
    t.same(await marked(fixture), {})
    await fixture.scans.startDue()
    const { status, guard } = await until(async () => {
      const last = await fixture.scans.getStatus(fixture.libraryId)
      return last.status === 'failed' && last
    })
    t.match([status, guard], ['failed', { known: 9, missing: 9 }], 'none of them is, as a scan says that nobody had to ask for')
    t.same(await marked(fixture), {})
    rmSync(fixture.root, { recursive: true })
    renameSync(`${fixture.root}-away`, fixture.root)
    t.match(await fixture.scan(), { status: 'completed', guard: null })
    t.same(await marked(fixture), { c: 12 })
  },
)

t.test(
  'the scan after one that could not decide waits for the analyses, an hour at most, and comes only if automatic scans are on',
  async (t) => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    t.teardown(() => release())
    let isHeld = false
    const fixture = await openLibraryFixture(t, {
      files: Array.from({ length: 5 }, (_, index) => `a/${index}.cbz`),
      analyze: async ({ path }) => {
        if (isHeld) await held
        return fakeAnalysis({ file: factsOfFile(path), pagesHash: pagesOf(path) })
      },
    })
    const { database, scans, libraryId } = fixture
    const count = async () => (await database('scans').pluck('id')).length
    const ended = () => until(async () => (await scans.listActive()).length === 0)
    const due = async () => (await database('libraries').first('next_scan_at')).next_scan_at as Date | null
    await fixture.scan()
    t.equal(await due(), null)
    isHeld = true
    remove(fixture, 'a', 5)
    for (let index = 0; index < 5; index++) fixture.put(`b/other ${index}.cbz`)
    await database('libraries').update({ scanning_config: JSON.stringify({ enabled: false, scanMode: 'normal' }) })
    await scans.start(libraryId)
    await ended()
    t.equal(await due(), null, 'nothing automatic')
    await database('libraries').update({ scanning_config: null })
    await scans.start(libraryId)
    await ended()
    t.ok(await due())
    await scans.startDue()
    t.equal(await count(), 3, 'it would see no more')
    await database('libraries').update({ next_scan_at: new Date(Date.now() - 2 * 3_600_000) })
    await database.raw(`UPDATE scans SET started_at = started_at - interval '3 hours'`)
    await scans.startDue()
    await ended()
    t.equal(await count(), 4)
    release()
  },
)

t.test('names of folders in a confirmation', async (t) => {
  for (const [given, folder] of [
    ['.', ''],
    ['a/', 'a'],
    ['./a/b', 'a/b'],
    ['true/', 'true'],
    ['a b', 'a b'],
  ] as const)
    t.equal(folderOfShown(given), folder, given)
})
