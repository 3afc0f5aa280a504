import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import t from 'tap'
import type { NewTask } from '#core/tasks/task.ts'
import { addTasks } from '#core/tasks/task-store.ts'
import { openTestDatabase } from '#test/support/database.ts'

const analyses = (count: number): NewTask[] => Array.from({ length: count }, () => ({ type: 'analyze_book', dedupeKey: randomUUID() }))

/** Rows that the statements of this transaction have read so far, from the table or through its indexes. */
async function countRead(trx: Knex): Promise<number> {
  const { rows } = await trx.raw(
    `SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int AS read FROM pg_stat_xact_user_tables
     WHERE relname IN ('tasks', '_private_jobs')`,
  )
  return rows[0].read
}

t.test('adding tasks does not read those that wait already, even where the statistics are of an empty table', async (t) => {
  const { database } = await openTestDatabase(t)
  const ran = await addTasks(database, 'analyze_book', analyses(1))
  await database('tasks').where({ id: ran.added[0] }).update({ status: 'completed' })
  for (let part = 0; part < 4; part++) await addTasks(database, 'analyze_book', analyses(1_000))
  const again = analyses(20)
  await addTasks(database, 'analyze_book', again)
  await database.transaction(async (trx) => {
    const before = await countRead(trx)
    const { added, advanced } = await addTasks(trx, 'analyze_book', [...analyses(80), ...again])
    t.match({ added, advanced }, { added: { length: 80 }, advanced: [] })
    const read = (await countRead(trx)) - before
    t.ok(read <= 500, `${read} rows were read to add 80 tasks of 100`)
  })
})

t.test('a waiting task begins earlier, one that waits for its next try does not', async (t) => {
  const { database } = await openTestDatabase(t)
  const later = new Date(Date.now() + 3_600_000)
  const [first, second] = analyses(2).map((task) => ({ ...task, scheduledFor: later })) as [NewTask, NewTask]
  await addTasks(database, 'analyze_book', [first, second])
  await database('tasks').where({ dedupe_key: second.dedupeKey }).update({ attempts: 1 })
  const now = await addTasks(
    database,
    'analyze_book',
    [first, second].map((task) => ({ ...task, scheduledFor: undefined, priority: 900 })) as NewTask[],
  )
  t.match(now, { added: [], advanced: { length: 1 } })
  const rows = await database('tasks').orderBy('attempts').select('scheduled_for as at', 'priority')
  t.ok(rows[0].at < later)
  t.equal(rows[0].priority, 900)
  t.same(rows[1].at, later)
  // The same key of another type is another task.
  t.match(await addTasks(database, 'scan_library', [{ type: 'scan_library', dedupeKey: first.dedupeKey }] as NewTask[]), {
    added: { length: 1 },
  })
})
