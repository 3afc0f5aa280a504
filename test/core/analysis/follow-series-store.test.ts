import { randomUUID } from 'node:crypto'
import t from 'tap'
import { visibleTo } from '#core/account/visibility.ts'
import { joinSeries, lockSeriesPair } from '#core/analysis/follow-series-store.ts'
import { setTestRule } from '#test/support/access-rules.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'

t.setTimeout(60_000)

t.test('a renamed folder to which books of hidden series came first stays hidden', async (t) => {
  const { database } = await openTestDatabase(t)
  const libraryId = await addLibrary(database)
  const child = await addCaller(database)
  await setTestRule(database, { user_id: child.userId }, { age: { mode: 'not_from', years: 18, unrated: 'show' } })
  const hide: Record<string, (seriesId: string) => Promise<unknown>> = {
    'by a tag': (seriesId) => shareSeries(database, { seriesId, caller: child, mode: 'deny' }),
    'by an age that a person has entered': (seriesId) =>
      database('series_metadata').insert({ series_id: seriesId, age_rating: 18, sources: { ageRating: 'user' }, locks: ['ageRating'] }),
  }
  for (const [how, hideSeries] of Object.entries(hide)) {
    const of = { library_id: libraryId, title: how }
    const oldId = await addSeries(database, of)
    await database('series')
      .where('id', oldId)
      .update({ created_at: database.raw(`now() - interval '1 day'`) })
    await database('scans').insert({ id: randomUUID(), library_id: libraryId, mode: 'normal', status: 'completed' })
    const newId = await addSeries(database, of)
    await hideSeries(newId)
    const bookId = await addBook(database, { ...of, series_id: newId })
    await database.transaction(async (trx) => {
      const pair = await lockSeriesPair(trx, { oldId, newId })
      if (!pair) throw new Error('These are not a pair.')
      await joinSeries(trx, pair)
    })
    t.match(await database('books').where('id', bookId).first(), { series_id: oldId }, how)
    t.same(await database('series').where('id', oldId).modify(visibleTo(child, 'series.id')).pluck('id'), [], how)
  }
})
