import { performance } from 'node:perf_hooks'
import t from 'tap'
import { ENTRIES_PAGE, listLibraryEntries } from '#plugins/host/library-entry-query.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { addBook, addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { agree, openTestHost } from '#test/support/plugin-hosts.ts'

/** That nobody has enabled. */
const NO_PLUGIN = '00000000-0000-4000-8000-000000000000'

t.setTimeout(240_000)

t.test('an entry has the metadata of the series and the progress of the user', async (t) => {
  const { database } = await openTestDatabase(t)
  const callers = [await addCaller(database), await addCaller(database), await addCaller(database)]
  const [rita, ravi, rosa] = callers as [(typeof callers)[0], (typeof callers)[0], (typeof callers)[0]]
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Dune' })
  const bare = await addSeries(database, { library_id, title: 'Bare' })
  const books: string[] = []
  for (const title of ['One', 'Two', 'Three']) books.push(await addBook(database, { library_id, series_id, title }))
  books.push(await addBook(database, { library_id, series_id, title: 'Gone', deleted_at: new Date() }))
  await database('series_metadata').insert({
    series_id,
    summary: 'é'.repeat(3_000),
    language: 'en',
    status: 'ended',
    year: 1965,
    authors: JSON.stringify([
      { name: 'Frank', role: 'author' },
      { name: 'Frank', role: 'artist' },
    ]),
  })
  const read = (userId: string, book: number, completed: boolean) =>
    database('read_progress').insert({
      user_id: userId,
      book_id: books[book],
      current_page: 1,
      completed,
      updated_at: `2026-01-0${book + 1}T00:00:00Z`,
    })
  await read(rita.userId, 0, true)
  await read(rita.userId, 1, false)
  await read(rita.userId, 3, true)
  await read(ravi.userId, 0, true)
  const rate = (userId: string, rating: number) => database('series_user_ratings').insert({ user_id: userId, series_id, rating })
  await rate(rita.userId, 90)
  await rate(ravi.userId, 60)

  const find = async (userId: string, id = series_id) =>
    (await listLibraryEntries(database, { userId, pluginId: NO_PLUGIN }, null)).find(({ seriesId }) => seriesId === id)
  const seen = await find(rita.userId)
  t.match(seen, {
    title: 'Dune',
    authors: ['Frank'],
    summary: 'é'.repeat(1_000),
    language: 'en',
    status: 'ended',
    year: 1965,
    rating: 90,
    booksRead: 1,
    booksStarted: 3,
    bookCount: 3,
    lastReadAt: '2026-01-04T00:00:00.000Z',
  })
  t.match(seen?.addedAt, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  t.match(seen, { readers: 0, communityRating: null }, 'the count is hidden, because two users could identify each other')
  t.match(await find(rosa.userId), { rating: null, booksRead: 0, booksStarted: 0, lastReadAt: null }, 'no data of other users')

  await database('series_external_ratings').insert({ series_id, source: 'somewhere', rating: 80 })
  t.match(await find(rita.userId), { communityRating: 80 }, 'other services are public')
  t.match(await find(rita.userId, bare), {
    summary: null,
    language: null,
    status: null,
    communityRating: null,
    readers: 0,
    genres: [],
    bookCount: 0,
  })

  await shareSeries(database, { seriesId: series_id, caller: rosa, mode: 'deny' })
  t.same(await find(rosa.userId), undefined, 'a series that is hidden from the user is not listed')
})

t.test('20,000 series are listed page by page, each by one fast statement, without duplicates', onlyFull, async (t) => {
  const { database } = await openTestDatabase(t)
  const { userId } = await addCaller(database)
  const library_id = await addLibrary(database)
  await database.transaction(async (trx) => {
    for (const statement of [
      // Search documents are irrelevant here, and take most of the time.
      ...['series', 'series_metadata', 'series_genres', 'books'].map((table) => `ALTER TABLE ${table} DISABLE TRIGGER USER`),
      `INSERT INTO series (library_id, path, title) SELECT '${library_id}', n, 'Series ' || n FROM generate_series(1, 20000) n`,
      `INSERT INTO series_metadata (series_id, summary, authors) SELECT id, repeat('some words about it ', 30), jsonb_build_array(jsonb_build_object('name', 'Writer ' || path)) FROM series`,
      `INSERT INTO genres (name, name_key) SELECT 'Genre ' || n, 'genre ' || n FROM generate_series(1, 20) n`,
      `INSERT INTO series_genres SELECT s.id, g.id FROM series s JOIN genres g ON abs(hashtext(s.path || g.name)) % 20 = 0`,
      `INSERT INTO books (library_id, series_id, path, file_name, file_format, file_size, file_mtime_ns, state, title)
      SELECT library_id, id, path || '/1', 'x', 'cbz', 1, 1, 'analyzed', 'Book' FROM series`,
      `INSERT INTO read_progress (user_id, book_id, current_page, completed) SELECT '${userId}', id, 1, true FROM books WHERE abs(hashtext(path)) % 50 = 0`,
    ])
      await trx.raw(statement)
  })
  await database.raw('ANALYZE')
  let statements = 0
  database.on('query', () => {
    statements += 1
  })
  const seen = new Set<string>()
  const times: number[] = []
  let after: string | null = null
  for (let page = 0; page < 200; page++) {
    const at = performance.now()
    const entries = await listLibraryEntries(database, { userId, pluginId: NO_PLUGIN }, after)
    times.push(performance.now() - at)
    for (const { seriesId } of entries) seen.add(seriesId)
    after = entries.at(-1)?.seriesId ?? null
    if (entries.length < ENTRIES_PAGE) break
  }
  times.sort((a, b) => a - b)
  const middle = times[times.length >> 1] as number
  t.comment(`${times.length} pages, ${middle.toFixed(1)} ms each, ${times.reduce((sum, ms) => sum + ms, 0).toFixed(0)} ms in all`)
  t.equal(seen.size, 20_000)
  t.equal(statements, times.length)
  // A refresh has two minutes, and requests a hundred pages.
  t.ok(middle < 200, `a page takes ${middle.toFixed(1)} ms`)
})

t.test('readers are whole fives who do not use the plugin', async (t) => {
  const { database, host, run } = await openTestHost(t)
  const { id: pluginId } = await run('export default { recommendations: { get: () => ({ recommendations: [] }) } }', {
    capabilities: { recommendations: { methods: ['get'] } },
  })
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Dune' })
  const book_id = await addBook(database, { library_id, series_id, title: 'One' })
  const users: string[] = []
  for (let number = 0; number < 12; number++) users.push((await addCaller(database)).userId)
  const [ann, bob] = users as [string, string]
  const read = (number: number) => database('read_progress').insert({ user_id: users[number], book_id, current_page: 1, completed: true })
  const seen = async (userId: string) => (await listLibraryEntries(database, { userId, pluginId }, null))[0]?.readers
  await agree(host, database, { pluginId, userId: ann })
  await agree(host, database, { pluginId, userId: bob })
  for (let number = 0; number < 6; number++) await read(number)
  t.equal(await seen(ann), 0, 'four others do not count, with two whom it knows')
  await read(6)
  t.same([await seen(ann), await seen(bob)], [5, 5], 'five, whoever asks')
  for (let number = 7; number < 11; number++) {
    await read(number)
    t.equal(await seen(ann), 5, 'nobody who comes after is seen alone')
  }
  await agree(host, database, { pluginId, userId: users[11] as string })
  await read(11)
  t.equal(await seen(ann), 5, 'who uses the plugin never counts')
})

t.test('no rating of another user changes what a plugin reads, however many rate', async (t) => {
  const { database } = await openTestDatabase(t)
  const series_id = await addSeries(database, { library_id: await addLibrary(database), title: 'Dune' })
  const raters: string[] = []
  for (let number = 0; number < 12; number++) raters.push((await addCaller(database)).userId)
  const [reader, ...others] = raters as [string, ...string[]]
  const entries = () => listLibraryEntries(database, { userId: reader, pluginId: NO_PLUGIN }, null)
  const before = await entries()
  for (const [number, user_id] of others.entries()) {
    await database('series_user_ratings').insert({ user_id, series_id, rating: 100 - 9 * number })
    t.same(await entries(), before, `${number + 1} others have rated`)
  }
  await database('series_user_ratings').update({ rating: 1 })
  t.same(await entries(), before, 'and changed what they gave')
  await database('series_user_ratings').insert({ user_id: reader, series_id, rating: 40 })
  t.match(await entries(), [{ rating: 40, communityRating: null }], 'the own rating is no average either')
})
