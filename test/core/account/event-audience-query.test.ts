import t from 'tap'
import { eventAudience } from '#core/account/event-audience-query.ts'
import type { Announcement } from '#core/events/event.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'

t.test('a deleted or disabled account sees nothing, not everything', async (t) => {
  const { database } = await openTestDatabase(t)
  const [reader, closed, gone] = [await addCaller(database), await addCaller(database), await addCaller(database)]
  const libraryId = await addLibrary(database)
  const seriesId = await addSeries(database, { library_id: libraryId, title: 'Hidden' })
  const announcement = {
    id: 'x',
    event: { type: 'series_created', seriesId, libraryId, timestamp: new Date().toISOString() },
  } as unknown as Announcement
  await database('users').where('id', closed.userId).update({ is_active: false })
  await database('users').where('id', gone.userId).delete()
  const callers = [reader, closed, gone]
  const { show } = await eventAudience(database).decide(
    [announcement],
    callers.map(({ userId }) => userId),
  )
  t.same(
    callers.map((caller) => show(caller, announcement) !== null),
    [true, false, false],
  )
})
