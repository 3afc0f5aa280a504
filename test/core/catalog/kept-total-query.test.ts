import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import type { Knex } from 'knex'
import t from 'tap'
import { sees } from '#core/account/event-audience-query.ts'
import { readSight, seesAll, type Viewer, visibleInList, visibleInWalk, visibleLibrary, visibleTo } from '#core/account/visibility.ts'
import { keptBooks, keptSeries, readKeptTotal } from '#core/catalog/kept-total-query.ts'
import { readListState } from '#core/catalog/list-state-query.ts'
import { computeSeriesNumbers } from '#core/catalog/series-numbers-store.ts'
import { rateSeries, setTestRule } from '#test/support/access-rules.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { sizeOf } from '#test/support/lane-size.ts'
import { addBook, addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { ACCESS_CHANGES, CATALOG_CHANGES, openRandomWorld, readFacts, seenBy } from '#test/support/random-access.ts'
import { assertEventually, testSeed } from '#test/support/timed-property.ts'

t.setTimeout(240_000)

/** Several changes in one transaction, which may be taken back; or each in its own, all at the same time, while somebody counts. */
interface Step {
  changes: [name: string, choice: [number, number, number]][]
  how: 'kept' | 'taken back' | 'together'
}

const changesOf = (names: string[], maxLength: number) =>
  fc.array(fc.tuple(fc.constantFrom(...names), fc.tuple(fc.nat(99), fc.nat(99), fc.nat(99))), { minLength: 1, maxLength })
/** Some more often, so that numbers are not always due, and what is computed is hidden and shown again. */
const CATALOG = [
  ...Object.keys(CATALOG_CHANGES),
  ...['computeNumbers', 'computeNumbers', 'computeNumbers', 'addUpNumbers', 'tag', 'tag', 'rate', 'loseBook'],
]
const ALL = [...CATALOG, ...Object.keys(ACCESS_CHANGES)]
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ changes: changesOf(ALL, 3), how: fc.constant('kept' as const) }) },
  { weight: 1, arbitrary: fc.record({ changes: changesOf(ALL, 3), how: fc.constant('taken back' as const) }) },
  { weight: 2, arbitrary: fc.record({ changes: changesOf(CATALOG, 4), how: fc.constant('together' as const) }) },
)

const change = (database: Knex, [name, choice]: Step['changes'][number]) =>
  ({ ...CATALOG_CHANGES, ...ACCESS_CHANGES })[name]?.(database, choice)

/** Of two changes at the same time one may fail: what it names was deleted, or they wait for each other. */
const LOSES = new Set(['23503', '23505', '40P01'])

async function take(database: Knex, { changes, how }: Step, viewer: Viewer): Promise<void> {
  if (how !== 'together') {
    const takenBack = new Error('taken back')
    const all = database.transaction(async (trx) => {
      for (const each of changes) await change(trx, each)
      if (how === 'taken back') throw takenBack
    })
    return await all.catch((error: unknown) => assert.equal(error, takenBack))
  }
  const lost = (error: { code?: string }) => {
    if (!LOSES.has(error.code ?? '')) throw error
  }
  const changed = Promise.all(changes.map((each) => database.transaction(async (trx) => void (await change(trx, each))).catch(lost)))
  const counted = (async () => {
    for (let times = 0; times < 3; times++) await compareInOneSnapshot(database, viewer)
  })()
  await Promise.all([changed, counted])
}

const sightOf = async (database: Knex, viewer: Viewer) => readSight((await readListState(database, viewer)).sight)

/** Kept and counted by one statement, while others change what is counted. */
async function compareInOneSnapshot(database: Knex, viewer: Viewer): Promise<void> {
  const sight = await sightOf(database, viewer)
  const books = database('books').modify(visibleInList(sight, 'books')).whereNull('books.deleted_at').count()
  const series = database('series')
    .modify(visibleInList(sight, 'series'))
    .whereIn('series.id', function () {
      this.select('series_id').from('books').whereNull('deleted_at')
    })
  const { rows } = await database.raw(
    'SELECT CAST(? AS int) AS books, (?)::int AS counted, CAST(? AS int) AS series, (?)::int AS "countedSeries"',
    [keptBooks(database, { sight, includeDeleted: false }), books, keptSeries(database, { sight }), series.count()],
  )
  assert.deepEqual([rows[0].books, rows[0].series], [rows[0].counted, rows[0].countedSeries], 'kept and counted in one snapshot')
}

/** What an event tells of a series that need not exist any more. */
const announced = ({ id, library_id, age_rating }: Record<string, unknown>, facts: Awaited<ReturnType<typeof readFacts>>) => ({
  libraryId: library_id as string,
  age: age_rating as number | null,
  tagIds: (facts['series_sharing_tags'] ?? []).flatMap((tag) => (tag['series_id'] === id ? [tag['sharing_tag_id'] as string] : [])),
})

/** Every form of the predicate, and every kept total, beside the rules over plain rows. */
async function check(database: Knex, viewers: readonly Viewer[]): Promise<void> {
  const facts = await readFacts(database)
  const rows = (table: string) => (facts[table] ?? []) as Record<string, string | null>[]
  for (const viewer of viewers) {
    const seen = seenBy(facts, viewer)
    const books = rows('books').filter(({ series_id }) => seen.series.includes(series_id as string))
    const sight = await sightOf(database, viewer)
    const ids = async (query: Knex.QueryBuilder, column: string) => ((await query.pluck(column)) as string[]).toSorted()
    const same = (is: unknown, wanted: unknown, what: string) =>
      assert.deepEqual(is, wanted, `${what} of ${JSON.stringify({ viewer, sight })}`)
    const wanted = seen.series.toSorted()
    same(await ids(database('series').modify(visibleTo(viewer, 'series.id')), 'series.id'), wanted, 'visible series')
    same(await ids(database('series AS s').modify(visibleTo(viewer, 's.id')), 's.id'), wanted, 'visible series by another name')
    same(await ids(database('series').modify(visibleInList(sight, 'series')), 'series.id'), wanted, 'series in lists')
    same(
      await ids(database('libraries').modify(visibleLibrary(viewer, 'libraries.id')), 'libraries.id'),
      seen.libraries.toSorted(),
      'libraries',
    )
    const wantedBooks = books.map(({ id }) => id as string).toSorted()
    same(await ids(database('books').modify(visibleTo(viewer, 'books.series_id')), 'books.id'), wantedBooks, 'visible books')
    same(await ids(database('books').modify(visibleInList(sight, 'books')), 'books.id'), wantedBooks, 'books in lists')
    same(await ids(database('book_search').modify(visibleInList(sight, 'book_search')), 'book_id'), wantedBooks, 'documents of books')
    if (seesAll(sight))
      same(
        wantedBooks,
        rows('books')
          .map(({ id }) => id)
          .toSorted(),
        'all books',
      )
    else same(await ids(database('books').modify(visibleInWalk(sight)), 'books.id'), wantedBooks, 'books on the way to a page')
    same(
      (facts['series'] ?? [])
        .filter((row) => sees(sight, announced(row, facts)))
        .map(({ id }) => id as string)
        .toSorted(),
      wanted,
      'series of events',
    )
    same(await keptOf(database, sight, facts), countedOf(books, facts), 'kept totals')
  }
}

/** Lists whose totals are kept: all, those of each library and of one that never existed, and the books of each series. */
function* lists(facts: Awaited<ReturnType<typeof readFacts>>) {
  const libraries = (facts['libraries'] ?? []).map(({ id }) => id as string)
  for (const libraryId of [undefined, ...libraries, UNKNOWN]) {
    for (const includeDeleted of [false, true]) yield { libraryId, seriesId: undefined, includeDeleted }
  }
  for (const { id } of facts['series'] ?? []) yield { libraryId: undefined, seriesId: id as string, includeDeleted: true }
  for (const { id, library_id } of facts['series'] ?? []) {
    yield { libraryId: library_id as string, seriesId: id as string, includeDeleted: false }
  }
}

const UNKNOWN = randomUUID()

async function keptOf(
  database: Knex,
  sight: ReturnType<typeof readSight>,
  facts: Awaited<ReturnType<typeof readFacts>>,
): Promise<number[]> {
  const all = [...lists(facts)]
  const kept = all.flatMap((list) => [
    keptBooks(database, { sight, ...list }),
    ...(list.seriesId === undefined ? [keptSeries(database, { sight, libraryId: list.libraryId })] : []),
  ])
  const { rows } = await database.raw(`SELECT ARRAY[${kept.map(() => 'CAST(? AS int)').join()}] AS kept`, kept)
  return rows[0].kept
}

function countedOf(books: readonly Record<string, string | null>[], facts: Awaited<ReturnType<typeof readFacts>>): number[] {
  return [...lists(facts)].flatMap(({ libraryId, seriesId, includeDeleted }) => {
    const some = books.filter(
      ({ library_id, series_id }) => (libraryId ?? library_id) === library_id && (seriesId ?? series_id) === series_id,
    )
    const present = some.filter(({ deleted_at }) => deleted_at === null)
    const series = new Set(present.map(({ series_id }) => series_id)).size
    return [(includeDeleted ? some : present).length, ...(seriesId === undefined ? [series] : [])]
  })
}

t.test('kept totals and all forms of the predicate agree with the rules, whatever changes', async (t) => {
  const { database } = await openTestDatabase(t)
  let checks = 0
  // A busy machine compares fewer states.
  const until = performance.now() + sizeOf('milliseconds for random worlds', { main: 10_000, full: 90_000 })
  const property = fc.asyncProperty(fc.array(STEP, { minLength: 8, maxLength: 30 }), async (steps) => {
    if (performance.now() > until && checks > 5) return
    const viewers = await openRandomWorld(database)
    await check(database, viewers)
    for (const [at, step] of steps.entries()) {
      if (performance.now() > until && checks > 5) return
      await take(database, step, viewers[at % viewers.length] as Viewer)
      if (at % 3 < 2 && at < steps.length - 1) continue
      await check(database, viewers)
      checks++
    }
  })
  const numRuns = sizeOf('random worlds', { main: 8, full: 80 })
  await assertEventually(property, { numRuns })
  t.ok(checks > 5, `${checks} states were compared; seed ${testSeed}`)
})

t.test('a series that moves to another library is counted there, before and after its numbers are computed', async (t) => {
  const { database } = await openTestDatabase(t)
  const [from, to] = [await addLibrary(database), await addLibrary(database)]
  const seriesId = await addSeries(database, { library_id: from, title: 'Saga' })
  await addBook(database, { library_id: from, series_id: seriesId, title: 'One' })
  await rateSeries(database, seriesId, 16)
  const { userId } = await addCaller(database)
  await setTestRule(database, { user_id: userId }, { age: { mode: 'not_from', years: 18, unrated: 'hide' } })
  const viewer = { userId, narrowedBy: null }
  const totals = async () =>
    await Promise.all(
      [from, to].flatMap((libraryId) => [
        readKeptTotal(database, viewer, { of: 'books', libraryId }),
        readKeptTotal(database, viewer, { of: 'series', libraryId }),
      ]),
    )
  await computeSeriesNumbers(database)
  t.same(await totals(), [1, 1, 0, 0])
  await database.transaction(async (trx) => {
    await trx('series').where('id', seriesId).update({ library_id: to })
    await trx('books').where('series_id', seriesId).update({ library_id: to })
  })
  t.same(await totals(), [0, 0, 1, 1])
  await computeSeriesNumbers(database)
  t.same(await totals(), [0, 0, 1, 1])
  await rateSeries(database, seriesId, 18)
  t.same(await totals(), [0, 0, 0, 0], 'a rating hides it at once')
  await computeSeriesNumbers(database)
  t.same(await totals(), [0, 0, 0, 0])
})
