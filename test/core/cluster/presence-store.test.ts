import t from 'tap'
import { LIVE_NODES, newNodeLock, openPresence, sendSignal } from '#core/cluster/presence-store.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { until } from '#test/support/task-queues.ts'

t.test('a node receives signals and is alive while it is connected, and again after it reconnects', async (t) => {
  const { database } = await openTestDatabase(t)
  const live = async () => (await database.raw(LIVE_NODES)).rows.map((row: object) => Number(Object.values(row)[0]))
  const nodeLock = newNodeLock()
  const heard: unknown[] = []
  let returns = 0
  let losses = 0
  const presence = await openPresence(database, {
    nodeLock,
    onSignal: (signal) => heard.push(signal),
    onReturn: () => {
      returns += 1
    },
    onLoss: () => {
      losses += 1
    },
  })
  t.same(await live(), [nodeLock])
  await sendSignal(database, { hello: 'world' })
  await database
    .transaction(async (trx) => {
      await sendSignal(trx, 'never told')
      throw new Error('rolled back')
    })
    .catch(() => {})
  await sendSignal(database, 2)
  await until(() => heard.length === 2)
  t.same(heard, [{ hello: 'world' }, 2])

  let times = 0
  let found: object[] = []
  // In one go: a second later the node is connected again. Where the machine pauses for that long in between, it is done again.
  do {
    await until(() => returns === times)
    times += 1
    const [, meanwhile] = await database.raw(
      `SELECT pg_terminate_backend(pid, 60000) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database()); ${LIVE_NODES}`,
    )
    found = meanwhile.rows
  } while (found.length > 0 && times < 5)
  t.same(found, [], 'others take it for dead meanwhile')
  await until(() => losses === times)
  await until(() => returns === times)
  t.same(await live(), [nodeLock])
  await presence.close()
  await until(async () => (await live()).length === 0)
})
