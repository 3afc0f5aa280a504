import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'

/** Whether the database answers a query within the deadline. Never throws. */
export async function isAlive(database: Knex, { deadlineMs }: { deadlineMs: number }): Promise<boolean> {
  const over = new AbortController()
  const answered = database.raw('SELECT 1').then(
    () => true,
    () => false,
  )
  const late = sleep(deadlineMs, false, { signal: over.signal, ref: false }).catch(() => false)
  try {
    return await Promise.race([answered, late])
  } finally {
    over.abort()
  }
}
