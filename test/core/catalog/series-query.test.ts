import t from 'tap'
import type { Caller } from '#core/account/caller.ts'
import { updateLibrary, withLibraryLock } from '#core/catalog/library-store.ts'
import { findReadableSeries } from '#core/catalog/readable-series-query.ts'
import { computeSeriesNumbers } from '#core/catalog/series-numbers-store.ts'
import { getSeries, listSeries } from '#core/catalog/series-query.ts'
import { readSeriesSort } from '#core/catalog/series-sort-query.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { until } from '#test/support/library-fixture.ts'
import { addBook, addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'

t.test('series are listed by filter, order and page', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const library_id = await addLibrary(database, { name: 'Manga', path: '/manga' })
  const other = await addLibrary(database)
  const day = (n: number) => new Date(Date.UTC(2024, 0, n))
  const add = async (title: string, books: number, more: { library_id?: string; title_sort?: string } & Record<string, unknown> = {}) => {
    const series_id = await addSeries(database, { library_id, title, path: title, ...more })
    for (let n = 1; n <= books; n++)
      await addBook(database, { library_id: more.library_id ?? library_id, series_id, title: `${title} ${n}`, number: n })
    return series_id
  }
  const ten = await add('Part 10', 1, { created_at: day(1), updated_at: day(9) })
  const nine = await add('part 9', 3, { created_at: day(2), updated_at: day(8) })
  const the = await add('The End', 2, { title_sort: 'End', created_at: day(3), updated_at: day(7) })
  const far = await add('Far', 1, { library_id: other, created_at: day(4), updated_at: day(6) })
  const empty = await add('Empty', 0)
  const gone = await add('Gone', 1)
  await database('books').where({ series_id: gone }).update({ deleted_at: new Date() })

  const list = async (sort?: string, who: Caller = caller, libraryId?: string) => {
    const titles: string[] = []
    for (let offset = 0; ; offset += 2) {
      const { items, total } = await listSeries(database, who, { filter: { libraryId }, sort: readSeriesSort(sort), offset, limit: 2 })
      titles.push(...items.map((series) => series.title))
      if (items.length > 0) continue
      t.equal(total, titles.length, 'the total counts what the pages show')
      return titles
    }
  }
  const table: [string | undefined, string[]][] = [
    [undefined, ['The End', 'Far', 'part 9', 'Part 10']],
    ['name,desc', ['Part 10', 'part 9', 'Far', 'The End']],
    ['date_added,asc', ['Part 10', 'part 9', 'The End', 'Far']],
    ['created_at,desc', ['Far', 'The End', 'part 9', 'Part 10']],
    ['date_updated,asc', ['Far', 'The End', 'part 9', 'Part 10']],
  ]
  for (const [sort, expected] of table) t.same(await list(sort), expected, `sort=${sort}`)
  t.same((await list('book_count,desc')).slice(0, 2), ['part 9', 'The End'])
  for (const sort of ['ratings,asc', 'title', 'name,sideways']) t.throws(() => readSeriesSort(sort), { code: 'invalid_request' })
  t.same(await list(undefined, caller, other), ['Far'])

  const owned = { library_id, series_id: the }
  await addBook(database, { ...owned, title: 'v3', volume: 3, chapter: 12.5 })
  await addBook(database, { ...owned, title: 'v3 again', volume: 3, chapter: 2 })
  await addBook(database, { ...owned, title: 'v9 gone', volume: 9, deleted_at: new Date() })
  t.match(await getSeries(database, caller, the), {
    ...{ id: the, libraryId: library_id, libraryName: 'Manga', title: 'The End', titleSort: 'End', path: 'The End' },
    ...{ bookCount: 4, unreadCount: 4, localMaxVolume: 3, localMaxChapter: 12.5, volumesOwned: 1, createdAt: day(3).toISOString() },
  })
  t.match(await getSeries(database, caller, empty), { bookCount: 0, localMaxVolume: null, localMaxChapter: null, volumesOwned: 0 })
  await t.rejects(getSeries(database, caller, library_id), { code: 'not_found' })

  t.match(await findReadableSeries(database, caller, nine), { coverBookId: null }, 'no book has a cover')
  await database('books').where({ series_id: nine }).whereNot({ number: 1 }).update({ cover_hash: 'c' })
  const cover = (await findReadableSeries(database, caller, nine))?.coverBookId
  t.equal((await database('books').where({ id: cover }).first('number')).number, 2, 'the first book in reading order that has a cover')

  const denied = await addCaller(database)
  await shareSeries(database, { seriesId: nine, caller: denied, mode: 'deny' })
  t.same(await list(undefined, denied), ['The End', 'Far', 'Part 10'])
  await t.rejects(getSeries(database, denied, nine), { code: 'not_found' })
  t.equal(await findReadableSeries(database, denied, nine), null)
  const allowed = await addCaller(database)
  await shareSeries(database, { seriesId: ten, caller: allowed, mode: 'allow' })
  t.same(await list(undefined, allowed), ['Part 10'])
  await t.rejects(getSeries(database, allowed, far), { code: 'not_found' })
})

t.test('an order by kept numbers has every change before it, also while another process computes them', async (t) => {
  const { database } = await openTestDatabase(t, { poolMax: 6 })
  const caller = await addCaller(database)
  const library_id = await addLibrary(database)
  const ids: string[] = []
  for (const title of ['A', 'B']) {
    ids.push(await addSeries(database, { library_id, title }))
    await addBook(database, { library_id, series_id: ids.at(-1) as string, title })
  }
  const [first, second] = ids as [string, string]
  const rate = (series_id: string, rating: number) =>
    database('series_user_ratings').insert({ user_id: caller.userId, series_id, rating }).onConflict(['user_id', 'series_id']).merge()
  const waitsFor = (statement: string) =>
    until(async () => {
      const { rows } = await database.raw(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE ?`,
        [statement],
      )
      return rows.length > 0
    })
  const byRating = async () => {
    const list = { filter: {}, sort: readSeriesSort('community_rating,desc'), offset: 0, limit: 10 }
    return (await listSeries(database, caller, list)).items.map(({ id }) => id)
  }
  await rate(first, 10)
  await rate(second, 50)
  t.same(await byRating(), [second, first])

  // The one that computes waits for a row, and has begun before the next change.
  const holder = await database.transaction()
  await holder.raw('SELECT FROM series_numbers WHERE series_id = ? FOR UPDATE', [second])
  await rate(second, 60)
  const computed = computeSeriesNumbers(database)
  await waitsFor('%WITH marked AS%')
  await rate(first, 90)
  const listed = byRating()
  await Promise.race([listed, waitsFor('%pg_advisory_xact_lock%')])
  await holder.commit()
  t.same(await listed, [first, second])
  await computed

  await rate(second, 100)
  const during = await withLibraryLock(database, async (trx) => {
    await updateLibrary(trx, library_id, { name: 'Renamed' })
    return await byRating()
  })
  t.same(during, [second, first], 'while a library is edited')
})
