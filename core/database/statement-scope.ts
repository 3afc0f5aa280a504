import { AsyncLocalStorage } from 'node:async_hooks'

/** On whose behalf statements run. */
export interface StatementScope {
  /** Whose places they take: the id of a user, or the address of somebody who has not signed in. */
  owner: string
  /** Aborts when nobody waits for the result any more. Only statements that take long ask for it. */
  signal: () => AbortSignal
}

/** What the statements of a scope share while it lasts. */
export interface LiveScope extends StatementScope {
  /** What goes on afterwards goes on by itself, and is not limited any more. */
  isOver: boolean
  /** How long its statements have waited for places. */
  waitedMs: number
}

interface Stored {
  scope: LiveScope
  hasPlace: boolean
}

const storage = new AsyncLocalStorage<Stored | null>()

/**
 * Runs work whose statements, all that it calls included, keep the limits of requests (core/database/statement-limits.ts). They are not
 * limited any more when the work is over.
 */
export async function runInScope<T>(scope: StatementScope, work: () => Promise<T>): Promise<T> {
  const live: LiveScope = { ...scope, isOver: false, waitedMs: 0 }
  try {
    // Awaited inside: a query of knex begins when somebody waits for it.
    return await storage.run({ scope: live, hasPlace: false }, async () => await work())
  } finally {
    live.isOver = true
  }
}

const never = new AbortController().signal

/**
 * Runs work that several may wait for: its limits are those of the present scope, but it is not cancelled because one of them has left, and it
 * ends by itself.
 */
export function runForSeveral<T>(work: () => Promise<T>): Promise<T> {
  const stored = currentScope()
  return stored === null ? work() : runInScope({ owner: stored.scope.owner, signal: () => never }, work)
}

/** Runs work whose statements have a place already. */
export function runWithPlace<T>(scope: LiveScope, work: () => Promise<T>): Promise<T> {
  return storage.run({ scope, hasPlace: true }, async () => await work())
}

/** The scope that statements belong to now, or null. */
export function currentScope(): Stored | null {
  const stored = storage.getStore() ?? null
  return stored?.scope.isOver ? null : stored
}
