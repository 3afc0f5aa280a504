import { Canceler } from '#core/database/canceler.ts'
import type { LiveScope } from '#core/database/statement-scope.ts'
import { AppError } from '#core/foundation/errors.ts'
import { type Leave, Semaphore } from '#core/foundation/semaphore.ts'

/** Limits of the statements of requests, in ms unless the name says otherwise. */
export interface StatementLimits {
  /** For a read: a client does not wait longer for a list or search. */
  readMs: number
  /** For other statements and all inside transactions: changes wait for each other. */
  requestMs: number
  /** A statement that ends sooner is not canceled when its client disconnects. */
  cheapMs: number
  /** How long all statements of one list or search together may wait for permits. */
  waitMs: number
  /** How long a request waits for a connection; longer than any cheap statement before it. */
  acquireMs: number
  /** Statements of lists and searches of one owner at a time; of all owners, on half of the connections. */
  listsPerOwner: number
}

export const STATEMENT_LIMITS: StatementLimits = {
  readMs: 5_000,
  requestMs: 10_000,
  cheapMs: 500,
  waitMs: 5_000,
  acquireMs: 5_000,
  listsPerOwner: 4,
}

/** A canceled statement normally ends immediately, unless it runs code that cannot be interrupted, or the server is blocked. */
const CANCEL_MS = 2_000
/** PostgreSQL's code of a statement that was canceled or has taken too long. */
const CANCELED = '57014'

/** The part of a pg connection that is used here. */
export interface Connection {
  processID: number
  connection: { stream: { destroy(): void } }
  query(text: string): Promise<unknown>
}

/** The part of the pool of an open client; after `destroy` there is none. */
export type Pool =
  | { acquire(): { promise: Promise<object>; abort(): void }; numUsed(): number; numPendingCreates(): number; max: number }
  | undefined

/** A statement that is about to run, perhaps inside a transaction. */
interface About {
  sql: string
  isInside: boolean
}

/** There was neither a permit nor a connection in time: a caller who waits for a statement of others may run its own. */
export class NoShare extends AppError {}

/** Ends of transactions: canceling one would leave its outcome unknown, and they take no time unless the server is blocked. */
const CONTROL = /^\s*(?:BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b/i
const BEGIN = /^\s*BEGIN\b/i
const READ = /^\s*(?:SELECT|VALUES|TABLE|WITH)\b/i
/** Only a statement that begins with WITH may read and change. */
const CHANGE = /^\s*WITH\b.*\b(?:INSERT|UPDATE|DELETE|MERGE)\b/is
const isReading = (sql: string): boolean => READ.test(sql) && !CHANGE.test(sql)

/** What all clients of one pool share, including those of transactions. */
export class StatementLimiter {
  readonly #limits: StatementLimits
  /** The limit of statements outside requests, which none exceeds. */
  readonly #timeoutMs: number
  readonly #canceler: Canceler
  /** Half of the connections remains for everything else. */
  readonly #lists: Semaphore
  /** Connections of one owner, for any statements. */
  readonly #shares: Semaphore
  readonly #leaves = new WeakMap<object, Leave>()
  /** The limit that each connection has in the database; by default that one. */
  readonly #limitOf = new WeakMap<object, number>()

  constructor(options: {
    poolMax: number
    timeoutMs: number
    limits: StatementLimits
    configure: ConstructorParameters<typeof Canceler>[0]
  }) {
    const half = Math.max(1, Math.floor(options.poolMax / 2))
    this.#limits = options.limits
    this.#timeoutMs = options.timeoutMs
    this.#canceler = new Canceler(options.configure)
    this.#lists = new Semaphore(half, options.limits.listsPerOwner)
    this.#shares = new Semaphore(Number.POSITIVE_INFINITY, half)
  }

  close(): Promise<void> {
    return this.#canceler.close()
  }

  /** A connection for a statement or transaction of a scope. @throws NoShare */
  async acquire(scope: LiveScope, pool: Pool): Promise<object> {
    const leaveLists = scope.isList ? await this.#enterLists(scope) : () => {}
    const deadline = performance.now() + this.#limits.acquireMs
    let leaveShare: Leave = () => {}
    try {
      const free = this.#shares.tryEnter({ key: scope.owner })
      if (free === null || (pool && pool.numUsed() + pool.numPendingCreates() >= pool.max)) scope.onWait?.()
      leaveShare = free ?? (await within(deadline, (late) => this.#shares.enter(late, { key: scope.owner }), noConnection))
      const connection = await acquireUntil(deadline, pool)
      this.#leaves.set(connection, () => {
        leaveShare()
        leaveLists()
      })
      return connection
    } catch (error) {
      leaveShare()
      leaveLists()
      throw error
    }
  }

  release(connection: object): void {
    this.#leaves.get(connection)?.()
    this.#leaves.delete(connection)
  }

  async #enterLists(scope: LiveScope): Promise<Leave> {
    const entry = { key: scope.owner }
    const free = this.#lists.tryEnter(entry)
    if (free) return free
    scope.onWait?.()
    const begun = performance.now()
    const left = scope.signal()
    const refuse = () => (left.aborted ? hasLeft() : waitedTooLong(this.#limits))
    if (scope.waiting++ === 0) scope.waitingSince = begun
    try {
      return await within(
        begun + this.#limits.waitMs - scope.waitedMs,
        (late) => this.#lists.enter(AbortSignal.any([late, left]), entry),
        refuse,
      )
    } finally {
      if (--scope.waiting === 0) scope.waitedMs += performance.now() - scope.waitingSince
    }
  }

  /**
   * Gives a connection the time limit of the scope in the database, unless it has it. Inside a transaction it keeps that of the BEGIN, because a rollback
   * would undo another.
   */
  prepare(connection: Connection, scope: LiveScope | null, { sql, isInside }: About): Promise<unknown> | null {
    if (isInside && !BEGIN.test(sql)) return null
    const ms = scope === null ? this.#timeoutMs : this.#limitMs(sql, isInside)
    if (ms === (this.#limitOf.get(connection) ?? this.#timeoutMs)) return null
    this.#limitOf.set(connection, ms)
    return connection.query(`SET statement_timeout = ${ms}`).catch((error: unknown) => {
      this.#limitOf.set(connection, Number.NaN)
      throw error
    })
  }

  /**
   * Runs a statement of a scope. It is canceled when its client disconnects; a connection on which it neither ends by its limit nor by that is closed.
   * @throws unavailable, what the statement throws
   */
  async run<T>(connection: Connection, scope: LiveScope, { sql, isInside }: About, start: () => Promise<T>): Promise<T> {
    const { cheapMs } = this.#limits
    const limitMs = this.#limitMs(sql, isInside)
    let isSevered = false
    const sever = () => {
      isSevered = true
      connection.connection.stream.destroy()
    }
    let canceled: Promise<void> | null = null
    let signal: AbortSignal | null = null
    const onLeave = () => {
      if (scope.isOver) return
      clearTimeout(timer)
      timer = setTimeout(sever, CANCEL_MS)
      canceled = this.#canceler.cancel(connection.processID).catch(sever)
    }
    let timer = setTimeout(() => {
      timer = setTimeout(sever, limitMs + CANCEL_MS - cheapMs)
      if (scope.isOver || CONTROL.test(sql)) return
      signal = scope.signal()
      if (signal.aborted) onLeave()
      else signal.addEventListener('abort', onLeave, { once: true })
    }, cheapMs)
    try {
      return await start()
    } catch (error) {
      if (canceled !== null) throw hasLeft()
      throw isSevered || isCanceled(error) ? tooLong(isReading(sql), limitMs) : error
    } finally {
      clearTimeout(timer)
      ;(signal as AbortSignal | null)?.removeEventListener('abort', onLeave)
      // The connection may be reused only when the cancel request can no longer hit another statement on it.
      await canceled
    }
  }

  #limitMs(sql: string, isInside: boolean): number {
    const { readMs, requestMs } = this.#limits
    return Math.min(this.#timeoutMs, isReading(sql) && !isInside ? readMs : requestMs)
  }
}

const isCanceled = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === CANCELED

/** Waits until a time, by the clock of `performance.now()`. */
async function within<T>(deadline: number, enter: (late: AbortSignal) => Promise<T>, refuse: () => AppError): Promise<T> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), Math.max(0, deadline - performance.now()))
  try {
    return await enter(late.signal)
  } catch {
    throw refuse()
  } finally {
    clearTimeout(timer)
  }
}

async function acquireUntil(deadline: number, pool: Pool): Promise<object> {
  if (!pool) throw new Error('Unable to acquire a connection')
  const pending = pool.acquire()
  let isLate = false
  const abort = () => {
    isLate = true
    pending.abort()
  }
  const timer = setTimeout(abort, Math.max(1, deadline - performance.now()))
  try {
    return await pending.promise
  } catch (error) {
    throw isLate ? noConnection() : error
  } finally {
    clearTimeout(timer)
  }
}

const hasLeft = () => new AppError('unavailable', 'The client has disconnected.')

function tooLong(isRead: boolean, limitMs: number): AppError {
  const seconds = limitMs / 1000
  const message = isRead
    ? `This list or search took longer than ${seconds} s and was stopped. Narrow it: name a library or a series, use fewer conditions, or look for longer words.`
    : `This took the database longer than ${seconds} s and was stopped. Change fewer things in one request, or try again later.`
  return new AppError('unavailable', message, { retryAfterSeconds: 10 })
}

/** @param limits.listsPerOwner is in the message, so that a client knows how many requests it may send at the same time */
function waitedTooLong({ listsPerOwner }: StatementLimits): NoShare {
  const message = `Too many lists and searches are running; a user may have ${listsPerOwner} at the same time. Wait until the others have ended, or narrow this one: name a library or a series, use fewer conditions, or look for longer words.`
  return new NoShare('unavailable', message, { retryAfterSeconds: 5 })
}

const noConnection = () =>
  new NoShare('unavailable', 'All connections to the database are in use. Send fewer requests at the same time, or try again shortly.', {
    retryAfterSeconds: 5,
  })
