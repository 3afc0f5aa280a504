import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { bookRoutes } from '#api/rest/catalog/books.ts'
import { progressRoutes } from '#api/rest/reading/progress.ts'
import { completeBooks, forgetProgress, saveProgress } from '#core/reading/progress-store.ts'
import { setTestRule } from '#test/support/access-rules.ts'
import { sizeOf } from '#test/support/lane-size.ts'
import { until } from '#test/support/library-fixture.ts'
import { addBook, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'
import { testSeed } from '#test/support/timed-property.ts'

interface Changes {
  progress: { bookId: string; currentPage: number; completed: boolean }[]
  total: number
  removed?: { bookId: string; removedAt: string }[]
  asOf: string
}

async function openShelf(t: Test, count: number) {
  const server = await openTestServer(t, { routes: [...bookRoutes, ...progressRoutes] })
  const { database } = server
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Run' })
  const books: string[] = []
  for (let n = 1; n <= count; n++)
    books.push(await addBook(database, { library_id, series_id, title: `Issue ${n}`, number: n, page_count: 10 }))
  const { id: userId, token } = await server.signUp({ username: 'rita' })
  const list = (query = '') => server.request<Changes>('GET', `/api/v1/progress${query}`, { token })
  const changesAfter = async (asOf: string) => (await list(`?updatedAfter=${encodeURIComponent(asOf)}`)).json
  const read = (bookId: string, page: number, at?: string) =>
    saveProgress(database, {
      ...{ userId, bookId, pageCount: 10, position: { currentPage: page, percentage: page / 10, completed: page === 10 } },
      ...(at !== undefined && { progression: { locator: {}, at, mustBeLater: false } }),
    })
  return { server, database, library_id, series_id, books, userId, token, list, changesAfter, read }
}

t.test('an app keeps its copy by asking for changes only', async (t) => {
  const { database, books, userId, list, changesAfter, read } = await openShelf(t, 5)
  const [one, two, three, four] = books as [string, string, string, string]
  await read(one, 2)
  await completeBooks(database, userId, [two])
  const first = (await list()).json
  t.equal(first.total, 2)
  t.notOk('removed' in first, 'what was never sent need not be forgotten')
  t.match(await changesAfter(first.asOf), { progress: [], total: 0, removed: [] })

  await read(three, 4)
  await forgetProgress(database, userId, [two])
  const second = await changesAfter(first.asOf)
  t.match(second, { progress: [{ bookId: three, currentPage: 4 }], total: 1, removed: [{ bookId: two, removedAt: String }] })

  await completeBooks(database, userId, [two])
  t.match(await changesAfter(first.asOf), { progress: [{ bookId: three }, { bookId: two, completed: true }], removed: [] }, 'begun again')

  // An e-reader that was offline: its time lies before everything that the app has seen.
  const third = await changesAfter(second.asOf)
  await read(four, 3, '2020-01-01T00:00:00Z')
  t.match(await changesAfter(third.asOf), { progress: [{ bookId: four, currentPage: 3 }], total: 1 })
})

t.test('a book that is purged, a user that is deleted, and a series that is hidden', async (t) => {
  const { server, database, library_id, books, userId, list, changesAfter, read } = await openShelf(t, 2)
  const secret = await addSeries(database, { library_id, title: 'Secret' })
  const hidden = await addBook(database, { library_id, series_id: secret, title: 'Hidden', page_count: 10 })
  const { asOf } = (await list()).json
  await read(books[0] as string, 1)
  await read(hidden, 1)
  await shareSeries(database, { seriesId: secret, caller: { userId }, mode: 'deny' })
  t.match(await changesAfter(asOf), { progress: [{ bookId: books[0] }], total: 1 })
  await database('books').where('id', books[0]).delete()
  t.match(await changesAfter(asOf), { progress: [], removed: [{ bookId: books[0] }] })
  await read(books[1] as string, 1)
  await server.accounts.removeUser(userId, null)
  t.same(await database('read_progress_removals').select(), [])
})

t.test('what is written while a list is read is in the next one', async (t) => {
  const { database, books, userId, changesAfter } = await openShelf(t, 2)
  const began = new Date().toISOString()
  const open = await database.transaction()
  await open.raw('SELECT now()')
  await sleep(20)
  const during = await changesAfter(began)
  await completeBooks(open, userId, [books[0] as string])
  await open.commit()
  t.match(during.progress, [])
  t.match((await changesAfter(during.asOf)).progress, [{ bookId: books[0] }])
})

t.test('more changes than an answer holds come step by step', async (t) => {
  const { database, library_id, series_id, userId, changesAfter } = await openShelf(t, 0)
  const began = new Date(Date.now() - 1).toISOString()
  await database.raw(
    `INSERT INTO books (library_id, series_id, path, file_name, file_format, file_size, file_mtime_ns, title)
     SELECT ?, ?, '/x/' || n, n || '.cbz', 'cbz', 1, 1, 'Book ' || n FROM generate_series(1, 12000) n`,
    [library_id, series_id],
  )
  const ids: string[] = await database('books').pluck('id')
  await completeBooks(database, userId, ids)
  const seen = new Set<string>()
  let asOf = began
  for (let steps = 1; steps <= 4; steps++) {
    const { progress, asOf: next } = await changesAfter(asOf)
    for (const { bookId } of progress) seen.add(bookId)
    asOf = next
  }
  t.equal(seen.size, ids.length)
  await forgetProgress(database, userId, ids)
  const gone = new Set<string>()
  for (let steps = 1; steps <= 4; steps++) {
    const { removed = [], asOf: next } = await changesAfter(asOf)
    for (const { bookId } of removed) gone.add(bookId)
    asOf = next
  }
  t.equal(gone.size, ids.length)
})

t.test('removals are kept for a year', async (t) => {
  const { database, books, userId, list, changesAfter, read } = await openShelf(t, 3)
  for (const book of books) await read(book, 1)
  await forgetProgress(database, userId, books.slice(0, 2))
  for (const [at, days] of [364, 367].entries())
    await database('read_progress_removals')
      .where('book_id', books[at])
      .update({ removed_at: database.raw(`now() - interval '${days} days'`) })
  await forgetProgress(database, userId, books.slice(2))
  t.same(new Set(await database('read_progress_removals').pluck('book_id')), new Set([books[0], books[2]]))
  const day = 86_400_000
  t.same(
    (await changesAfter(new Date(Date.now() - 364.5 * day).toISOString())).removed?.map(({ bookId }) => bookId),
    [books[0], books[2]],
  )
  const refused = await list(`?updatedAfter=${new Date(Date.now() - 366 * day).toISOString()}`)
  t.equal(refused.status, 422)
  t.match(refused.json, { error: 'invalid_value', message: /Leave updatedAfter out/ })
  t.equal((await list('?updatedAfter=yesterday')).status, 400)
})

t.test('a copy that follows the changes is always equal to the whole list', async (t) => {
  const { database, books, userId, list, changesAfter, read } = await openShelf(t, 6)
  const change = fc.oneof(
    fc.record({ does: fc.constant('read' as const), book: fc.nat(5), page: fc.integer({ min: 1, max: 10 }), late: fc.boolean() }),
    fc.record({ does: fc.constant('forget' as const), book: fc.nat(5) }),
    fc.record({ does: fc.constant('finish' as const), book: fc.nat(5) }),
    fc.record({ does: fc.constant('ask' as const) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 3, maxLength: 25 }), async (steps) => {
      const whole = (await list()).json
      const copy = new Map(whole.progress.map((one) => [one.bookId, one]))
      let { asOf } = whole
      const follow = async () => {
        const changes = await changesAfter(asOf)
        for (const { bookId } of changes.removed ?? []) copy.delete(bookId)
        for (const one of changes.progress) copy.set(one.bookId, one)
        asOf = changes.asOf
      }
      for (const step of steps) {
        if (step.does === 'ask') await follow()
        else if (step.does === 'read') await read(books[step.book] as string, step.page, step.late ? '2021-05-05T05:05:05Z' : undefined)
        else if (step.does === 'forget') await forgetProgress(database, userId, [books[step.book] as string])
        else await completeBooks(database, userId, [books[step.book] as string])
      }
      await follow()
      const now = new Map((await list()).json.progress.map((one) => [one.bookId, one]))
      t.same(copy, now)
    }),
    { numRuns: sizeOf('histories', { main: 10, full: 30 }), seed: testSeed },
  )
})

t.test('progress of many books is forgotten in the order in which it is recorded, so that the two never deadlock', async (t) => {
  const { database, books, userId, read } = await openShelf(t, 4)
  const ascending = books.toSorted()
  for (const bookId of ascending.toReversed()) await read(bookId, 2)
  // With statistics, PostgreSQL reads a small table in the order in which it is stored.
  await database.raw('ANALYZE read_progress')
  const row = (bookId: string) => database('read_progress').where({ user_id: userId, book_id: bookId })
  const open = await database.transaction()
  await row(ascending[0] as string)
    .transacting(open)
    .forUpdate()
  const forgotten = forgetProgress(database, userId, books)
  await until(async () => {
    const { rows } = await database.raw(
      `SELECT FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ILIKE '%delete from%read_progress%'`,
    )
    return rows.length > 0
  })
  const free = await Promise.all(ascending.slice(1).map((bookId) => row(bookId).forUpdate().skipLocked()))
  t.same(
    free.map(({ length }) => length),
    [1, 1, 1],
    'while it waits for the first, it has locked none of the others',
  )
  await open.commit()
  t.equal(await forgotten, 4)
})

t.test('an app that lists books from the asOf before its last list misses none of a long change', async (t) => {
  const { server, database, books, token, list } = await openShelf(t, 2)
  const [one, two] = books as [string, string]
  const changedSince = async (value: string) => {
    const body = { condition: { updatedAt: { operator: 'onOrAfter', value } } }
    const { json } = await server.request<{ data: { id: string }[] }>('POST', '/api/v1/books/list', { token, body })
    return json.data.map(({ id }) => id)
  }
  const long = await database.transaction()
  await long('books').where('id', one).update({ title: 'Late', updated_at: long.fn.now() })
  await sleep(5)
  await database('books').where('id', two).update({ title: 'Early', updated_at: database.fn.now() })
  const { asOf } = (await list()).json
  t.ok((await changedSince(asOf)).includes(two))
  await long.commit()
  t.ok((await changedSince(asOf)).includes(one))
  const later = (await list()).json.asOf
  t.same(await changedSince(later), [])
})

t.test('removed progress in a book that the caller may not see is not named', async (t) => {
  const { database, series_id, library_id, books, userId, list, changesAfter, read } = await openShelf(t, 2)
  const [shown, hidden] = books as [string, string]
  const adult = await addSeries(database, { library_id, title: 'Adult' })
  await database('books').where('id', hidden).update({ series_id: adult })
  for (const id of books) await read(id, 2)
  const { asOf } = (await list()).json
  await forgetProgress(database, userId, books)
  const removed = async () => (await changesAfter(asOf)).removed?.map(({ bookId }) => bookId).sort()
  t.same(await removed(), [...books].sort())
  await database('series_metadata').insert({ series_id: adult, age_rating: 18 })
  await setTestRule(database, { user_id: userId }, { age: { mode: 'not_from', years: 18, unrated: 'show' } })
  t.same(await removed(), [shown])
  await database('books').where('series_id', series_id).delete()
  t.same(await removed(), [shown], 'that of a deleted book is')
})
