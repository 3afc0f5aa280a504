import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import t, { type Test } from 'tap'
import { openEventAudience } from '#core/account/event-audience-query.ts'
import { openAnnouncer } from '#core/events/announcer.ts'
import type { NewAnnouncement } from '#core/events/event.ts'
import { announce } from '#core/events/event-store.ts'
import { type Events, type Followed, openEvents } from '#core/events/follow.ts'
import { silentLog } from '#core/log.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { until } from '#test/support/house.ts'
import { addBook, addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'

t.setTimeout(120_000)

async function openFollowed(t: Test) {
  const { database } = await openTestDatabase(t, { poolMax: 5 })
  const events = openEvents({ database, log: silentLog, audience: openEventAudience(database) })
  t.teardown(() => events.close())
  return { database, events }
}

/** Takes events until told otherwise. */
async function take(events: Events, database: Knex, { after = null }: { after?: string | null } = {}) {
  const leave = new AbortController()
  const taken: Followed[] = []
  const followed = events.follow(await addCaller(database), { after, signal: leave.signal })
  const reading = (async () => {
    for await (const one of followed) taken.push(one)
  })()
  await until(() => taken.length > 0)
  const typesOf = () => taken.flatMap(({ event }) => (event ? [event.type] : []))
  return { taken, typesOf, leave: () => leave.abort(), reading }
}

t.test('a commit is told, and nothing that was rolled back', async (t) => {
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
  await follower.reading
})

t.test('texts of control characters fit into a notification', async (t) => {
  const { database, events } = await openFollowed(t)
  const follower = await take(events, database)
  const errors = Array.from({ length: 20 }, () => '\u0001'.repeat(1_000))
  const scan = { libraryId: randomUUID(), taskId: randomUUID(), mode: 'normal', status: 'running', errors } as const
  await announce(database, [{ event: { type: 'scan_updated', ...scan } as unknown as NewAnnouncement['event'] }])
  await announce(database, [{ event: { type: 'library_updated', libraryId: randomUUID() } }])
  await until(() => follower.typesOf().includes('library_updated'))
  follower.leave()
  await follower.reading
})

t.test('a node that could not hear says so to all, and forgets', async (t) => {
  const { database, events } = await openFollowed(t)
  const follower = await take(events, database)
  await announce(database, [{ event: { type: 'library_updated', libraryId: randomUUID() } }])
  await until(() => follower.typesOf().length > 0)
  const seen = follower.taken.at(-1)?.id as string
  await database.raw(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN carrel_event'`)
  await until(() => follower.typesOf().includes('reload'))
  const late = await take(events, database, { after: seen })
  t.same(late.typesOf(), ['reload'], 'also to who comes back with what it saw before')
  const resumed = await take(events, database, { after: late.taken[0]?.id as string })
  await announce(database, [{ event: { type: 'library_updated', libraryId: randomUUID() } }])
  for (const one of [follower, late, resumed]) await until(() => one.typesOf().at(-1) === 'library_updated')
  t.same(resumed.typesOf(), ['library_updated'], 'and from there on nothing is missed')
  for (const one of [follower, late, resumed]) {
    one.leave()
    await one.reading
  }
})

t.test('who takes nothing is kept nothing for, and is told later what it comes to', async (t) => {
  const { database, events } = await openFollowed(t)
  const libraryId = await addLibrary(database)
  const leave = new AbortController()
  const slow = events.follow(await addCaller(database), { after: null, signal: leave.signal })[Symbol.asyncIterator]()
  t.match(await slow.next(), { value: { event: null } })
  const first = slow.next()
  await announce(database, [{ event: { type: 'library_updated', libraryId } }])
  t.match(await first, { value: { event: { type: 'library_updated' } } })
  const other = await take(events, database)
  for (let commit = 0; commit < 30; commit += 1) {
    const seriesId = randomUUID()
    const books = Array.from({ length: 20 }, () => ({
      event: { type: 'book_created', bookId: randomUUID(), seriesId, libraryId } as const,
    }))
    await announce(database, books)
  }
  await announce(database, [{ event: { type: 'library_updated', libraryId } }])
  await until(() => other.typesOf().includes('library_updated'))
  // What was folded ends with the place behind it.
  await sleep(200)
  const told: Followed[] = []
  const last = other.taken.at(-1)?.id
  while (told.at(-1)?.id !== last) told.push((await slow.next()).value as Followed)
  t.ok(told.length <= 34, `six hundred books are told by ${told.length} events`)
  t.ok(told.every(({ event }) => event === null || event.type === 'series_updated' || event.type === 'library_updated'))
  const again = await take(events, database, { after: told[0]?.id as string })
  await until(() => again.taken.at(-1)?.id === last)
  leave.abort()
  other.leave()
  again.leave()
  t.same(await slow.next(), { done: true, value: undefined })
})

t.test('what happens often is announced together, and after the last of it', async (t) => {
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
  await follower.reading
})
