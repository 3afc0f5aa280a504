import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import type { Knex } from 'knex'
import t from 'tap'
import type { Caller } from '#core/account/caller.ts'
import { type BookSort, joinForSort, orderOfBooks, termsOf } from '#core/catalog/book-sort-query.ts'
import { computeSeriesNumbers } from '#core/catalog/series-numbers-store.ts'
import { orderOfSeries, readSeriesSort, type SeriesSort, termsOfSeries } from '#core/catalog/series-sort-query.ts'
import { type IdList, pageOfIds } from '#core/paging/id-page-query.ts'
import { shuffled } from '#core/paging/list-order.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { sizeOf } from '#test/support/lane-size.ts'
import { addBook, addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { testSeed } from '#test/support/timed-property.ts'

const BOOKS = 60
const SERIES = 12

/** Books and series whose values repeat, or are missing. */
async function fill(database: Knex, caller: Caller): Promise<void> {
  const library_id = await addLibrary(database)
  const series: string[] = []
  for (let at = 0; at < SERIES; at++) series.push(await addSeries(database, { library_id, title: `S${at % 5}` }))
  for (let at = 0; at < BOOKS; at++) {
    const id = await addBook(database, {
      ...{ library_id, series_id: series[(at * 7) % (SERIES - 1)] as string, title: `T${at % 9}`, number: at % 4 === 0 ? null : at % 6 },
      ...{ created_at: new Date(Date.UTC(2024, 0, 1 + (at % 8))), page_count: at % 3, file_size: at % 5, file_name: `f${at % 10}.cbz` },
    })
    if (at % 3 === 0) await database('book_metadata').insert({ book_id: id, year: 2000 + (at % 4), month: at % 2 === 0 ? 5 : null })
    if (at % 5 === 0)
      await database('read_progress').insert({ user_id: caller.userId, book_id: id, current_page: 1, updated_at: new Date(at * 1e6) })
  }
  for (const [at, id] of series.entries()) {
    if (at % 2) await database('series_metadata').insert({ series_id: id, year: 2000 + (at % 3) })
    if (at % 3) await database('series_user_ratings').insert({ user_id: caller.userId, series_id: id, rating: 10 + (at % 2) })
    if (at % 4) await database('series_external_ratings').insert({ series_id: id, source: 'x', rating: at % 2 })
  }
  await computeSeriesNumbers(database)
}

const BOOK_FIELDS = ['title', 'series', 'created', 'updated', 'released', 'number', 'size', 'file', 'pages', 'read'] as const
const SERIES_FIELDS = [
  'name',
  'created_at',
  'updated_at',
  'book_count',
  'date_read',
  'year',
  'rating',
  'community_rating',
  'external_rating',
] as const
const DIRECTIONS = ['asc', 'desc'] as const

t.test('any page of any order has the rows that counting from the begin gives', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  await fill(database, caller)
  const lists: { name: string; list: Omit<IdList, 'offset' | 'limit'>; expected: string[] }[] = []
  for (const direction of DIRECTIONS) {
    for (const field of BOOK_FIELDS) {
      const sort: BookSort = { field, direction }
      const plain = database('books').select('books.id').orderByRaw(termsOf(sort).join(', '))
      joinForSort(plain, sort, caller)
      const list = { matching: database('books').select('books.id'), order: orderOfBooks(caller, sort) }
      lists.push({ name: `books ${field} ${direction}`, list, expected: (await plain).map(({ id }) => id) })
    }
    for (const name of SERIES_FIELDS) {
      const sort = readSeriesSort(`${name},${direction}`) as SeriesSort
      const { terms, bindings = [] } = termsOfSeries(caller, sort)
      const plain = database('series')
        .select('series.id')
        .orderByRaw(terms.join(', '), [...bindings])
      const list = { matching: database('series').select('series.id'), order: orderOfSeries(caller, sort) }
      lists.push({ name: `series ${name} ${direction}`, list, expected: (await plain).map(({ id }) => id) })
    }
  }
  for (const { name, list, expected } of lists) {
    const isBooks = name.startsWith('books')
    t.equal(new Set(expected).size, isBooks ? BOOKS : SERIES, name)
    const key = randomUUID()
    const page = fc.record({
      offset: fc.nat(expected.length + 2),
      limit: fc.integer({ min: 1, max: 9 }),
      knowsTotal: fc.boolean(),
      remembers: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(page, async ({ offset, limit, knowsTotal, remembers }) => {
        const { ids, total } = await pageOfIds(database, {
          ...list,
          ...{ offset, limit, stepMin: 4 },
          ...(knowsTotal && { total: expected.length }),
          ...(remembers && { key }),
        })
        if (total !== expected.length) throw new Error(`${name}: ${total} in total`)
        if (ids.join() !== expected.slice(offset, offset + limit).join()) throw new Error(`${name}: another page at ${offset}`)
      }),
      { numRuns: sizeOf('pages of each order', { main: 12, full: 60 }), seed: testSeed },
    )
  }
})

t.test('a page far from all known ones is found by steps, and leaves places for the next', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  await fill(database, caller)
  const statements: string[] = []
  database.on('query', ({ sql }: { sql: string }) => statements.push(sql))
  const key = randomUUID()
  const read = async (offset: number) => {
    statements.length = 0
    const order = orderOfBooks(caller, { field: 'title', direction: 'asc' })
    const list = { matching: database('books').select('books.id'), total: BOOKS, order, offset, limit: 2, key, stepMin: 10 }
    await pageOfIds(database, list)
    return statements.length
  }
  t.same(await read(28), 3, 'two steps')
  t.same(await read(28), 1)
  t.same(await read(5), 1, 'near the begin')
  t.same(await read(54), 1, 'near the end')
  t.same(await read(33), 1, 'near the first page')
})

t.test('a shuffled list of any length is a whole list', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  await fill(database, caller)
  const expected = (await database('books').pluck('id')) as string[]
  for (const total of [1, 1_000_000]) {
    const order = shuffled('books', 'books.id')(total)
    const ids: string[] = []
    for (let offset = 0; offset < BOOKS; offset += 7)
      ids.push(
        ...(await pageOfIds(database, { matching: database('books').select('books.id'), total: BOOKS, order, offset, limit: 7 })).ids,
      )
    t.same(ids.toSorted(), expected.toSorted())
  }
})
