import { AsyncLocalStorage } from 'node:async_hooks'

/** The owner of statements. */
interface StatementScope {
  /** Whose places they use: the id of a user, or the address of a client that is not signed in. */
  owner: string
  /** Aborts when nothing waits for the result any more. Only long statements request it. */
  signal: () => AbortSignal
}

/** What the statements of a scope share while it lasts. */
export interface LiveScope extends StatementScope {
  /** Statements that continue afterwards are not limited any more. */
  isOver: boolean
  /** How long its statements have waited for places. */
  waitedMs: number
  /** Called when a statement has to wait for a place or a connection. */
  onWait?: (() => void) | undefined
  /** Whether its result depends on averages, see core/catalog/list-state-query.ts. */
  readsAverages?: boolean
}

interface Stored {
  scope: LiveScope
  hasPlace: boolean
}

const storage = new AsyncLocalStorage<Stored | null>()

/**
 * Runs work whose statements, including those of functions that it calls, obey the limits of requests (core/database/statement-limits.ts). After
 * the work has ended, they are not limited any more.
 */
export async function runInScope<T>(scope: StatementScope & Pick<LiveScope, 'onWait'>, work: () => Promise<T>): Promise<T> {
  const live: LiveScope = { ...scope, isOver: false, waitedMs: 0 }
  try {
    // Awaited inside: a knex query starts only when something awaits it.
    return await storage.run({ scope: live, hasPlace: false }, async () => await work())
  } finally {
    live.isOver = true
  }
}

const never = new AbortController().signal

/**
 * The owner of statements that several users share, such as one that reads something for each of them. They must be cheap, because a user who begins one
 * begins it for all: in the share of that user, everybody would wait behind the expensive lists of one.
 */
export const SHARED_OWNER = 'shared'

/**
 * Runs work that several callers may wait for: it has the limits of the current scope, but it is not canceled when one of them leaves, and it
 * may continue after the scope.
 * @param options.owner replaces the owner of the current scope
 * @param options.onWait called when a statement has to wait for a place or a connection
 */
export async function runForSeveral<T>(work: () => Promise<T>, options: { owner?: string; onWait?: () => void } = {}): Promise<T> {
  const stored = currentScope()
  if (stored === null) return await work()
  return await runInScope({ owner: stored.scope.owner, signal: () => never, ...options }, work)
}

/** Runs work whose statements have a place already. */
export function runWithPlace<T>(scope: LiveScope, work: () => Promise<T>): Promise<T> {
  return storage.run({ scope, hasPlace: true }, async () => await work())
}

/** The scope of the current statements, or null. */
export function currentScope(): Stored | null {
  const stored = storage.getStore() ?? null
  return stored?.scope.isOver ? null : stored
}
