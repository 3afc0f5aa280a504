import { type Canceler, openCanceler } from '#core/database/canceler.ts'
import { openPlaces, type Places } from '#core/database/statement-places.ts'
import type { LiveScope } from '#core/database/statement-scope.ts'
import { AppError } from '#core/foundation/errors.ts'

/** Limits of the statements of requests, in ms unless the name says otherwise. */
export interface StatementLimits {
  /** For a list or search: a client does not wait longer. */
  readMs: number
  /** For other statements: changes wait for each other. */
  requestMs: number
  /** A statement that ends sooner is cheap: it needs no place, and is not canceled when its client disconnects. */
  cheapMs: number
  /** How long all statements of one request together may wait for places. */
  waitMs: number
  /** How long a request waits for a connection; longer than any cheap statement before it. */
  acquireMs: number
  /** Expensive statements of one owner at the same time. A list counts and reads concurrently, which makes two. */
  placesPerOwner: number
}

export const STATEMENT_LIMITS: StatementLimits = {
  readMs: 5_000,
  requestMs: 10_000,
  cheapMs: 500,
  waitMs: 5_000,
  acquireMs: 5_000,
  placesPerOwner: 3,
}

/** A canceled statement normally ends immediately, unless it runs code that cannot be interrupted, or the server is blocked. */
const CANCEL_MS = 2_000

/** The part of a pg connection that is used here. */
export interface Connection {
  processID: number
  connection: { stream: { destroy(): void } }
}

/** A statement that is about to run on behalf of a scope. */
interface Statement {
  sql: string
  connection: Connection
  scope: LiveScope
  /** It may wait for a place and then run again from the start; inside a transaction it may not. */
  mayRunAgain: boolean
}

/** The statement was canceled because there was no place for it; it runs again when there is one. */
export class NoPlace extends Error {}

/** There was neither a place nor a connection in time: a caller who waits for a statement of others may run its own. */
export class NoShare extends AppError {}

/** What all clients of one pool share, including those of transactions. */
export interface StatementLimiter {
  limits: StatementLimits
  /** For expensive statements: half of the connections, so that the other half remains for cheap ones. */
  places: Places
  /** Connections of one owner at the same time, for any statements. */
  shares: Places
  /** Runs a statement within the limits. @throws NoPlace, unavailable, what the statement throws */
  run<T>(statement: Statement, start: () => Promise<T>): Promise<T>
  close(): Promise<void>
}

export function openStatementLimiter(options: {
  poolMax: number
  limits: StatementLimits
  configure: Parameters<typeof openCanceler>[0]
}): StatementLimiter {
  const { poolMax, limits } = options
  const half = Math.max(1, Math.floor(poolMax / 2))
  const canceler = openCanceler(options.configure)
  const places = openPlaces({ total: half, perOwner: limits.placesPerOwner })
  return {
    limits,
    places,
    shares: openPlaces({ total: Number.POSITIVE_INFINITY, perOwner: half }),
    run: (statement, start) => runLimited(statement, start, { limits, places, canceler }),
    close: () => canceler.close(),
  }
}

/** Ends of transactions: canceling one would leave its outcome unknown, and they take no time unless the server is blocked. */
const CONTROL = /^\s*(?:BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b/i
const READ = /^\s*(?:SELECT|VALUES|TABLE|WITH)\b/i
const CHANGE = /\b(?:INSERT|UPDATE|DELETE|MERGE)\b/i

async function runLimited<T>(
  { sql, connection, scope, mayRunAgain }: Statement,
  start: () => Promise<T>,
  { limits, places, canceler }: { limits: StatementLimits; places: Places; canceler: Canceler },
): Promise<T> {
  const isControl = CONTROL.test(sql)
  const sever = () => connection.connection.stream.destroy()
  let release: (() => void) | null = null
  let reason: Error | null = null
  let canceled: Promise<void> | null = null
  let cutting: NodeJS.Timeout | undefined
  let signal: AbortSignal | null = null

  const cancel = (because: Error) => {
    // The request is over: this statement is not limited any more.
    if (reason !== null || scope.isOver) return
    reason = because
    cutting = setTimeout(sever, CANCEL_MS)
    canceled = canceler.cancel(connection.processID).catch(sever)
  }
  const onLeave = () => cancel(new AppError('unavailable', 'The client has disconnected.'))
  let timer = setTimeout(() => {
    if (scope.isOver) return
    if (!isControl) {
      signal = scope.signal()
      if (signal.aborted) return onLeave()
      signal.addEventListener('abort', onLeave, { once: true })
      if (mayRunAgain) {
        release = places.tryTake(scope.owner)
        if (release === null) return cancel(new NoPlace())
      }
    }
    const isRead = READ.test(sql) && !CHANGE.test(sql)
    const limitMs = isRead ? limits.readMs : limits.requestMs
    timer = setTimeout(() => cancel(tooLong(isRead, limitMs)), limitMs - limits.cheapMs)
  }, limits.cheapMs)

  try {
    return await start()
  } catch (error) {
    throw reason ?? error
  } finally {
    clearTimeout(timer)
    clearTimeout(cutting)
    const abortSignal = signal as AbortSignal | null
    abortSignal?.removeEventListener('abort', onLeave)
    // The connection may be reused only when the cancel request can no longer hit another statement on it.
    await canceled
    const give = release as (() => void) | null
    give?.()
  }
}

function tooLong(isRead: boolean, limitMs: number): AppError {
  const seconds = limitMs / 1000
  const message = isRead
    ? `This list or search took longer than ${seconds} s and was stopped. Narrow it: name a library or a series, use fewer conditions, or look for longer words.`
    : `This took the database longer than ${seconds} s and was stopped. Change fewer things in one request, or try again later.`
  return new AppError('unavailable', message, { retryAfterSeconds: 10 })
}

/** @param limits.placesPerOwner is in the message, so that a client knows how many requests it may send at the same time */
export function waitedTooLong({ placesPerOwner }: StatementLimits): NoShare {
  const message = `Too many expensive lists and searches are running; a user may have ${placesPerOwner} at the same time. Wait until the others have ended, or narrow this one: name a library or a series, use fewer conditions, or look for longer words.`
  return new NoShare('unavailable', message, { retryAfterSeconds: 5 })
}

export function noConnection(): NoShare {
  return new NoShare(
    'unavailable',
    'All connections to the database are in use. Send fewer requests at the same time, or try again shortly.',
    {
      retryAfterSeconds: 5,
    },
  )
}
