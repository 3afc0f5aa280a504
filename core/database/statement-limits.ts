import { type Canceller, openCanceller } from '#core/database/canceller.ts'
import { openPlaces, type Places } from '#core/database/statement-places.ts'
import type { LiveScope } from '#core/database/statement-scope.ts'
import { CarrelError } from '#core/foundation/errors.ts'

/** Limits of the statements of requests, in ms where nothing else is said. */
export interface StatementLimits {
  /** A list or search that takes longer answers nobody in time. */
  readMs: number
  /** Anything else: changes wait for each other. */
  requestMs: number
  /** What ends sooner is cheap: it needs no place, and is not cancelled when its client leaves. */
  cheapMs: number
  /** How long all statements of one request together may wait for places. */
  waitMs: number
  /** How long a request waits for a connection; longer than any cheap statement of those before it. */
  acquireMs: number
  /** Expensive statements of one owner at once. A list counts and reads at the same time, which makes two. */
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

/** A statement that was cancelled goes at once; one that does not sits in code that cannot be interrupted, or the server stands still. */
const CANCEL_MS = 2_000

/** A connection of pg, as far as it is looked at here. */
export interface Connection {
  processID: number
  connection: { stream: { destroy(): void } }
}

/** A statement that is about to run on behalf of a scope. */
export interface Statement {
  sql: string
  connection: Connection
  scope: LiveScope
  /** It may wait for a place and then run again from the start; inside a transaction it may not. */
  mayRunAgain: boolean
}

/** Was cancelled because there was no place for it; to be run again when there is one. */
export class NoPlace extends Error {}

/** What all clients of one pool share, those of transactions included. */
export interface StatementLimiter {
  limits: StatementLimits
  /** For expensive statements: half of the connections, so that the other half is there for the cheap ones. */
  places: Places
  /** Connections of one owner at once, whatever they are used for. */
  shares: Places
  /** Runs a statement within the limits. @throws NoPlace, unavailable, what the statement throws */
  run<T>(statement: Statement, start: () => Promise<T>): Promise<T>
  close(): Promise<void>
}

export function openStatementLimiter(options: {
  poolMax: number
  limits: StatementLimits
  configure: Parameters<typeof openCanceller>[0]
}): StatementLimiter {
  const { poolMax, limits } = options
  const half = Math.max(1, Math.floor(poolMax / 2))
  const canceller = openCanceller(options.configure)
  const places = openPlaces({ total: half, perOwner: limits.placesPerOwner })
  return {
    limits,
    places,
    shares: openPlaces({ total: Number.POSITIVE_INFINITY, perOwner: half }),
    run: (statement, start) => runLimited(statement, start, { limits, places, canceller }),
    close: () => canceller.close(),
  }
}

/** Ends of transactions: to cancel one says nothing of what has happened, and they take no time unless the server stands still. */
const CONTROL = /^\s*(?:BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b/i
const READ = /^\s*(?:SELECT|VALUES|TABLE|WITH)\b/i
const CHANGE = /\b(?:INSERT|UPDATE|DELETE|MERGE)\b/i

async function runLimited<T>(
  { sql, connection, scope, mayRunAgain }: Statement,
  start: () => Promise<T>,
  { limits, places, canceller }: { limits: StatementLimits; places: Places; canceller: Canceller },
): Promise<T> {
  const isControl = CONTROL.test(sql)
  const sever = () => connection.connection.stream.destroy()
  let release: (() => void) | null = null
  let reason: Error | null = null
  let cancelled: Promise<void> | null = null
  let cutting: NodeJS.Timeout | undefined
  let signal: AbortSignal | null = null

  const cancel = (because: Error) => {
    // The request is over: this statement goes on by itself.
    if (reason !== null || scope.isOver) return
    reason = because
    cutting = setTimeout(sever, CANCEL_MS)
    cancelled = canceller.cancel(connection.processID).catch(sever)
  }
  const onLeave = () => cancel(new CarrelError('unavailable', 'Nobody waits for this any more.'))
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
    const heard = signal as AbortSignal | null
    heard?.removeEventListener('abort', onLeave)
    // The connection may be given to somebody else only when the cancelling can hit nothing there any more.
    await cancelled
    const give = release as (() => void) | null
    give?.()
  }
}

function tooLong(isRead: boolean, limitMs: number): CarrelError {
  const seconds = limitMs / 1000
  const message = isRead
    ? `This list or search took longer than ${seconds} s and was stopped. Narrow it: name a library or a series, use fewer conditions, or look for longer words.`
    : `This took the database longer than ${seconds} s and was stopped. Change fewer things at once, or try again later.`
  return new CarrelError('unavailable', message, { retryAfterSeconds: 10 })
}

/** @param limits.placesPerOwner is told, so that a client knows how many to ask for at once */
export function waitedTooLong({ placesPerOwner }: StatementLimits): CarrelError {
  const message = `Too many expensive lists and searches run at the moment; a user may have ${placesPerOwner} at once. Wait until the others have ended, or narrow this one: name a library or a series, use fewer conditions, or look for longer words.`
  return new CarrelError('unavailable', message, { retryAfterSeconds: 5 })
}

export function noConnection(): CarrelError {
  return new CarrelError('unavailable', 'All connections to the database are in use. Ask for less at once, or try again shortly.', {
    retryAfterSeconds: 5,
  })
}
