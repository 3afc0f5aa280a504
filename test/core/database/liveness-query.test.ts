import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { isAlive } from '#core/database/liveness-query.ts'
import { openTestDatabase } from '#test/support/database.ts'

t.test('many who ask at once cost one query, and its answer holds for a second', async (t) => {
  const { database } = await openTestDatabase(t)
  let queries = 0
  database.on('query', () => queries++)
  const ask = () => isAlive(database, { deadlineMs: 3_000 })
  t.same(new Set(await Promise.all(Array.from({ length: 20 }, ask))), new Set([true]))
  t.equal(await ask(), true)
  t.equal(queries, 1)
  await sleep(1_050)
  t.equal(await ask(), true)
  t.equal(queries, 2, 'then it is asked again')
})

t.test('a database that does not answer gets no second question while the first waits', async (t) => {
  const { database } = await openTestDatabase(t)
  const most = database.client.pool.max as number
  const held = await Promise.all(Array.from({ length: most }, () => database.client.acquireConnection()))
  const ask = () => isAlive(database, { deadlineMs: 50 })
  t.same(await Promise.all([ask(), ask()]), [false, false])
  const begun = performance.now()
  t.equal(await ask(), false)
  t.ok(performance.now() - begun < 40, 'the answer is shared')
  await sleep(1_050)
  t.equal(await ask(), false)
  t.equal(database.client.pool.numPendingAcquires(), 1)
  for (const connection of held) await database.client.releaseConnection(connection)
  await sleep(100)
  t.equal(await ask(), true, 'the late answer counts')
})
