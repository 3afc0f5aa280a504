import t from 'tap'
import { prepared } from '#core/database/prepared.ts'
import { openTestDatabase } from '#test/support/database.ts'

t.test('a marked query is planned once on each connection, under a name of its text', async (t) => {
  const { database } = await openTestDatabase(t, { poolMax: 2 })
  const names = async () => (await database.raw(`SELECT name, statement FROM pg_prepared_statements ORDER BY statement`)).rows
  for (const n of [1, 2, 3]) t.equal((await prepared(database.raw('SELECT ?::int + 1 AS n', [n]))).rows[0].n, n + 1)
  t.match(await names(), [{ name: /^carrel_[0-9a-f]{32}$/, statement: 'SELECT $1::int + 1 AS n' }])
  await prepared(database('users').where('id', '00000000-0000-4000-8000-000000000000').select('id'))
  t.equal((await names()).length, 2)
  await database.raw('SELECT 1')
  t.equal((await names()).length, 2, 'others have no name')
})

t.test('a connection keeps a limited number, and goes on', async (t) => {
  const { database } = await openTestDatabase(t, { poolMax: 2 })
  let most = 0
  for (let n = 0; n < 450; n++) {
    t.equal((await prepared(database.raw(`SELECT ${n}::int AS n, ?::int AS m`, [n]))).rows[0].m, n)
    if (n % 50 === 0) most = Math.max(most, Number((await database.raw('SELECT count(*) FROM pg_prepared_statements')).rows[0].count))
  }
  t.ok(most > 100 && most <= 200, `${most} prepared statements`)
  const again = await prepared(database.raw('SELECT 0::int AS n, ?::int AS m', [7]))
  t.equal(again.rows[0].m, 7, 'one that was forgotten')
})

t.test('an error keeps its place, in a transaction too', async (t) => {
  const { database } = await openTestDatabase(t, { poolMax: 2 })
  await t.rejects(prepared(database.raw('SELECT * FROM nowhere WHERE id = ?', [1])), { code: '42P01' })
  await t.rejects(
    database.transaction(async (trx) => {
      await trx.raw('SELECT 1 / 0').catch(() => {})
      await prepared(trx.raw('SELECT ?::int AS n', [1]))
    }),
    { code: '25P02' },
  )
  t.equal((await prepared(database.raw('SELECT ?::int AS n', [1]))).rows[0].n, 1)
})
