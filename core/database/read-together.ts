import type { Knex } from 'knex'
import { perDatabase } from '#core/database/per-database.ts'
import { NoShare } from '#core/database/statement-limits.ts'
import { runForSeveral, SHARED_OWNER } from '#core/database/statement-scope.ts'
import { Register } from '#core/foundation/register.ts'

/** Ids of one statement: more would let the first of them wait for the last. */
const IDS_MAX = 64

/** Rows that one statement reads. */
interface Batch<Row> {
  ids: Set<string>
  rows: Promise<Map<string, Row>>
}

interface Reads {
  next: Batch<unknown> | null
  /** Ends with the statement that was started last, or when that has to wait. */
  last: Promise<unknown>
}

const readsOf = perDatabase(() => new Register<Reads>())

/**
 * Reads a row by its id, together with those that others ask for while a statement of the same key runs. A statement costs more to send and to receive
 * than to run, so that many requests at a time need few of them; a request alone does not wait. Every row is read after the call, never before.
 * @param key equal for statements that differ in nothing but the ids
 * @returns undefined if there is no such row; the row may be shared
 */
export async function readTogether<Row extends { id: string }>(
  database: Knex,
  key: string,
  id: string,
  run: (ids: string[]) => PromiseLike<Row[]>,
): Promise<Row | undefined> {
  // Others must not wait for a transaction, nor see what it has written.
  if (database.isTransaction) return (await run([id]))[0]
  const all = readsOf(database)
  const reads = all.get(key) ?? { next: null, last: Promise.resolve() }
  all.set(key, reads)
  if (reads.next === null || reads.next.ids.size >= IDS_MAX) begin(reads, run, () => all.delete(key))
  const batch = reads.next as Batch<Row>
  batch.ids.add(id)
  try {
    return (await batch.rows).get(id)
  } catch (error) {
    // The share of all was in use: each has one of its own.
    if (!(error instanceof NoShare)) throw error
    return (await run([id]))[0]
  }
}

/** Begins a batch, whose statement starts when the one before has ended, or waits for a connection. */
function begin<Row extends { id: string }>(reads: Reads, run: (ids: string[]) => PromiseLike<Row[]>, forget: () => void): void {
  const previous = reads.last
  const ids = new Set<string>()
  const { promise: waits, resolve: onWait } = Promise.withResolvers<void>()
  const read = async () => {
    await previous
    if (reads.next === batch) reads.next = null
    const rows = await runForSeveral(async () => await run([...ids]), { owner: SHARED_OWNER, onWait })
    return new Map(rows.map((row) => [row.id, row]))
  }
  const batch: Batch<Row> = { ids, rows: read() }
  reads.next = batch
  const ended = batch.rows.then(
    () => {},
    () => {},
  )
  const last = Promise.race([ended, waits])
  reads.last = last
  void ended.then(() => {
    if (reads.last === last) forget()
  })
}
