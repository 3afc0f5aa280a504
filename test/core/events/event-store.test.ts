import t from 'tap'
import { announce, announceSeries } from '#core/events/event-store.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { until } from '#test/support/library-fixture.ts'
import { addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { receiveEvents } from '#test/support/received-events.ts'

t.setTimeout(120_000)

t.test('changes of a thousand hidden series become no event of their library for whom they are hidden from', async (t) => {
  const { database } = await openTestDatabase(t)
  const [mia, ada] = [await addCaller(database), await addCaller(database)]
  const libraryId = await addLibrary(database)
  const { rows } = await database.raw(
    `INSERT INTO series (library_id, title, path) SELECT ?, 'Hidden ' || n, 'Hidden ' || n FROM generate_series(1, 1100) AS n RETURNING id`,
    [libraryId],
  )
  const hidden: string[] = rows.map(({ id }: { id: string }) => id)
  const [tag] = await database('sharing_tags').insert({ name: 'Hidden' }, ['id'])
  await database.raw('INSERT INTO series_sharing_tags (series_id, sharing_tag_id) SELECT id, ? FROM series', [tag.id])
  await database('user_sharing_grants').insert({ user_id: ada.userId, sharing_tag_id: tag.id, access_mode: 'deny' })
  const shown = await addSeries(database, { library_id: libraryId, title: 'Shown' })
  const [all, seen] = await receiveEvents(t, database, [mia, ada])
  if (!all || !seen) throw new Error('Two follow.')
  const change = (ids: readonly string[]) => database.transaction((trx) => announceSeries(trx, ids, ['title']))
  const ofLibrary = { type: 'library_updated', libraryId, fields: ['series', 'books'] }

  await change(hidden)
  await database.transaction((trx) =>
    announce(
      trx,
      // Of series that are gone, and of which nobody knows who saw them.
      hidden.map((id) => ({ event: { type: 'series_updated', seriesId: id.replace(/^.{8}/, '00000000'), libraryId } })),
    ),
  )
  // Events come in order.
  await change([shown])
  await until(() => all.length === 3 && seen.length > 0)
  t.same(all.splice(0), [ofLibrary, ofLibrary, { type: 'series_updated', seriesId: shown, libraryId, fields: ['title'] }])
  t.same(seen.splice(0), [{ type: 'series_updated', seriesId: shown, libraryId, fields: ['title'] }])

  await change([...hidden, shown])
  await until(() => all.length > 0 && seen.length > 0)
  t.same([all, seen], [[ofLibrary], [ofLibrary]])
})
