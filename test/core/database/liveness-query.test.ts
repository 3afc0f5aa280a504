import { statfs } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openDatabase } from '#core/database/database.ts'
import { diskProbe } from '#core/database/disk-space.ts'
import { databaseProbe } from '#core/database/liveness-query.ts'
import { sharedProbe } from '#core/database/shared-probe.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openTestDatabase } from '#test/support/database.ts'

/** How long a result is cached, and a little. */
const STALE_MS = 1_100

t.test('many concurrent checks cost one query, and its result is cached for a second', async (t) => {
  const { database } = await openTestDatabase(t)
  let queries = 0
  database.on('query', () => queries++)
  const ask = databaseProbe(database, { deadlineMs: 30_000 })
  t.same(new Set(await Promise.all(Array.from({ length: 20 }, ask))), new Set(['ok']))
  t.equal(queries, 1)
  await sleep(STALE_MS)
  t.equal(await ask(), 'ok')
  t.equal(queries, 2, 'then it is checked again')
})

t.test('a read-only database is distinguished from one that does not answer', async (t) => {
  const { database } = await openTestDatabase(t)
  const ask = databaseProbe(database, { deadlineMs: 30_000 })
  t.equal(await ask(), 'ok')
  for (const code of ['53100', '25006']) {
    await database.raw(`
      CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '${code}'; END $$;
      CREATE OR REPLACE TRIGGER refuse BEFORE INSERT ON health_probe FOR EACH ROW EXECUTE FUNCTION refuse()
    `)
    await sleep(STALE_MS)
    t.equal(await ask(), 'read_only', code)
  }
  await database.raw('DROP TRIGGER refuse ON health_probe; DROP FUNCTION refuse')
  await database.raw(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`)
  await database.raw(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  )
  await database.raw('SET default_transaction_read_only = on')
  await sleep(STALE_MS)
  t.equal(await ask(), 'read_only', 'an administrator configured it so')
  await database.destroy()
  await sleep(STALE_MS)
  t.equal(await ask(), 'unavailable')
})

t.test('a connection without an answer is closed, and the next check uses another one', async (t) => {
  const { database, url } = await openTestDatabase(t)
  const limits = { requestMs: 300, cheapMs: 100 }
  const own = openDatabase({ url, poolMax: 2, log: silentLog, limits })
  t.teardown(() => own.destroy())
  const ask = databaseProbe(own, { deadlineMs: 50 })
  await database('health_probe').insert({ id: 1, written_at: new Date() })
  const locked = await database.transaction()
  await locked('health_probe').forUpdate()
  t.same(await Promise.all([ask(), ask()]), ['unavailable', 'unavailable'])
  await sleep(STALE_MS)
  t.equal(await ask(), 'unavailable')
  await locked.rollback()
  let answer = await ask()
  for (const end = performance.now() + 60_000; answer !== 'ok' && performance.now() < end; answer = await ask()) await sleep(100)
  t.equal(answer, 'ok', 'it recovers by itself')
})

t.test('one check runs at a time, and its late result counts', async (t) => {
  // Its own timers keep no process alive.
  const alive = setInterval(() => {}, 1_000)
  t.teardown(() => clearInterval(alive))
  let asked = 0
  const first = Promise.withResolvers<string>()
  const ask = sharedProbe({
    check: () => {
      asked++
      return first.promise
    },
    late: 'late',
    deadlineMs: 20,
  })
  t.same(await Promise.all([ask(), ask()]), ['late', 'late'])
  await sleep(STALE_MS)
  t.equal(await ask(), 'late')
  t.equal(asked, 1)
  first.resolve('well')
  await first.promise
  await sleep(10)
  t.equal(await ask(), 'well')
})

t.test('a full disk and a missing folder', async (t) => {
  const folder = t.testdir({ data: {} })
  const { bavail, bsize } = await statfs(folder)
  t.equal(await diskProbe(folder, { deadlineMs: 30_000, freeBytesMin: 0 })(), 'ok')
  t.equal(await diskProbe(folder, { deadlineMs: 30_000, freeBytesMin: 2 * bavail * bsize + 1e12 })(), 'full')
  t.equal(await diskProbe(path.join(folder, 'gone'), { deadlineMs: 30_000 })(), 'missing')
})
