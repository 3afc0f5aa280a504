import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import t, { type Test } from 'tap'
import type { Caller } from '#core/account/caller.ts'
import { eventAudience } from '#core/account/event-audience-query.ts'
import { deleteLibraryRows } from '#core/catalog/library-content-store.ts'
import { openAnnouncer } from '#core/events/announcer.ts'
import type { NewAnnouncement } from '#core/events/event.ts'
import { announce, announceAccess } from '#core/events/event-store.ts'
import { Events } from '#core/events/follow.ts'
import type { Delivery, Followed } from '#core/events/stream.ts'
import { silentLog } from '#core/foundation/log.ts'
import { deleteName } from '#core/metadata/taxonomy-store.ts'
import { addTestKey, setTestRule } from '#test/support/access-rules.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { until } from '#test/support/library-fixture.ts'
import { addBook, addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'

t.setTimeout(120_000)

async function openFollowed(t: Test, onAccessChange = () => {}) {
  const { database } = await openTestDatabase(t, { poolMax: 5 })
  const events = new Events({ database, log: silentLog, audience: eventAudience(database), onAccessChange })
  t.teardown(() => events.close())
  return { database, events }
}

/** Accepts all deliveries; with `atOnce` only that many until it is resumed. */
async function take(
  events: Events,
  database: Knex,
  { after = null, follower, atOnce = Infinity }: { after?: string | null; follower?: Caller; atOnce?: number } = {},
) {
  const taken: Followed[] = []
  const deliveries: Delivery[] = []
  const state = { isOver: false, room: atOnce }
  const stream = events.follow(follower ?? (await addCaller(database)), { after })
  stream.start({
    take(delivery) {
      deliveries.push(delivery)
      taken.push(...delivery)
      state.room -= 1
      return state.room > 0
    },
    end() {
      state.isOver = true
    },
  })
  await until(() => taken.length > 0)
  const typesOf = () => taken.flatMap(({ event }) => (event ? [event.type] : []))
  const resume = () => {
    state.room = atOnce
    stream.resume()
  }
  return { taken, deliveries, typesOf, isOver: () => state.isOver, resume, leave: () => stream.end() }
}

const tell = (database: Knex, news: readonly NewAnnouncement[]) => database.transaction((trx) => announce(trx, news))

t.test('committed events are sent, rolled-back ones are not', async (t) => {
  const { database, events } = await openFollowed(t)
  const follower = await take(events, database)
  const [kept, lost] = [randomUUID(), randomUUID()]
  await t.rejects(
    database.transaction(async (trx) => {
      await announce(trx, [{ event: { type: 'library_deleted', libraryId: lost } }])
      throw new Error('no')
    }),
  )
  await database.transaction(async (trx) => {
    await announce(trx, [{ event: { type: 'library_updated', libraryId: kept } }])
    t.same(follower.typesOf(), [], 'not before the commit')
  })
  await until(() => follower.typesOf().length > 0)
  t.match(follower.taken.at(-1), { event: { type: 'library_updated', libraryId: kept } })
  t.equal(JSON.stringify(follower.taken).includes(lost), false)
  follower.leave()
})

t.test('texts of control characters fit into a notification', async (t) => {
  const { database, events } = await openFollowed(t)
  const follower = await take(events, database)
  const errors = Array.from({ length: 20 }, () => '\u0001'.repeat(1_000))
  const scan = { libraryId: randomUUID(), taskId: randomUUID(), mode: 'normal', status: 'processing', errors } as const
  await tell(database, [{ event: { type: 'scan_updated', ...scan } as unknown as NewAnnouncement['event'] }])
  await tell(database, [{ event: { type: 'library_updated', libraryId: randomUUID() } }])
  await until(() => follower.typesOf().includes('library_updated'))
  follower.leave()
})

t.test('when a node loses its connection, its streams end and earlier events are not kept', async (t) => {
  let changes = 0
  const { database, events } = await openFollowed(t, () => {
    changes += 1
  })
  const follower = await take(events, database)
  await tell(database, [{ event: { type: 'library_updated', libraryId: randomUUID() } }])
  await until(() => follower.typesOf().length > 0)
  const seen = follower.taken.at(-1)?.id as string
  await database.raw(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN carrel_event'`,
  )
  await until(() => follower.isOver())
  t.same(follower.typesOf(), ['library_updated', 'reload'], 'it must reload and authenticate again')
  t.equal(changes, 1, 'permissions are loaded again too')
  const late = await take(events, database, { after: seen })
  t.same([late.typesOf(), late.isOver()], [['reload'], false], 'a client that resumes from an earlier event reloads, and stays')
  const resumed = await take(events, database, { after: follower.taken.at(-1)?.id as string })
  await tell(database, [{ event: { type: 'library_updated', libraryId: randomUUID() } }])
  for (const one of [late, resumed]) await until(() => one.typesOf().at(-1) === 'library_updated')
  t.same(resumed.typesOf(), ['library_updated'], 'no later event is missed')
  for (const one of [late, resumed]) one.leave()
})

t.test('a stream that accepts nothing has no buffer, and later receives the folded events', async (t) => {
  const { database, events } = await openFollowed(t)
  const libraryId = await addLibrary(database)
  const slow = await take(events, database, { atOnce: 1 })
  const other = await take(events, database)
  await tell(database, [{ event: { type: 'library_updated', libraryId } }])
  slow.resume()
  await until(() => slow.typesOf().length === 1)
  for (let commit = 0; commit < 30; commit += 1) {
    const seriesId = randomUUID()
    const books = Array.from({ length: 20 }, () => ({
      event: { type: 'book_created', bookId: randomUUID(), seriesId, libraryId } as const,
    }))
    await tell(database, books)
  }
  await tell(database, [{ event: { type: 'library_updated', libraryId } }])
  await until(() => other.typesOf().filter((type) => type === 'library_updated').length === 2)
  // Folded events end with the position after them.
  await sleep(200)
  t.equal(slow.typesOf().length, 1)
  const last = other.taken.at(-1)?.id
  slow.resume()
  await until(() => slow.taken.at(-1)?.id === last)
  t.ok(slow.taken.length <= 36, `six hundred books take ${slow.taken.length} events`)
  t.ok(slow.typesOf().every((type) => type === 'series_updated' || type === 'library_updated'))
  const again = await take(events, database, { after: slow.taken[1]?.id as string })
  await until(() => again.taken.at(-1)?.id === last)
  for (const one of [slow, other, again]) one.leave()
})

t.test('a stream that has fallen behind the window ends', async (t) => {
  const { database, events } = await openFollowed(t)
  const slow = await take(events, database, { atOnce: 1 })
  const other = await take(events, database)
  // More than the window keeps, in full notifications, and in halves that it keeps: the other stream must not fall behind.
  for (const told of [6_000, 12_000]) {
    for (let commit = 0; commit < 60; commit += 1)
      await tell(
        database,
        Array.from({ length: 100 }, () => ({ event: { type: 'library_deleted', libraryId: randomUUID() } as const })),
      )
    await until(() => other.typesOf().length === told)
  }
  slow.resume()
  await until(() => slow.isOver())
  t.same(slow.typesOf(), ['reload'])
  t.equal(other.isOver(), false, 'a stream that accepted all stays')
  other.leave()
})

t.test('when the permissions of a user change, only that user’s streams end, immediately', async (t) => {
  const changed: string[] = []
  const { database, events } = await openFollowed(t, () => changed.push('changed'))
  const follower = await addCaller(database)
  const [own, slow, other] = [
    await take(events, database, { follower }),
    await take(events, database, { follower, atOnce: 1 }),
    await take(events, database),
  ]
  await database.transaction((trx) => announceAccess(trx, [follower.userId]))
  await until(() => own.isOver() && slow.isOver())
  t.same([own.typesOf(), slow.typesOf(), other.typesOf(), other.isOver()], [['reload'], ['reload'], [], false])
  t.same(changed, ['changed'], 'the user is removed from the cache')
  const back = await take(events, database, { follower, after: own.taken.at(-1)?.id as string })
  await tell(database, [{ event: { type: 'library_updated', libraryId: randomUUID() } }])
  await until(() => back.typesOf().length > 0)
  t.same([back.typesOf(), back.isOver()], [['library_updated'], false], 'a reconnecting client receives the next events')
  for (const one of [back, other]) one.leave()
})

t.test('streams that open before the node listens receive all events after their first one', async (t) => {
  const { database, events } = await openFollowed(t)
  const libraryIds = Array.from({ length: 40 }, () => randomUUID())
  // Made before, so that each stream opens at once.
  const followers = await Promise.all(Array.from({ length: 20 }, () => addCaller(database)))
  const readers: Promise<Awaited<ReturnType<typeof take>>>[] = []
  for (const [index, libraryId] of libraryIds.entries()) {
    const follower = followers[index]
    if (follower !== undefined) readers.push(take(events, database, { follower }))
    // The node may begin to listen only now: the last event comes after that.
    if (libraryId === libraryIds.at(-1)) await Promise.all(readers)
    await tell(database, [{ event: { type: 'library_updated', libraryId } }])
  }
  for (const reader of await Promise.all(readers)) {
    const told = () => reader.taken.flatMap(({ event }) => (event?.type === 'library_updated' ? [event.libraryId] : []))
    await until(() => told().at(-1) === libraryIds.at(-1))
    t.same(told(), libraryIds.slice(-told().length), 'without a gap')
    reader.leave()
  }
  const early = await take(events, database, { after: 'of-another-server' })
  t.same(early.typesOf(), ['reload'])
  early.leave()
})

t.test('hidden events neither delay nor fold visible ones, and users with the same grants share one check and one text', async (t) => {
  const { database, events } = await openFollowed(t)
  const libraryId = await addLibrary(database)
  const [open, hidden] = [
    await addSeries(database, { library_id: libraryId, title: 'Open' }),
    await addSeries(database, { library_id: libraryId, title: 'Hidden' }),
  ]
  const [tag] = await database('sharing_tags').insert({ name: 'kept away' }, 'id')
  await database('series_sharing_tags').insert({ series_id: hidden, sharing_tag_id: tag.id })
  const bound = [await addCaller(database), await addCaller(database)]
  for (const { userId } of bound)
    await database('user_sharing_grants').insert({ user_id: userId, sharing_tag_id: tag.id, access_mode: 'deny' })
  const free = await take(events, database)
  const restricted = [await take(events, database, { follower: bound[0]! }), await take(events, database, { follower: bound[1]! })]
  const shownBook = randomUUID()
  const bookOf = (seriesId: string, bookId = randomUUID()) => ({ event: { type: 'book_created', bookId, seriesId, libraryId } as const })
  // Many notifications of one commit: all are there when the first is delivered.
  await database.transaction(async (trx) => {
    for (let part = 0; part < 5; part += 1)
      await announce(
        trx,
        Array.from({ length: 90 }, () => bookOf(hidden)),
      )
    await announce(trx, [bookOf(open, shownBook)])
  })
  await until(() => restricted.every(({ typesOf }) => typesOf().length > 0) && free.typesOf().includes('series_updated'))
  for (const { taken, typesOf } of restricted) {
    t.same(typesOf(), ['book_created'], 'not folded, although four hundred hidden ones came with it')
    t.match(taken.at(-1), { event: { bookId: shownBook } })
    t.equal(JSON.stringify(taken).includes(hidden), false)
  }
  t.equal(restricted[0]?.deliveries.at(-1), restricted[1]?.deliveries.at(-1), 'the same array for the same grants')
  for (const one of [free, ...restricted]) one.leave()
})

t.test('streams are counted per user and in total until they end', async (t) => {
  const { database, events } = await openFollowed(t)
  const follower = await addCaller(database)
  const own = Array.from({ length: 100 }, () => events.follow(follower, { after: null }))
  t.throws(() => events.follow(follower, { after: null }), { code: 'rate_limit_exceeded', message: /100 event streams/ })
  own[0]?.end()
  own[0]?.end()
  own[0] = events.follow(follower, { after: null })
  t.throws(() => events.follow(follower, { after: null }), { code: 'rate_limit_exceeded' }, 'a stream that ends twice frees one place')
  for (const stream of own) stream.end()
  // Permissions of followers are loaded only when there is an event.
  const many = Array.from({ length: 10_000 }, (_, index) => events.follow({ ...follower, userId: `user ${index % 200}` }, { after: null }))
  t.throws(() => events.follow(follower, { after: null }), { code: 'unavailable', message: /limit of event streams/ })
  for (const stream of many) stream.end()
  events.follow(follower, { after: null }).end()
})

t.test('a closed node has no streams', async (t) => {
  const { database, events } = await openFollowed(t)
  const follower = await take(events, database)
  await events.close()
  t.equal(follower.isOver(), true)
  t.throws(() => events.follow({ userId: 'x', narrowedBy: null, permissions: new Set() }, { after: null }), { code: 'unavailable' })
})

t.test('frequent events are announced together, after the last of them', async (t) => {
  const { database, events } = await openFollowed(t)
  const follower = await take(events, database)
  const announcer = openAnnouncer({ database, log: silentLog })
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'One' })
  const bookId = await addBook(database, { library_id, series_id, title: 'One' })
  const news: NewAnnouncement = {
    event: { type: 'book_updated', bookId, seriesId: series_id, libraryId: library_id, fields: ['pageCount'] },
  }
  announcer.soon([news])
  announcer.soon([news])
  await announcer.close()
  await until(() => follower.typesOf().length === 2)
  t.same(follower.typesOf(), ['book_updated', 'book_updated'])
  follower.leave()
})

t.test('waiting events are announced in their order, even while earlier ones are being announced', async (t) => {
  const { database, events } = await openFollowed(t)
  const follower = await take(events, database)
  // The first announcement waits until later ones have long been due.
  let held = true
  const slow = {
    transaction: async (work: (trx: Knex.Transaction) => Promise<unknown>) => {
      const isFirst = held
      held = false
      // Longer than the others take together.
      if (isFirst) await sleep(600)
      return await database.transaction(work)
    },
  } as unknown as Knex
  const announcer = openAnnouncer({ database: slow, log: silentLog })
  const libraryIds = Array.from({ length: 3 }, () => randomUUID())
  for (const libraryId of libraryIds) {
    announcer.soon([{ event: { type: 'library_updated', libraryId } }])
    // Each in a batch of its own.
    await sleep(250)
  }
  await announcer.close()
  await until(() => follower.typesOf().length === 3)
  t.same(
    follower.taken.flatMap(({ event }) => (event?.type === 'library_updated' ? [event.libraryId] : [])),
    libraryIds,
  )
  follower.leave()
})

t.test('series and books that lose a genre or tag which is removed everywhere are announced', async (t) => {
  const { database, events } = await openFollowed(t)
  const library_id = await addLibrary(database)
  const seriesId = await addSeries(database, { library_id, title: 'One' })
  const bookId = await addBook(database, { library_id, series_id: seriesId, title: 'One' })
  const follower = await take(events, database)
  const [genre] = await database('genres').insert({ name: 'Drama', name_key: 'drama' }, 'id')
  const [tag] = await database('tags').insert({ name: 'Old', name_key: 'old' }, 'id')
  await database('series_genres').insert({ series_id: seriesId, genre_id: genre.id, given_by: 'user' })
  await database('book_tags').insert({ book_id: bookId, tag_id: tag.id, given_by: 'user' })
  t.equal(await deleteName(database, 'genre', genre.id), true)
  t.equal(await deleteName(database, 'tag', tag.id), true)
  t.equal(await deleteName(database, 'tag', tag.id), false)
  await until(() => follower.typesOf().length === 2)
  t.match(follower.taken.map(({ event }) => event).filter(Boolean), [
    { type: 'series_updated', seriesId, fields: ['genres'] },
    { type: 'book_updated', bookId, fields: ['tags'] },
  ])
  follower.leave()
})

t.test('a library is deleted: whoever sees all libraries is told, and whose list contains it reloads', async (t) => {
  const { database, events } = await openFollowed(t)
  const [gone, stays] = [await addLibrary(database), await addLibrary(database)]
  const [free, listed, other, user] = [
    await addCaller(database),
    await addCaller(database),
    await addCaller(database),
    await addCaller(database),
  ]
  const key = { ...user, narrowedBy: await addTestKey(database, user.userId) }
  await setTestRule(database, { user_id: listed.userId }, { libraries: [gone] })
  await setTestRule(database, { user_id: other.userId }, { libraries: [stays] })
  await setTestRule(database, { api_key_id: key.narrowedBy }, { libraries: [gone, stays] })
  const streams = await Promise.all([free, listed, other, key].map((follower) => take(events, database, { follower })))
  t.equal(await deleteLibraryRows(database, gone), true)
  await tell(database, [{ event: { type: 'library_updated', libraryId: stays } }])
  await until(() => streams[2]?.typesOf().length === 1 && streams[0]?.typesOf().length === 2)
  t.same(
    streams.map(({ typesOf, isOver }) => [typesOf(), isOver()]),
    [
      [['library_deleted', 'library_updated'], false],
      [['reload'], true],
      [['library_updated'], false],
      [['reload'], true],
    ],
  )
  for (const stream of streams) stream.leave()
})

t.test('a key and its user share no delivery of what the key may not see', async (t) => {
  const { database, events } = await openFollowed(t)
  const [kids, adults] = [await addLibrary(database), await addLibrary(database)]
  const user = await addCaller(database)
  const key = { ...user, narrowedBy: await addTestKey(database, user.userId) }
  await setTestRule(database, { api_key_id: key.narrowedBy }, { libraries: [kids] })
  const [all, some] = [await take(events, database, { follower: user }), await take(events, database, { follower: key })]
  const newIn = async (libraryId: string) => ({
    event: { type: 'series_created', seriesId: await addSeries(database, { library_id: libraryId, title: 'New' }), libraryId } as const,
  })
  await tell(database, [await newIn(adults), await newIn(kids)])
  await until(() => all.typesOf().length === 2 && some.typesOf().length === 1)
  t.match(some.taken.at(-1), { event: { libraryId: kids } })
  t.notOk(JSON.stringify(some.taken).includes(adults))
  for (const one of [all, some]) one.leave()
})
