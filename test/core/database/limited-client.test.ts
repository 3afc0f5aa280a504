import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import t, { type Test } from 'tap'
import { openDatabase } from '#core/database/database.ts'
import { readTogether } from '#core/database/read-together.ts'
import { SingleFlight } from '#core/database/single-flight.ts'
import type { StatementLimits } from '#core/database/statement-limits.ts'
import { becomeList, besideRequests, runInScope, SHARED_OWNER, waitAnew } from '#core/database/statement-scope.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openTestDatabase } from '#test/support/database.ts'

// Most of these statements last as long as their limits.
t.setTimeout(240_000)

/** Shorter than the defaults; the duration does not matter to the test. */
const SHORT: StatementLimits = { readMs: 800, requestMs: 1_200, cheapMs: 100, waitMs: 800, acquireMs: 5_000, listsPerOwner: 4 }
/** Longer than every limit. */
const ENDLESS = 'SELECT pg_sleep(60)'
const REFUSED = { code: 'unavailable' }

const never = new AbortController().signal

function openLimited(t: Test, url: string, more: { poolMax?: number; limits?: Partial<StatementLimits> } = {}): Knex {
  const database = openDatabase({ url, poolMax: more.poolMax ?? 8, log: silentLog, limits: { ...SHORT, ...more.limits } })
  t.teardown(() => database.destroy())
  return database
}

function asUser<T>(owner: string, work: () => Promise<T>, signal: AbortSignal = never): Promise<T> {
  return runInScope({ owner, signal: () => signal }, work)
}

/** A list or search of a user. */
const asList = <T>(owner: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> =>
  asUser(
    owner,
    async () => {
      becomeList()
      return await work()
    },
    signal,
  )

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

  await t.test('statements outside a request have no such limit, nor do those that begin after its end', async (t) => {
    const database = openLimited(t, url, { poolMax: 2 })
    const longer = () => database.raw('SELECT pg_sleep(1.5)')
    t.ok(await longer())
    let later: Promise<unknown> | undefined
    await asUser('ada', async () => {
      await database.raw('SELECT 1')
      later = sleep(50).then(longer)
    })
    t.ok(await later)
    const beside = Promise.withResolvers<unknown>()
    const runBeside = besideRequests(async () => beside.resolve(await longer()))
    await asUser('ada', async () => runBeside(database))
    t.ok(await beside.promise, 'nor does what runs beside it')
    await asUser('ada', () => database.raw('SELECT 1'))
    const raw = await database.client.acquireConnection()
    t.ok(await raw.query('SELECT pg_sleep(1.5)'), 'nor does a connection that others use without this client')
    await database.client.releaseConnection(raw)
  })

  await t.test('a transaction that is rolled back leaves no other limit behind', async (t) => {
    const database = openLimited(t, url, { poolMax: 2 })
    const fails = (sql: string) => () => database.transaction(async (trx) => await trx.raw(sql))
    await t.rejects(asUser('ada', fails('SELECT no_such_column')))
    await t.rejects(
      asUser('ada', () => database.raw(ENDLESS)),
      REFUSED,
    )
    await t.rejects(asUser('ada', fails(ENDLESS)), REFUSED)
    t.ok(await database.raw('SELECT pg_sleep(1.5)'))
  })

  await t.test('a statement is stopped when its client disconnects; short ones are not', async (t) => {
    // Far longer than until it is seen: only the disconnection stops it.
    const database = openLimited(t, url, { limits: { readMs: 30_000 } })
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

  await t.test('lists of a user run four at a time, and those of all users on half of the connections', async (t) => {
    const database = openLimited(t, url, { poolMax: 12, limits: { readMs: 30_000, waitMs: 30_000 } })
    const gone = new AbortController()
    const list = (owner: string) => asList(owner, () => database.raw(ENDLESS), gone.signal).catch((error) => error.code)
    const run = async (count: number) => {
      t.ok(await until(async () => (await countRunning(watcher, 'pg_sleep')) === count))
      // A fifth would have begun by then.
      await sleep(400)
      t.equal(await countRunning(watcher, 'pg_sleep'), count)
    }
    const asked = ['ada', 'ada', 'ada', 'ada', 'ada', 'ada'].map(list)
    await run(4)
    asked.push(...['bob', 'bob', 'bob'].map(list))
    await run(6)
    const cheap = (owner: string) => asUser(owner, () => database.raw('SELECT 1 AS one'))
    t.match(await Promise.all(['ada', 'bob', 'cleo'].map(cheap)), [{ rows: [{ one: 1 }] }, {}, {}], 'everything else has the other half')
    gone.abort()
    t.same(new Set(await Promise.all(asked)), new Set(['unavailable']), 'those that wait end with their clients too')
  })

  await t.test('a list that waits runs once, when there is a permit', async (t) => {
    const database = openLimited(t, url, { limits: { listsPerOwner: 1, readMs: 20_000, waitMs: 20_000 } })
    let began = 0
    database.on('query', () => began++)
    const slow = () => asList('ada', () => database.raw('SELECT pg_sleep(0.6), 7 AS seven'))
    const answers = await Promise.all([slow(), slow(), slow(), slow()])
    t.same(
      answers.map(({ rows }) => rows[0].seven),
      [7, 7, 7, 7],
    )
    t.equal(began, 4)
  })

  await t.test('a list that waits too long for a permit is refused', async (t) => {
    const database = openLimited(t, url, { limits: { listsPerOwner: 1, readMs: 30_000 } })
    const gone = new AbortController()
    const first = asList('ada', () => database.raw(ENDLESS), gone.signal).catch((error) => error.code)
    // It holds the only permit by then.
    await sleep(300)
    await t.rejects(
      asList('ada', () => database.raw(ENDLESS)),
      { ...REFUSED, message: /Too many lists/, retryAfterSeconds: Number },
    )
    t.ok(await asList('bob', () => database.raw('SELECT 1')), 'of another user it is not')
    gone.abort()
    await first
  })

  await t.test('waits of statements at the same time count once, and a long answer waits anew for each of its parts', async (t) => {
    // Each statement of a part but the first waits for those of its own request.
    const openWaiting = (waitMs: number) => openLimited(t, url, { limits: { listsPerOwner: 1, readMs: 30_000, waitMs } })
    const readPart = (database: Knex, statements: number) =>
      Promise.all(Array.from({ length: statements }, () => database.raw('SELECT pg_sleep(0.02)')))
    const patient = openWaiting(7_000)
    await asList('ada', async () => {
      await readPart(patient, 30)
      await readPart(patient, 2)
    })
    t.pass('30 that wait 0.6 s, or several times as long on a busy machine, have not waited 9 s')
    // Less than all parts wait together, and more than one does on a machine that pauses for two seconds.
    const database = openWaiting(4_000)
    await asList('ada', async () => {
      for (let part = 0; part < 45; part++) {
        waitAnew()
        await readPart(database, 6)
      }
    })
    t.pass('45 parts that wait 0.1 s each')
  })

  await t.test('one user never holds all connections, and nobody waits long for one', async (t) => {
    const database = openLimited(t, url, { limits: { requestMs: 30_000, acquireMs: 3_000 } })
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
    const database = openLimited(t, url, { poolMax: 2, limits: { cheapMs: 5 } })
    // The client leaves at about the time at which the statement ends.
    const edge = async () => {
      const gone = new AbortController()
      setTimeout(() => gone.abort(), 8)
      return await asUser('ada', () => database.raw('SELECT pg_sleep(0.008)'), gone.signal).then(() => true)
    }
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
    const flights = new SingleFlight({ mayRepeat: true })
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

t.test('a total that a reader counts behind their own lists is counted by the next one who needs it', async (t) => {
  const { database: watcher, url } = await openTestDatabase(t)
  const database = openLimited(t, url, { poolMax: 16, limits: { cheapMs: 60_000, readMs: 60_000, waitMs: 60_000 } })
  const gone = new AbortController()
  const flood = Array.from({ length: 30 }, () => asList('ada', () => database.raw('SELECT pg_sleep(601)'), gone.signal).catch(() => {}))
  t.ok(await until(async () => (await countRunning(watcher, 'pg_sleep(601)')) === 4))
  const flights = new SingleFlight({ mayRepeat: true })
  const count = (user: string, signal?: AbortSignal) =>
    asList(user, () => flights.join('count', signal, async () => (await database.raw('SELECT 1 AS one')).rows[0].one as number), signal)
  const own = count('ada', gone.signal).catch((error) => error.name)
  t.same(await Promise.all(['bob', 'cleo', 'dora', 'eve', 'finn'].map((user) => count(user))), [1, 1, 1, 1, 1])
  gone.abort()
  await watcher.raw(`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep(601)%'
    AND pid <> pg_backend_pid()`)
  t.equal(await own, 'AbortError')
  await Promise.all(flood)
})

t.test('when the share of all is in use, each reads in their own, once', async (t) => {
  const { database: watcher, url } = await openTestDatabase(t)
  const database = openLimited(t, url, { limits: { cheapMs: 60_000, readMs: 60_000, acquireMs: 2_000 } })
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
