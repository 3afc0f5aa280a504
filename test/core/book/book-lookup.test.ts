import t from 'tap'
import { openBookLookup } from '#core/book/book-lookup.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'

t.test('many look-ups share statements, and none is answered from before it was asked', async (t) => {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database)
  const other = await addCaller(database)
  const library_id = await addLibrary(database)
  const open = await addSeries(database, { library_id, title: 'Open' })
  const secret = await addSeries(database, { library_id, title: 'Secret' })
  const a = await addBook(database, { library_id, series_id: open, title: 'A' })
  const b = await addBook(database, { library_id, series_id: open, title: 'B' })
  const c = await addBook(database, { library_id, series_id: secret, title: 'C' })
  await shareSeries(database, { seriesId: secret, caller: other, mode: 'deny' })
  let statements = 0
  database.on('query', () => statements++)
  const lookup = openBookLookup(database)

  const ids = [a, b, c, a, b, library_id, c.toUpperCase()]
  const found = await Promise.all(ids.map((id) => lookup.find(caller, id)))
  t.same(
    found.map((book) => book?.id),
    [a, b, c, a, b, undefined, c],
  )
  t.equal(statements, 2, 'the first one, and one for all that came meanwhile')
  const both = await Promise.all([lookup.find(caller, c), lookup.find(other, c), lookup.find(caller, a), lookup.find(other, a)])
  t.same(
    both.map((book) => book?.id),
    [c, undefined, a, a],
    'everybody with their own rights',
  )

  const before = lookup.find(caller, c)
  const tag = await database('user_sharing_grants').where({ user_id: other.userId }).first('sharing_tag_id')
  await database('user_sharing_grants').insert({ user_id: caller.userId, sharing_tag_id: tag.sharing_tag_id, access_mode: 'deny' })
  const after = await Promise.all([lookup.find(caller, a), lookup.find(caller, c), lookup.find(caller, b)])
  t.ok(await before)
  t.same(
    after.map((book) => book?.id),
    [a, undefined, b],
    'a right taken away counts for the very next question',
  )

  const failing = [lookup.find(caller, a), lookup.find(caller, 'no uuid'), lookup.find(caller, b)]
  const settled = await Promise.allSettled(failing)
  t.same(
    settled.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected'],
  )
  t.equal((await lookup.find(caller, b))?.id, b, 'a failed statement does not block the next')
})
