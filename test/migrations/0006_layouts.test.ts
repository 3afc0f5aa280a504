import t from 'tap'
import { migrate } from '#core/database/database.ts'
import { down, up } from '#migrations/0006_layouts.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addLibrary, addSeries } from '#test/support/library-rows.ts'

t.test('existing libraries keep their layout, and several series of one folder survive the way back', async (t) => {
  const { database } = await openTestDatabase(t, { empty: true })
  await migrate(database)
  const library_id = await addLibrary(database)
  t.match(await database('libraries').first(), { series_strategy: 'series_volume', arrange_due: false })
  const one = await addSeries(database, { library_id, title: 'Batman', path: 'In' })
  await database('series').where('id', one).update({ name_key: 'batman' })
  await addSeries(database, { library_id, title: 'Saga', path: 'In' })
  await database('libraries').update({ series_strategy: 'auto' })
  await database.transaction(down)
  t.same(await database('series').orderBy('path').pluck('path'), ['In', 'In/batman'])
  t.match(await database('libraries').first(), { series_strategy: 'series_volume' })
  await database.transaction(up)
  t.match(await database('series').where('id', one).first(), { path: 'In/batman', name_key: '', layout_title: null })
})
