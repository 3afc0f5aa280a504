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
    (await listLibraryEntries(database, { userId, pluginId: NO_PLUGIN, readsRatings: true }, null)).find(({ seriesId }) => seriesId === id)
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
    const entries = await listLibraryEntries(database, { userId, pluginId: NO_PLUGIN, readsRatings: true }, after)
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

t.test('averages of users are of whole fives who do not use the plugin, and only for a plugin that may read ratings', async (t) => {
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
  const rate = async (number: number, rating: number) => {
    await database('series_user_ratings').insert({ user_id: users[number], series_id, rating })
    await database('read_progress').insert({ user_id: users[number], book_id, current_page: 1, completed: true })
  }
  const seen = async (userId: string, readsRatings = true) => {
    const [entry] = await listLibraryEntries(database, { userId, pluginId, readsRatings }, null)
    return { rating: entry?.communityRating, readers: entry?.readers }
  }
  await agree(host, database, { pluginId, userId: ann })
  await agree(host, database, { pluginId, userId: bob })
  for (const [number, rating] of [80, 60, 13, 20, 20, 20].entries()) await rate(number, rating)
  t.same(await seen(ann), { rating: null, readers: 0 }, 'four others do not count, with two whose ratings it knows')
  await rate(6, 92)
  const five = { rating: 30, readers: 5 }
  t.same([await seen(ann), await seen(bob)], [five, five], 'five, rounded to tens, whoever asks')
  t.same(await seen(ann, false), { rating: null, readers: 5 }, 'not without the permission')
  for (let number = 7; number < 11; number++) {
    await rate(number, 100)
    t.same(await seen(ann), five, 'nobody who comes after is seen alone')
  }
  await agree(host, database, { pluginId, userId: users[11] as string })
  await rate(11, 1)
  t.same(await seen(ann), five, 'who uses the plugin never counts')
})

t.test('nobody who rates, leaves or changes a rating can be computed from the averages before and after', async (t) => {
  const { database } = await openTestDatabase(t)
  const reader = { userId: (await addCaller(database)).userId, pluginId: NO_PLUGIN, readsRatings: true }
  const series_id = await addSeries(database, { library_id: await addLibrary(database), title: 'Dune' })
  const raters: string[] = []
  for (let number = 0; number < 6; number++) raters.push((await addCaller(database)).userId)
  const [first, second, third, fourth, fifth, sixth] = raters as [string, string, string, string, string, string]
  const join = (user_id: string, rating: number) => database('series_user_ratings').insert({ user_id, series_id, rating })
  const edit = (user_id: string, rating: number) => database('series_user_ratings').where({ user_id, series_id }).update({ rating })
  const leave = (user_id: string) => database('series_user_ratings').where({ user_id, series_id }).delete()
  const average = async () => (await listLibraryEntries(database, reader, null))[0]?.communityRating ?? null
  const ratings = new Map([
    [first, 13],
    [second, 87],
    [third, 42],
    [fourth, 64],
    [fifth, 99],
  ])
  for (const [user, rating] of ratings) {
    t.equal(await average(), null, `${[...ratings.keys()].indexOf(user)} raters have no average`)
    await join(user, rating)
  }
  t.equal(await average(), 60, 'of 61')
  await join(sixth, 7)
  t.equal(await average(), 60, 'who joins changes nothing')
  await leave(sixth)
  t.equal(await average(), 60, 'nor does the same one by leaving')
  for (const [user, rating] of ratings) {
    const seen = new Set<number | null>()
    for (let other = 1; other <= 100; other += 5) {
      await edit(user, other)
      seen.add(await average())
    }
    t.ok(
      [...seen].every((one) => one !== null && one % 10 === 0),
      'tens',
    )
    t.ok(seen.size <= 3, `20 ratings of one look like ${seen.size}`)
    await edit(user, rating)
    await leave(user)
    t.equal(await average(), null, 'four who stay have no average, so there is no difference to one that left')
    await join(user, rating)
    t.equal(await average(), 60)
  }
  await join(sixth, 7)
  await leave(third)
  t.equal(await average(), 50, 'of 54: one left and another took the place, and five whole ratings are between them')
})
