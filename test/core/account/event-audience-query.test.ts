import t from 'tap'
import { eventAudience } from '#core/account/event-audience-query.ts'
import { PERMISSIONS } from '#core/account/permission.ts'
import type { Announcement, CarrelEvent, SeriesFacts } from '#core/events/event.ts'
import { readSeriesFacts } from '#core/events/event-store.ts'
import { addTestKey, rateSeries, setTestRule } from '#test/support/access-rules.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { ACCESS_CHANGES, CATALOG_CHANGES, openRandomWorld, readFacts, seenBy } from '#test/support/random-access.ts'

const timestamp = '2026-01-31T12:00:00.000Z'
/** What events name. */
const idsIn = (events: readonly CarrelEvent[]) => events.map((event) => Object.entries(event).filter(([member]) => member.endsWith('Id')))

let announced = 0
const announcementOf = (event: object, reach: Partial<Announcement> = {}): Announcement => ({
  id: `${++announced}`,
  event: { ...event, timestamp } as CarrelEvent,
  ...reach,
})

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
  const { show } = await eventAudience(database).decide([announcement], callers)
  t.same(
    callers.map((caller) => show(caller, announcement) !== null),
    [true, false, false],
  )
})

t.test('events reach those who see their library and their series, whatever hides them, also after a deletion', async (t) => {
  const { database } = await openTestDatabase(t)
  const viewers = await openRandomWorld(database)
  const followers = viewers.map((viewer) => ({ ...viewer, permissions: new Set(PERMISSIONS) }))
  let hidden = 0
  let last = 4_711
  const number = () => {
    last = (last * 48_271) % 2_147_483_647
    return last % 100
  }
  for (let round = 0; round < 40; round++) {
    const changes = { ...ACCESS_CHANGES, ...CATALOG_CHANGES }
    for (const name of ['ruleUser', 'ruleKey', 'grant', 'tag', 'rate', 'moveSeries'])
      await changes[name]?.(database, [number(), number(), number()])
    const rows: { id: string; library_id: string }[] = await database('series').select('id', 'library_id')
    const libraryIds: string[] = await database('libraries').pluck('id')
    const facts = await readSeriesFacts(
      database,
      rows.map(({ id }) => id),
    )
    const bookId = '00000000-0000-4000-8000-000000000001'
    const gone = (at: number) => `00000000-0000-4000-8000-0000000001${String(at).padStart(2, '0')}`
    const ofSeries = rows.flatMap(({ id: seriesId, library_id: libraryId }, at) => {
      const known = facts.get(seriesId) as SeriesFacts
      return [
        announcementOf({ type: 'book_updated', bookId, seriesId, libraryId }),
        announcementOf({ type: 'series_deleted', seriesId: gone(at), libraryId }, { gone: known }),
        announcementOf({ type: 'collection_updated', collectionId: seriesId }, { members: [known] }),
        announcementOf(
          { type: 'task_updated', taskId: bookId, libraryId, bookId, taskType: 'analyze_book', status: 'failed' },
          { seriesId },
        ),
      ].map((one) => ({ one, seriesId, libraryId }))
    })
    const ofLibraries = libraryIds.flatMap((libraryId) =>
      [
        announcementOf({ type: 'library_updated', libraryId }),
        announcementOf({ type: 'cover_updated', entityType: 'library', entityId: libraryId }),
        announcementOf({ type: 'task_updated', taskId: bookId, libraryId, taskType: 'scan_library', status: 'failed' }),
      ].map((one) => ({ one, libraryId })),
    )
    const all = [...ofSeries, ...ofLibraries].map(({ one }) => one)
    const { show, groupOf } = await eventAudience(database).decide(all, followers)
    const rules = await readFacts(database)
    for (const follower of followers) {
      const seen = seenBy(rules, follower)
      const meant = [
        ...ofSeries.filter(({ seriesId }) => seen.series.includes(seriesId)),
        ...ofLibraries.filter(({ libraryId }) => seen.libraries.includes(libraryId)),
      ].map(({ one }) => one.event)
      const sent = all.flatMap((one) => show(follower, one) ?? [])
      t.same(
        sent.map(({ type }) => type),
        meant.map(({ type }) => type),
        `round ${round}`,
      )
      t.same(idsIn(sent), idsIn(meant))
      hidden += rows.length - seen.series.length
    }
    const sights = followers.map((follower) => [groupOf(follower), JSON.stringify(seenBy(rules, follower))])
    for (const mine of Map.groupBy(sights, ([group]) => group).values())
      t.equal(new Set(mine.map(([, sight]) => sight)).size, 1, 'one group sees the same')
  }
  t.ok(hidden > 100, `${hidden} series were hidden`)
})

t.test('an event names no library that its receiver may not see, although they see its series', async (t) => {
  const { database } = await openTestDatabase(t)
  const [before, now] = [await addLibrary(database), await addLibrary(database)]
  const seriesId = await addSeries(database, { library_id: now, title: 'Moved' })
  const caller = await addCaller(database)
  await setTestRule(database, { user_id: caller.userId }, { libraries: [now] })
  const [old, fresh] = [before, now].map((libraryId) => announcementOf({ type: 'series_updated', seriesId, libraryId })) as [
    Announcement,
    Announcement,
  ]
  const { show } = await eventAudience(database).decide([old, fresh], [caller])
  t.same([show(caller, old), show(caller, fresh)?.type], [null, 'series_updated'])
})

t.test('files that are read are for who may change libraries and sees every series', async (t) => {
  const { database } = await openTestDatabase(t)
  const libraryId = await addLibrary(database)
  const seriesId = await addSeries(database, { library_id: libraryId, title: 'Adult' })
  const [admin, reader] = [await addCaller(database, { role: 'admin' }), await addCaller(database)]
  const maintainers = [await addCaller(database, { role: 'maintainer' }), await addCaller(database, { role: 'maintainer' })]
  const [free, bound] = maintainers as [typeof admin, typeof admin]
  await shareSeries(database, { seriesId, caller: bound, mode: 'deny' })
  const files = announcementOf({ type: 'scan_files', readerId: seriesId, running: [], finished: [], finishedCount: 0 })
  const { show } = await eventAudience(database).decide([files], [admin, reader, free, bound])
  t.same(
    [admin, reader, free, bound].map((caller) => show(caller, files)?.type ?? null),
    ['scan_files', null, 'scan_files', null],
  )
  const withheld = announcementOf({ type: 'scan_withheld', libraryId, taskId: seriesId, books: 0, folders: [] })
  t.same(
    [admin, reader, free, bound].map((caller) => show(caller, withheld)?.type ?? null),
    ['scan_withheld', null, 'scan_withheld', null],
    'names of folders too',
  )
})

t.test('the exports of a user are for the user, and for the key that has made them', async (t) => {
  const { database } = await openTestDatabase(t)
  const user = await addCaller(database)
  const keys = [await addTestKey(database, user.userId), await addTestKey(database, user.userId)]
  const [maker, other] = keys.map((narrowedBy) => ({ ...user, narrowedBy })) as [typeof user, typeof user]
  const stranger = await addCaller(database, { role: 'admin' })
  const exportId = '00000000-0000-4000-8000-000000000001'
  const ended = (narrowedBy: string | null) =>
    announcementOf({ type: 'export_updated', exportId, status: 'completed' }, { userId: user.userId, narrowedBy })
  const [byKey, byUser] = [ended(maker.narrowedBy), ended(null)]
  const followers = [user, maker, other, stranger]
  const { show } = await eventAudience(database).decide([byKey, byUser], followers)
  t.same(
    followers.map((follower) => [byKey, byUser].map((one) => show(follower, one) !== null)),
    [
      [true, true],
      [true, false],
      [false, false],
      [false, false],
    ],
  )
})

t.test('the progress of a user in a series that a key may not see is not sent to the key', async (t) => {
  const { database } = await openTestDatabase(t)
  const libraryId = await addLibrary(database)
  const seriesId = await addSeries(database, { library_id: libraryId, title: 'Adult' })
  await rateSeries(database, seriesId, 18)
  const user = await addCaller(database)
  const key = { ...user, narrowedBy: await addTestKey(database, user.userId) }
  await setTestRule(database, { api_key_id: key.narrowedBy }, { age: { mode: 'not_from', years: 18, unrated: 'show' } })
  const read = announcementOf({ type: 'progress_updated', bookId: seriesId, seriesId, libraryId }, { userId: user.userId })
  const { show, groupOf } = await eventAudience(database).decide([read], [user, key])
  t.same([show(user, read)?.type, show(key, read)], ['progress_updated', null])
  t.not(groupOf(user), groupOf(key))
})
