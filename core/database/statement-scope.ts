import { AsyncLocalStorage } from 'node:async_hooks'
import type { Knex } from 'knex'

/** The owner of statements. */
interface StatementScope {
  /** Whose connections they use: the id of a user, or the address of a client that is not signed in. */
  owner: string
  /** Aborts when nothing waits for the result any more. Only long statements request it. */
  signal: () => AbortSignal
}

/** What the statements of a scope share while it lasts. */
export interface LiveScope extends StatementScope {
  /** Statements that begin afterwards are not limited any more. */
  isOver: boolean
  /** Whether its statements make a list or search, of which few run at a time. */
  isList: boolean
  /** How long it has waited for permits; the same time counts once, however many of its statements wait. */
  waitedMs: number
  /** Its statements that wait for permits, and since when there are any. */
  waiting: number
  waitingSince: number
  /** Called when a statement has to wait for a permit or a connection. */
  onWait?: (() => void) | undefined
  /** Whether its result depends on averages, see core/catalog/list-state-query.ts. */
  readsAverages?: boolean
}

const storage = new AsyncLocalStorage<LiveScope | null>()

/**
 * Runs work whose statements, including those of functions that it calls, obey the limits of requests (core/database/statement-limits.ts). Those that
 * begin after the work has ended do not.
 */
export async function runInScope<T>(scope: StatementScope & Partial<LiveScope>, work: () => Promise<T>): Promise<T> {
  const live: LiveScope = { isList: false, ...scope, isOver: false, waitedMs: 0, waiting: 0, waitingSince: 0 }
  try {
    // Awaited inside: a knex query starts only when something awaits it.
    return await storage.run(live, async () => await work())
  } finally {
    live.isOver = true
  }
}

const never = new AbortController().signal

/**
 * The owner of statements that several users share, such as one that reads something for each of them. They must be cheap, because a user who begins one
 * begins it for all: in the share of that user, everybody would wait behind the lists of one.
 */
export const SHARED_OWNER = 'shared'

/**
 * Runs work that several callers may wait for: it has the limits of the current scope, but it is not canceled when one of them leaves, and it
 * may continue after the scope.
 * @param options.owner replaces the owner of the current scope; then it is no list of that owner
 * @param options.onWait called when a statement has to wait for a permit or a connection
 */
export async function runForSeveral<T>(work: () => Promise<T>, options: { owner?: string; onWait?: () => void } = {}): Promise<T> {
  const scope = currentScope()
  if (scope === null) return await work()
  const { owner, isList } = scope
  return await runInScope({ owner, isList: isList && options.owner === undefined, signal: () => never, ...options }, work)
}

/**
 * Makes a function that runs work beside a request, for all: it has no limits of a request, and continues after it. One run at a time for each database;
 * if it fails, the next call tries again.
 */
export function besideRequests(work: (database: Knex) => Promise<void>): (database: Knex) => void {
  const running = new WeakSet<Knex>()
  return (database) => {
    if (running.has(database) || database.isTransaction) return
    running.add(database)
    storage
      .run(null, async () => await work(database))
      .catch(() => {})
      .finally(() => running.delete(database))
  }
}

/** From now on, the statements of the current scope make a list or search. */
export function becomeList(): void {
  const scope = currentScope()
  if (scope) scope.isList = true
}

/**
 * From now on, the statements of the current scope may wait for permits as long as those of a new one: for an answer that is read in parts while it is sent,
 * and would otherwise end in the middle because all of its parts have waited a little.
 */
export function waitAnew(): void {
  const scope = currentScope()
  if (scope) scope.waitedMs = 0
}

/** The scope of the current statements, or null. */
export function currentScope(): LiveScope | null {
  const scope = storage.getStore() ?? null
  return scope?.isOver ? null : scope
}
