import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import t, { type Test } from 'tap'
import { closeDatabase, openDatabase } from '#core/database/database.ts'
import { readTogether } from '#core/database/read-together.ts'
import { openSingleFlight } from '#core/database/single-flight.ts'
import type { StatementLimits } from '#core/database/statement-limits.ts'
import { runInScope, SHARED_OWNER } from '#core/database/statement-scope.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openTestDatabase } from '#test/support/database.ts'

/** Shorter than the defaults; the duration does not matter to the test. */
const SHORT: StatementLimits = { readMs: 800, requestMs: 1_200, cheapMs: 100, waitMs: 800, acquireMs: 5_000, placesPerOwner: 3 }
/** Longer than every limit. */
const ENDLESS = 'SELECT pg_sleep(60)'
const REFUSED = { code: 'unavailable' }

const never = new AbortController().signal

function openLimited(t: Test, url: string, more: { poolMax?: number; limits?: Partial<StatementLimits> } = {}): Knex {
  const database = openDatabase({ url, poolMax: more.poolMax ?? 8, log: silentLog, limits: { ...SHORT, ...more.limits } })
  t.teardown(() => closeDatabase(database))
  return database
}

function asUser<T>(owner: string, work: () => Promise<T>, signal: AbortSignal = never): Promise<T> {
  return runInScope({ owner, signal: () => signal }, work)
}

/** How many statements that contain this text run in the database. */
async function countRunning(watcher: Knex, text: string): Promise<number> {
  const { rows } = await watcher.raw(
    `SELECT count(*)::int AS running FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid() AND query LIKE ?`,
    [`%${text}%`],
  )
  return rows[0].running
}

async function until(isSo: () => Promise<boolean>): Promise<boolean> {
  const end = performance.now() + 60_000
  while (performance.now() < end) {
    if (await isSo()) return true
    await sleep(25)
  }
  return false
}

t.test('statements of requests are limited in time and number', async (t) => {
  const { database: watcher, url } = await openTestDatabase(t)
  await watcher.raw('CREATE TABLE counted (n int); INSERT INTO counted VALUES (0)')

  await t.test('a statement that takes too long is stopped in the database, and the message says what to narrow', async (t) => {
    const database = openLimited(t, url)
    await t.rejects(
      asUser('ada', () => database.raw(ENDLESS)),
      { ...REFUSED, message: /Narrow it/, retryAfterSeconds: Number },
    )
    t.ok(await until(async () => (await countRunning(watcher, 'pg_sleep')) === 0))
    await t.rejects(
      asUser('ada', () => database.raw('UPDATE counted SET n = 1 WHERE pg_sleep(60) IS NOT NULL')),
      REFUSED,
      'a change too',
    )
    await t.rejects(
      asUser('ada', () => database.transaction(async (trx) => await trx.raw(ENDLESS))),
      REFUSED,
      'and inside a transaction',
    )
    t.ok(await until(async () => (await countRunning(watcher, 'pg_sleep')) === 0))
    t.match(await asUser('ada', () => database.raw('SELECT 1 AS one')), { rows: [{ one: 1 }] }, 'the connections are good')
  })

  await t.test('statements outside a request have no such limit, nor do those that continue after its end', async (t) => {
    const database = openLimited(t, url)
    t.ok(await database.raw('SELECT pg_sleep(1.5)'))
    let left: Promise<unknown> | undefined
    await asUser('ada', async () => {
      left = Promise.resolve(database.raw('SELECT pg_sleep(1.5)'))
      // The statement runs when the request ends.
      await sleep(300)
    })
    t.ok(await left)
  })

  await t.test('a statement is stopped when its client disconnects; short ones are not', async (t) => {
    const database = openLimited(t, url)
    const gone = new AbortController()
    const asked = asUser('ada', () => database.raw(ENDLESS), gone.signal)
    const refused = t.rejects(asked, REFUSED)
    t.ok(await until(async () => (await countRunning(watcher, 'pg_sleep')) === 1))
    gone.abort()
    await refused
    t.ok(await until(async () => (await countRunning(watcher, 'pg_sleep')) === 0))
    await t.rejects(
      asUser('ada', () => database.raw(ENDLESS), gone.signal),
      REFUSED,
      'one that begins afterwards is stopped when it proves expensive',
    )
    t.ok(await asUser('ada', () => database.raw('SELECT 1'), gone.signal))
  })

  await t.test('a user has three places, and all users together half of the connections', async (t) => {
    const database = openLimited(t, url, { limits: { readMs: 30_000, waitMs: 30_000 } })
    const gone = new AbortController()
    const expensive = (owner: string) => asUser(owner, () => database.raw(ENDLESS), gone.signal).catch((error) => error.code)
    const asked = ['ada', 'ada', 'ada', 'ada', 'ada'].map(expensive)
    const settles = async (count: number) => {
      // Before they turn out to be expensive, more of them run.
      await sleep(400)
      return await until(async () => (await countRunning(watcher, 'pg_sleep')) === count)
    }
    t.ok(await settles(3), 'three of five')
    asked.push(...['bob', 'bob', 'bob'].map(expensive))
    t.ok(await settles(4), 'half of eight')
    t.match(await asUser('cleo', () => database.raw('SELECT 1 AS one')), { rows: [{ one: 1 }] }, 'others are answered in the meantime')
    gone.abort()
    t.same(new Set(await Promise.all(asked)), new Set(['unavailable']))
  })

  await t.test('a statement that was stopped without a place runs again from the start when there is one', async (t) => {
    const database = openLimited(t, url, { limits: { placesPerOwner: 1, readMs: 20_000, waitMs: 20_000, requestMs: 20_000 } })
    const slow = () => asUser('ada', () => database.raw('SELECT pg_sleep(0.6), 7 AS seven'))
    const answers = await Promise.all([slow(), slow(), slow(), slow()])
    t.same(
      answers.map(({ rows }) => rows[0].seven),
      [7, 7, 7, 7],
    )
    const change = () => asUser('ada', () => database.raw('UPDATE counted SET n = n + 1 WHERE pg_sleep(0.4) IS NOT NULL'))
    await Promise.all([change(), change(), change()])
    t.equal((await watcher('counted').first('n')).n, 3, 'a change that was stopped and run again happened once')
    const built = await asUser('ada', () => Promise.all([1, 2].map(() => database('counted').whereRaw('pg_sleep(0.4) IS NOT NULL'))))
    t.same(built, [[{ n: 3 }], [{ n: 3 }]])
  })

  await t.test('a statement that waits too long for a place is refused', async (t) => {
    const database = openLimited(t, url, { limits: { placesPerOwner: 1, readMs: 30_000 } })
    const gone = new AbortController()
    const first = asUser('ada', () => database.raw(ENDLESS), gone.signal).catch((error) => error.code)
    // It holds the only place by then.
    await sleep(300)
    await t.rejects(
      asUser('ada', () => database.raw(ENDLESS)),
      { ...REFUSED, message: /Too many expensive/, retryAfterSeconds: Number },
    )
    gone.abort()
    await first
  })

  await t.test('one user never holds all connections, and nobody waits long for one', async (t) => {
    const database = openLimited(t, url, { limits: { requestMs: 30_000, acquireMs: 1_000 } })
    const release = Promise.withResolvers<void>()
    const hold = (owner: string) =>
      asUser(owner, () => database.transaction(async (trx) => void (await Promise.all([trx.raw('SELECT 1'), release.promise])))).then(
        () => 'held',
        (error) => error.code,
      )
    const ada = Array.from({ length: 12 }, () => hold('ada'))
    // All that come at once have asked.
    await sleep(200)
    t.ok(await asUser('bob', () => database.raw('SELECT 1')))
    const bob = Array.from({ length: 4 }, () => hold('bob'))
    // As above.
    await sleep(200)
    await t.rejects(
      asUser('cleo', () => database.raw('SELECT 1')),
      { ...REFUSED, message: /connections/ },
      'all are taken',
    )
    release.resolve()
    const ends = await Promise.all(ada)
    t.equal(ends.filter((end) => end === 'held').length, 4, 'half of them; the others were refused')
    t.same(await Promise.all(bob), ['held', 'held', 'held', 'held'])
    t.ok(await asUser('cleo', () => database.raw('SELECT 1')))
  })

  await t.test('a canceled statement never affects the next one on its connection', async (t) => {
    const database = openLimited(t, url, { poolMax: 2, limits: { cheapMs: 5, placesPerOwner: 1 } })
    // About as long as the limit, so that the statement often ends while it is being canceled.
    const edge = () => asUser('ada', () => database.raw('SELECT pg_sleep(0.005)')).then(() => true)
    const cheap = () => database.raw('SELECT 1').then(() => true)
    const all = await Promise.all(Array.from({ length: 150 }, () => [edge().catch((error) => error.code), cheap()]).flat())
    t.same(
      [...new Set(all)].filter((one) => one !== true && one !== 'unavailable'),
      [],
    )
  })
})

t.test('one reader whose connections are in use holds nobody else up', async (t) => {
  const { database: watcher, url } = await openTestDatabase(t)
  const database = openLimited(t, url, { limits: { cheapMs: 60_000, readMs: 60_000, acquireMs: 60_000 } })
  const gone = new AbortController()
  const flood = (owner: string) =>
    Promise.allSettled(Array.from({ length: 4 }, () => asUser(owner, () => database.raw('SELECT pg_sleep(600)'), gone.signal)))
  const stop = async () => {
    await watcher.raw(`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep(600)%'
      AND pid <> pg_backend_pid()`)
  }
  const ada = flood('ada')
  t.ok(await until(async () => (await countRunning(watcher, 'pg_sleep(600)')) === 4))
  const row = async (ids: string[]) => (await database.raw('SELECT unnest(CAST(? AS text[])) AS id', [ids])).rows as { id: string }[]

  await t.test('a batch that she begins', async (t) => {
    const own = asUser('ada', () => readTogether(database, 'rows', 'a', row))
    const others = ['bob', 'cleo'].map((user) => asUser(user, () => readTogether(database, 'rows', user, row)))
    t.same(await Promise.all([own, ...others]), [{ id: 'a' }, { id: 'bob' }, { id: 'cleo' }])
  })

  await t.test('work that she begins, and that others would wait for', async (t) => {
    const flights = openSingleFlight({ mayRepeat: true })
    const runs: string[] = []
    const count = (user: string) =>
      asUser(user, () =>
        flights.join('count', undefined, async () => {
          runs.push(user)
          return (await database.raw('SELECT 1 AS one')).rows[0].one as number
        }),
      )
    let isDone = false
    const own = count('ada').finally(() => {
      isDone = true
    })
    // Before and after her work has begun to wait.
    const early = count('bob')
    t.equal(await early, 1)
    t.equal(await count('cleo'), 1)
    t.notOk(isDone)
    t.same(runs, ['ada', 'bob', 'cleo'])
    await stop()
    t.equal(await own, 1)
  })
  t.equal((await ada).length, 4)
})

t.test('when the share of all is in use, each reads in their own, once', async (t) => {
  const { database: watcher, url } = await openTestDatabase(t)
  const database = openLimited(t, url, { limits: { cheapMs: 60_000, readMs: 60_000, acquireMs: 500 } })
  const busy = Array.from({ length: 4 }, () => asUser(SHARED_OWNER, () => database.raw('SELECT pg_sleep(600)')).catch(() => {}))
  t.ok(await until(async () => (await countRunning(watcher, 'pg_sleep(600)')) === 4))
  const statements: string[][] = []
  const row = async (ids: string[]) => {
    statements.push(ids)
    return (await database.raw('SELECT unnest(CAST(? AS text[])) AS id', [ids])).rows as { id: string }[]
  }
  const users = ['ada', 'bob', 'cleo']
  const read = await Promise.all(users.map((user) => asUser(user, () => readTogether(database, 'rows', user, row))))
  t.same(
    read,
    users.map((id) => ({ id })),
  )
  t.same(statements.filter(({ length }) => length === 1).length, 3)
  // Who comes while a batch waits does not wait behind it.
  const first = asUser('ada', () => readTogether(database, 'rows', 'first', row))
  t.ok(await until(async () => statements.some(([id]) => id === 'first')))
  const second = asUser('bob', () => readTogether(database, 'rows', 'second', row))
  t.ok(await until(async () => statements.some(([id]) => id === 'second')))
  t.same(await Promise.all([first, second]), [{ id: 'first' }, { id: 'second' }])
  await watcher.raw(
    `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()`,
  )
  await Promise.all(busy)
})
