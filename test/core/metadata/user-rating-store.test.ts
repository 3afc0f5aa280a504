import t from 'tap'
import { readListState } from '#core/catalog/list-state-query.ts'
import { deleteUserRating, saveUserRating } from '#core/metadata/user-rating-store.ts'
import { saveWantToRead } from '#core/reading/progress-store.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { until } from '#test/support/library-fixture.ts'
import { addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { receiveEvents } from '#test/support/received-events.ts'

t.test('a user hears of own ratings and series to read, wherever they were changed, and nobody else does', async (t) => {
  const { database } = await openTestDatabase(t)
  const libraryId = await addLibrary(database)
  const seriesId = await addSeries(database, { library_id: libraryId, title: 'Saga' })
  const [ann, bob] = [await addCaller(database), await addCaller(database, { role: 'admin' })]
  const [annReceives, bobReceives] = (await receiveEvents(t, database, [ann, bob])) as [object[], object[]]
  const rating = { userId: ann.userId, seriesId, rating: 70, notes: null }
  await saveUserRating(database, rating)
  await deleteUserRating(database, ann.userId, seriesId)
  await deleteUserRating(database, ann.userId, seriesId)
  for (const wanted of [true, true, false, false]) await saveWantToRead(database, { userId: ann.userId, seriesId, wanted })
  await saveUserRating(database, { ...rating, userId: bob.userId })
  await until(() => annReceives.length >= 4 && bobReceives.length >= 1)
  const of = { seriesId, libraryId }
  t.same(
    annReceives,
    [
      ...Array.from({ length: 2 }, () => ({ type: 'rating_updated', ...of })),
      ...Array.from({ length: 2 }, () => ({ type: 'want_to_read_updated', ...of })),
    ],
    'what changed nothing is no event',
  )
  t.same(bobReceives, [{ type: 'rating_updated', ...of }], 'an administrator hears of no rating of others')

  await shareSeries(database, { seriesId, caller: ann, mode: 'deny' })
  await saveUserRating(database, rating)
  await saveUserRating(database, { ...rating, userId: bob.userId })
  await until(() => bobReceives.length >= 2)
  t.equal(annReceives.length, 4, 'nothing about a series that the user does not see any more')
})

t.test('deleting a rating that is not there changes no average', async (t) => {
  const { database } = await openTestDatabase(t)
  const seriesId = await addSeries(database, { library_id: await addLibrary(database), title: 'Saga' })
  const ann = await addCaller(database)
  const version = async () => Number((await readListState(database, ann)).averages)
  await saveUserRating(database, { userId: ann.userId, seriesId, rating: 70, notes: null })
  const rated = await version()
  for (let times = 0; times < 3; times++) await deleteUserRating(database, ann.userId, seriesId)
  t.equal(await version(), rated + 1, 'only the first time')
})
