import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import type { Knex } from 'knex'
import t, { type Test } from 'tap'
import type { Caller } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import { type BookFilter, listBooks } from '#core/catalog/book-query.ts'
import { compileFilter } from '#core/catalog/filter-query.ts'
import { readListState } from '#core/catalog/list-state-query.ts'
import { computeSeriesNumbers } from '#core/catalog/series-numbers-store.ts'
import { listSeries } from '#core/catalog/series-query.ts'
import { addUpKeptNumbers } from '#core/paging/kept-number-store.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { onlyCost, sizeOf } from '#test/support/lane-size.ts'
import { addBook, addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { testSeed } from '#test/support/timed-property.ts'

/** Every statement that the work sends. */
async function statementsOf(database: Knex, work: () => Promise<unknown>): Promise<string[]> {
  const statements: string[] = []
  const listen = ({ sql }: { sql: string }) => statements.push(sql)
  database.on('query', listen)
  await work()
  database.off('query', listen)
  return statements
}
const isCount = (sql: string) => /\) AS matching\)|WITH whole/.test(sql)

async function openShelf(t: Test) {
  const { database } = await openTestDatabase(t)
  const library_id = await addLibrary(database)
  const other = await addLibrary(database)
  const series: string[] = []
  for (const title of ['A', 'B', 'C']) series.push(await addSeries(database, { library_id, title }))
  series.push(await addSeries(database, { library_id: other, title: 'D' }))
  const libraryOf = (at: number) => (at === 3 ? other : library_id)
  const add = (at: number, more: Record<string, unknown> = {}) =>
    addBook(database, { library_id: libraryOf(at), series_id: series[at] as string, title: 'Book', ...more })
  return { database, library_id, other, series, add, libraryOf }
}

t.test('a page and a kept total are read in one statement, which is planned once', async (t) => {
  const { database, library_id, add } = await openShelf(t)
  const caller = await addCaller(database)
  for (const at of [0, 0, 3]) await add(at)
  const prepared: (boolean | undefined)[] = []
  database.on('query', ({ options }: { options?: { prepare?: boolean } }) => prepared.push(options?.prepare))
  const page = { sort: null, offset: 0, limit: 2 }
  for (const [filter, total] of [
    [{}, 3],
    [{ libraryId: library_id }, 2],
  ] as const) {
    const books = await listBooks(database, caller, { ...page, filter })
    t.same([books.items.length, books.total], [2, total])
    t.same(prepared.splice(0), [true, true], 'the state of the list, and the page')
    t.same(await listBooks(database, caller, { ...page, filter, offset: 10 }), { items: [], total }, 'remembered')
    await database('libraries')
      .where('id', library_id)
      .update({ name: `${total}` })
    t.same(await listBooks(database, caller, { ...page, filter, offset: 10 }), { items: [], total }, 'a page without rows')
    prepared.length = 0
  }
  // As routes write a filter without values.
  const series = await listSeries(database, caller, { ...page, filter: { genres: [], tags: [] } })
  t.same([series.items.length, series.total], [2, 2])
  t.same(prepared, [true, true])
})

t.test('totals without a condition are not counted', async (t) => {
  const { database, library_id, other, add } = await openShelf(t)
  const caller = await addCaller(database)
  for (const state of ['pending', 'analyzed', 'failed']) await add(0, { state })
  await add(3)
  await add(1, { deleted_at: new Date() })
  const total = async (filter: BookFilter) => (await listBooks(database, caller, { filter, sort: null, offset: 0, limit: 1 })).total
  t.same([await total({}), await total({ includeDeleted: true })], [4, 5])
  t.same([await total({ libraryId: library_id }), await total({ libraryId: other })], [3, 1])
  t.same(await statementsOf(database, () => total({ libraryId: other })).then((all) => all.filter(isCount)), [])
})

t.test('a filtered list is counted once, for all who see the same, until something changes', async (t) => {
  const { database, series, add } = await openShelf(t)
  const [ada, bob] = [await addCaller(database), await addCaller(database)] as [Caller, Caller]
  const books = [await add(0, { page_count: 5 }), await add(1, { page_count: 50 }), await add(2, { page_count: 60 })]
  const long = (caller: Caller) => compileFilter({ pageCount: { operator: 'gt', value: 10 } }, 'books', caller)
  const unread = (caller: Caller) => compileFilter({ readStatus: { operator: 'is', value: 'unread' } }, 'books', caller)
  const list = (caller: Caller, condition = long(caller)) =>
    listBooks(database, caller, { filter: { condition }, sort: null, offset: 0, limit: 10 })
  const counts = async (work: () => Promise<unknown>) => (await statementsOf(database, work)).filter(isCount).length

  t.equal(await counts(() => Promise.all(Array.from({ length: 8 }, () => list(ada)))), 1, 'requests of one moment share a count')
  t.equal(await counts(() => list(bob)), 0, 'another caller who sees the same')
  await database('books').where('id', books[0]).update({ page_count: 70 })
  t.equal((await list(bob)).total, 3)
  t.equal(await counts(() => list(ada)), 0)

  await database('read_progress').insert({ user_id: ada.userId, book_id: books[1], current_page: 1 })
  t.equal(await counts(() => list(ada)), 0, 'progress does not change what does not ask about it')
  t.same([(await list(ada, unread(ada))).total, (await list(bob, unread(bob))).total], [2, 3])
  await database('read_progress').insert({ user_id: bob.userId, book_id: books[2], current_page: 1 })
  t.equal(await counts(() => list(ada, unread(ada))), 0, 'the progress of another')
  t.same([(await list(ada, unread(ada))).total, (await list(bob, unread(bob))).total], [2, 2])

  const [tag] = await database('sharing_tags').insert({ name: 'hidden' }, 'id')
  await database('series_sharing_tags').insert({ series_id: series[1], sharing_tag_id: tag.id })
  await database('user_sharing_grants').insert({ user_id: bob.userId, sharing_tag_id: tag.id, access_mode: 'deny' })
  t.same([(await list(ada)).total, (await list(bob)).total], [3, 2])
})

t.test('what is not committed is in no total of others', async (t) => {
  const { database, add, libraryOf, series } = await openShelf(t)
  const caller = await addCaller(database)
  await add(0)
  const total = async () => (await listBooks(database, caller, { filter: {}, sort: null, offset: 0, limit: 1 })).total
  const trx = await database.transaction()
  await addBook(trx, { library_id: libraryOf(1), series_id: series[1] as string, title: 'Open' })
  const part = await trx.transaction()
  await addBook(part, { library_id: libraryOf(1), series_id: series[1] as string, title: 'Taken back' })
  await part.rollback()
  t.equal(await total(), 1)
  const before = await readListState(database, caller)
  await trx.commit()
  t.equal(await total(), 2)
  t.not((await readListState(database, caller)).catalog, before.catalog)
})

/** What happens in a library, by small numbers. */
type Step = [kind: number, one: number, two: number]

t.test('totals are what a plain count says, whatever happens', async (t) => {
  const { database, library_id, other, series, add, libraryOf } = await openShelf(t)
  const callers = [
    ...[await addCaller(database), await addCaller(database), await addCaller(database)],
    ...[await addCaller(database, { role: 'admin' }), await addCaller(database)],
  ] as Caller[]
  const [tag] = await database('sharing_tags').insert({ name: 'tag' }, 'id')
  const [genre] = await database('genres').insert({ name: 'Space', name_key: 'space' }, 'id')
  const grant = (at: number, access_mode: string) =>
    database('user_sharing_grants').insert({ user_id: callers[at]?.userId, sharing_tag_id: tag.id, access_mode })
  await grant(2, 'deny')
  await grant(4, 'allow')
  const pick = async (at: number) => (await database('books').orderBy('path').offset(at).limit(1).first('id'))?.id ?? null
  const steps: ((one: number, two: number) => Promise<unknown>)[] = [
    (one, two) => add(one % 4, { state: ['pending', 'analyzed', 'failed'][two % 3], page_count: two * 10 }),
    async (one, two) =>
      database('books')
        .where('id', await pick(one))
        .update({ page_count: two * 10, state: 'analyzed' }),
    async (one, two) =>
      database('books')
        .where('id', await pick(one))
        .update({ deleted_at: two % 2 ? new Date() : null }),
    async (one, two) =>
      database('books')
        .where('id', await pick(one))
        .update({ series_id: series[two % 4], library_id: libraryOf(two % 4) }),
    async (one) =>
      database('books')
        .where('id', await pick(one))
        .delete(),
    (one) =>
      database('series_sharing_tags')
        .insert({ series_id: series[one % 4], sharing_tag_id: tag.id })
        .onConflict()
        .ignore(),
    (one) =>
      database('series_sharing_tags')
        .where('series_id', series[one % 4])
        .delete(),
    async (one, two) => {
      const book_id = await pick(one)
      if (!book_id) return
      const row = { user_id: callers[two % 5]?.userId, book_id, current_page: 1, completed: two % 2 === 0 }
      await database('read_progress').insert(row).onConflict(['user_id', 'book_id']).merge()
    },
    (one) =>
      database('read_progress')
        .where('user_id', callers[one % 5]?.userId)
        .delete(),
    async (one) => {
      const book_id = await pick(one)
      if (book_id) await database('book_genres').insert({ book_id, genre_id: genre.id }).onConflict().ignore()
    },
    (one) =>
      database('series')
        .where('id', series[one % 4])
        .update({ title: `Title ${one}` }),
    // Two writers at once, one of whom gives up.
    async (one, two) => {
      const trx = await database.transaction()
      await addBook(trx, { library_id: libraryOf(one % 4), series_id: series[one % 4] as string, title: 'Given up' })
      await add(two % 4)
      await trx.rollback()
    },
  ]
  steps.push(
    () => computeSeriesNumbers(database),
    () => addUpKeptNumbers(database),
    // While others write, and one of them gives up.
    async (one, two) => {
      const trx = await database.transaction()
      await addBook(trx, { library_id: libraryOf(one % 4), series_id: series[one % 4] as string, title: 'Later', volume: two })
      await computeSeriesNumbers(database)
      await (two % 2 ? trx.commit() : trx.rollback())
    },
    async (one, two) =>
      database('books')
        .where('id', await pick(one))
        .update({ volume: two, chapter: two / 2 }),
  )
  const conditions: ((caller: Caller) => unknown)[] = [
    () => undefined,
    () => ({ pageCount: { operator: 'gt', value: 15 } }),
    () => ({ readStatus: { operator: 'is', value: 'unread' } }),
    () => ({ genre: { operator: 'is', value: 'space' } }),
  ]
  const check = async () => {
    for (const [at, caller] of callers.entries())
      for (const given of conditions)
        for (const libraryId of [undefined, library_id, other]) {
          const condition = given(caller) === undefined ? undefined : compileFilter(given(caller), 'books', caller)
          const { total } = await listBooks(database, caller, { filter: { libraryId, condition }, sort: null, offset: 0, limit: 1 })
          const plain = database('books').whereNull('deleted_at').modify(visibleTo(caller, 'books.series_id'))
          if (libraryId) plain.where('library_id', libraryId)
          if (condition) plain.whereRaw(condition.sql, condition.bindings as Knex.RawBinding[])
          const [{ count }] = await plain.count({ count: '*' })
          if (total !== Number(count)) throw new Error(`caller ${at}, ${JSON.stringify(given(caller))}: ${total} instead of ${count}`)
        }
    for (const caller of callers) await checkKept(database, caller, { libraries: [undefined, library_id, other], series })
  }
  const step = fc.tuple(fc.nat(steps.length - 1), fc.nat(9), fc.nat(9))
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (given: Step[]) => {
      for (const [kind, one, two] of given) await steps[kind]?.(one, two)
      await check()
    }),
    { numRuns: sizeOf('histories of a library', { main: 4, full: 80 }), seed: testSeed },
  )
  t.pass()
})

/** Compares totals of unfiltered lists, and the numbers of series, with plain counts. */
async function checkKept(
  database: Knex,
  caller: Caller,
  { libraries, series }: { libraries: readonly (string | undefined)[]; series: readonly string[] },
): Promise<void> {
  const page = { sort: null, offset: 0, limit: 50 }
  const count = async (query: Knex.QueryBuilder) => Number((await query.count({ count: '*' }))[0].count)
  const same = (what: string, one: unknown, other: unknown) => {
    if (JSON.stringify(one) !== JSON.stringify(other))
      throw new Error(`${what}: ${JSON.stringify(one)} instead of ${JSON.stringify(other)}`)
  }
  const books = () => database('books').modify(visibleTo(caller, 'books.series_id'))
  for (const includeDeleted of [true, false])
    for (const seriesId of [undefined, ...series])
      for (const libraryId of libraries) {
        const plain = books().where((query) => {
          if (libraryId) query.where('library_id', libraryId)
          if (seriesId) query.where('series_id', seriesId)
          if (!includeDeleted) query.whereNull('deleted_at')
        })
        const { total } = await listBooks(database, caller, { filter: { libraryId, seriesId, includeDeleted }, ...page, limit: 1 })
        same(`books of ${libraryId} ${seriesId} ${includeDeleted}`, total, await count(plain))
      }
  for (const libraryId of libraries) {
    const seen = await database('series')
      .modify(visibleTo(caller, 'series.id'))
      .where(libraryId ? { library_id: libraryId } : {})
      .pluck('id')
    const filled = new Set(await database('books').whereNull('deleted_at').whereIn('series_id', seen).pluck('series_id'))
    const { total, items } = await listSeries(database, caller, { filter: { libraryId }, ...page })
    same(`series of ${libraryId}`, [total, items.length], [filled.size, filled.size])
    for (const { id, bookCount, unreadCount, localMaxVolume, localMaxChapter, volumesOwned } of items) {
      const own: { id: string; volume: number | null; chapter: number | null }[] = await database('books')
        .where('series_id', id)
        .whereNull('deleted_at')
        .select('id', 'volume', 'chapter')
      const read = await count(
        database('read_progress')
          .where({ user_id: caller.userId, completed: true })
          .whereIn(
            'book_id',
            own.map((book) => book.id),
          ),
      )
      const most = (values: (number | null)[]) => values.reduce((one, other) => (one === null || (other ?? one) > one ? other : one), null)
      const volumes = new Set(own.flatMap(({ volume }) => volume ?? []))
      same(
        `numbers of ${id}`,
        [bookCount, unreadCount, localMaxVolume, localMaxChapter, volumesOwned],
        [own.length, own.length - read, most(own.map(({ volume }) => volume)), most(own.map(({ chapter }) => chapter)), volumes.size],
      )
    }
  }
}

t.test('lists with large conditions leave little in memory', onlyCost, async (t) => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const { database, add } = await openShelf(t)
  const caller = await addCaller(database)
  await add(0)
  const list = async (at: number) => {
    const texts = Array.from({ length: 200 }, (_, part) => ({ title: { operator: 'isNot', value: `${at} ${part} ${'ж'.repeat(450)}` } }))
    const condition = compileFilter({ allOf: texts }, 'books', caller)
    for (const offset of [0, 1]) await listBooks(database, caller, { filter: { condition }, sort: null, offset, limit: 1 })
  }
  // What is loaded or prepared once is there before.
  for (let at = 0; at < 20; at++) await list(at)
  collect()
  const before = process.memoryUsage().heapUsed
  for (let at = 100; at < 250; at++) await list(at)
  collect()
  const taken = process.memoryUsage().heapUsed - before
  t.ok(taken < 10 * 1024 * 1024, `${taken} bytes for 150 lists of some 200 KB`)
})
