import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { BookLookup } from '#core/catalog/book-lookup.ts'
import { coverLookupOf } from '#core/catalog/cover-lookup.ts'
import { addTestKey, setTestRule } from '#test/support/access-rules.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'

t.test('one statement serves many requests for a book, for each user their own', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const other = await addCaller(database)
  const library_id = await addLibrary(database)
  const secret = await addSeries(database, { library_id, title: 'Secret' })
  const book = await addBook(database, { library_id, series_id: secret, title: 'C' })
  await shareSeries(database, { seriesId: secret, caller: other, mode: 'deny' })
  let statements = 0
  database.on('query', () => statements++)
  const lookup = new BookLookup(database)

  const asked = await Promise.all([book, book, book.toUpperCase()].map((id) => lookup.find(caller, id)))
  t.same(
    asked.map((found) => found?.id),
    [book, book, book],
  )
  t.equal(statements, 1)
  t.equal(await lookup.find(other, book), null, 'what one may see says nothing about another')
  t.equal(await lookup.find(caller, library_id), null, 'an id of something else is no book')

  const tag = await database('user_sharing_grants').where({ user_id: other.userId }).first('sharing_tag_id')
  const deny = { user_id: caller.userId, sharing_tag_id: tag.sharing_tag_id, access_mode: 'deny' }
  await database('user_sharing_grants').insert(deny)
  lookup.clear()
  t.equal(await lookup.find(caller, book), null, 'a revoked permission counts immediately after clearing the cache')
  await database('user_sharing_grants').where(deny).delete()
  t.equal((await lookup.find(caller, book))?.id, book, 'what may not be seen is never remembered')
  await database('user_sharing_grants').insert(deny)
  // Longer than what was found is remembered.
  await sleep(250)
  t.equal(await lookup.find(caller, book), null, 'and soon where another process took it')

  await database('user_sharing_grants').where(deny).delete()
  const anew = new BookLookup(database, { freshMs: 0 })
  const before = statements
  for (let asked = 1; asked <= 3; asked++) await anew.find(caller, book)
  t.equal(statements - before, 3, 'unless answers shall not be believed at all')

  await t.rejects(lookup.find(caller, 'no uuid'))
})

t.test('what a user may see says nothing about a key of theirs, for books and for covers', async (t) => {
  const { database } = await openTestDatabase(t)
  const user = await addCaller(database)
  const key = { ...user, narrowedBy: await addTestKey(database, user.userId) }
  const [kids, adults] = [await addLibrary(database), await addLibrary(database)]
  const series_id = await addSeries(database, { library_id: adults, title: 'Adult' })
  const book = await addBook(database, { library_id: adults, series_id, title: 'Adult', cover_hash: 'x' })
  await setTestRule(database, { api_key_id: key.narrowedBy }, { libraries: [kids] })
  const [lookup, covers] = [new BookLookup(database), coverLookupOf(database)]
  for (const viewer of [user, key, user]) {
    const id = viewer === user ? book : undefined
    t.same([(await lookup.find(viewer, book))?.id, (await covers.books.find(viewer, book))?.id], [id, id])
    t.equal((await covers.series.find(viewer, series_id))?.id, viewer === user ? series_id : undefined)
  }
})
