import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import {
  checkDatabase,
  describeMissingExtension,
  listMigrations,
  migrate,
  openDatabase,
  parseBigint,
  parseNumeric,
  pendingMigrations,
} from '#core/database/database.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { onlyFull } from '#test/support/lane-size.ts'

t.test('migrating twice, concurrently and after a kill', async (t) => {
  const { database, url } = await openTestDatabase(t, { empty: true })
  t.same(await pendingMigrations(database), await listMigrations())
  const other = openDatabase({ url, poolMax: 2, log: silentLog })
  t.teardown(() => other.destroy())
  const ran = await Promise.all([migrate(database), migrate(other), migrate(database)])
  t.same(ran.flat().sort(), await listMigrations(), 'each migration ran once')
  t.same(await migrate(other), [], 'a second time runs nothing')
  t.same(await pendingMigrations(database), [])

  // What knex leaves behind when its process is killed in the middle of a migration.
  await database('knex_migrations_lock').update({ is_locked: 1 })
  t.same(await migrate(database), [], 'the lock of a killed process stops nobody')

  await database('knex_migrations').insert({ name: '9999_future.ts', batch: 99, migration_time: new Date() })
  await t.rejects(migrate(database), /newer version of Carrel.*9999_future/)
  await database('knex_migrations').where('name', '9999_future.ts').update({ name: '0001_library.ts' })
  await t.rejects(migrate(database), /unreleased version of Carrel/)
})

t.test('a migration may take longer than a statement', onlyFull, async (t) => {
  const { database, url } = await openTestDatabase(t, { empty: true })
  // A table of the same name, created in a transaction that stays open for a long time.
  const other = await database.transaction()
  await other.raw('CREATE TABLE users ()')
  // Longer than the statement timeout below.
  const gone = sleep(6_000).then(() => other.rollback())
  // Longer than any other statement may take, even on a busy machine.
  const impatient = openDatabase({ url, poolMax: 2, log: silentLog, statementTimeoutMs: 5_000 })
  t.teardown(() => impatient.destroy())
  t.same(await migrate(impatient), await listMigrations())
  await gone
  await t.rejects(impatient.raw('SELECT pg_sleep(60)'), /statement timeout/, 'and the limit applies again to other statements')
})

t.test('the down of a migration undoes its up', async (t) => {
  const { database } = await openTestDatabase(t, { empty: true })
  const before = await tables()
  for (const name of await listMigrations()) await (await import(`#migrations/${name}`)).up(database)
  t.ok((await tables()).length > before.length)
  for (const name of (await listMigrations()).reverse()) await (await import(`#migrations/${name}`)).down(database)
  t.same(await tables(), before)

  async function tables(): Promise<string[]> {
    return await database('pg_tables').where({ schemaname: 'public' }).orderBy('tablename').pluck('tablename')
  }
})

t.test('numbers are returned as numbers when a double holds them', async (t) => {
  const { database } = await openTestDatabase(t)
  t.same(await database('books').count('* as n'), [{ n: 0 }])
  const { rows } = await database.raw(
    `SELECT 9007199254740991::bigint AS safe, 1764000000123456789::bigint AS nanoseconds, 12.5::numeric(12,4) AS volume,
       0.1::numeric AS tenth, 123456789012345678.5::numeric AS long, sum(3::bigint) AS total`,
  )
  t.same(rows, [
    { safe: 9007199254740991, nanoseconds: '1764000000123456789', volume: 12.5, tenth: 0.1, long: '123456789012345678.5', total: 3 },
  ])
  t.equal(parseBigint('-5'), -5)
  t.equal(parseNumeric('0.0000'), 0)
  t.equal(parseNumeric('-00012345678901234567890'), '-00012345678901234567890')
  t.equal(parseNumeric('NaN'), 'NaN')
})

t.test('natural order, a hanging statement, and a server that is down', async (t) => {
  const { database, url } = await openTestDatabase(t)
  const { rows } = await database.raw(
    `SELECT name FROM (VALUES ('Vol 10'), ('vol 9'), ('Vol 1'), ('Ä 2')) AS given (name) ORDER BY name COLLATE carrel_natural`,
  )
  t.same(
    rows.map((row: { name: string }) => row.name),
    ['Ä 2', 'Vol 1', 'vol 9', 'Vol 10'],
  )
  const found = await checkDatabase(database)
  t.match(found.name, /^test_/)
  t.ok(found.version >= 180000)

  const impatient = openDatabase({ url, poolMax: 2, log: silentLog, statementTimeoutMs: 50 })
  t.teardown(() => impatient.destroy())
  await t.rejects(impatient.raw('SELECT pg_sleep(10)'), /statement timeout/)

  const nowhere = openDatabase({ url: 'postgresql://nobody@127.0.0.1:1/none', poolMax: 2, log: silentLog })
  t.teardown(() => nowhere.destroy())
  await t.rejects(checkDatabase(nowhere), /ECONNREFUSED/)
})

t.test('a PostgreSQL without the extension', async (t) => {
  const { database } = await openTestDatabase(t, { empty: true })
  const error = await database.raw("CREATE EXTENSION pg_trgm VERSION 'none'").catch((error: unknown) => error)
  t.match(error, /extension "pg_trgm"/, 'as PostgreSQL says it')
  t.match(describeMissingExtension(error), /install the contrib package/)
  t.equal(describeMissingExtension(new Error('anything else')), null)
})
