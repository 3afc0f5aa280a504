import t from 'tap'
import type { Caller } from '#core/account/caller.ts'
import { findSeriesCoverBook, getSeries, listSeries, readSeriesSort } from '#core/catalog/series-query.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'

t.test('series', async (t) => {
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

  t.equal(await findSeriesCoverBook(database, caller, nine), null, 'no book has a cover')
  await database('books').where({ series_id: nine }).whereNot({ number: 1 }).update({ cover_hash: 'c' })
  const cover = await findSeriesCoverBook(database, caller, nine)
  t.equal((await database('books').where({ id: cover }).first('number')).number, 2, 'the first book in reading order that has a cover')

  const denied = await addCaller(database)
  await shareSeries(database, { seriesId: nine, caller: denied, mode: 'deny' })
  t.same(await list(undefined, denied), ['The End', 'Far', 'Part 10'])
  await t.rejects(getSeries(database, denied, nine), { code: 'not_found' })
  await t.rejects(findSeriesCoverBook(database, denied, nine), { code: 'not_found' })
  const allowed = await addCaller(database)
  await shareSeries(database, { seriesId: ten, caller: allowed, mode: 'allow' })
  t.same(await list(undefined, allowed), ['Part 10'])
  await t.rejects(getSeries(database, allowed, far), { code: 'not_found' })
})
