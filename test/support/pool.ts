import tap from 'tap'
import { openPool, type ReaderPool } from '#workers/pool/pool.ts'

/** Pools by the deadline of their work. */
const pools = new Map<number, ReaderPool>()

/** The pool of this test file, for tests that do not break a pool: starting a thread takes a third of a second. */
export function findPool(deadlineMs = 30_000): ReaderPool {
  const known = pools.get(deadlineMs)
  if (known) return known
  const pool = openPool({ threads: 2, memoryMbMax: 256, deadlineMs })
  pools.set(deadlineMs, pool)
  tap.teardown(() => pool.close())
  return pool
}

/** The same for a server of a test, which closes what it has. */
export const findServerPool = (): ReaderPool => ({ ...findPool(), close: async () => {} })
