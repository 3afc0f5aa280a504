import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { AppError } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { type Apart, basisOf, concerns, type LiveIsolate, type LiveIsolates } from '#plugins/host/live-isolates.ts'
import { findPlugin } from '#plugins/host/plugin-store.ts'
import { findOwn, getRunnable, type SecretSettings, settingOf } from '#plugins/host/runnable.ts'
import { announceEnd, type Withdrawal, Withdrawals } from '#plugins/host/withdrawal-store.ts'
import type { HttpsEgress } from '#plugins/network/https-egress.ts'

/**
 * How long the database may take to say that something may still run while its withdrawals do not arrive: nothing runs that nobody can stop. An answer
 * takes a millisecond, and seconds on an overloaded machine.
 */
const CHECK_MS = 2_000

/** Whose withdrawals concern something that runs. */
interface WithdrawnFrom {
  pluginId: string
  userId: string | null
}

interface IsolateChecksOptions {
  database: Knex
  egress: Pick<HttpsEgress, 'forget'>
  log: Log
  secrets: SecretSettings
  /** False in safe mode. */
  enabled: boolean
}

/**
 * Ends what may no longer run, or would run with other rights or settings than the present ones. A change that allows more is announced too, and may
 * arrive when the next call runs already: so each isolate is checked, and none is ended for the news alone.
 */
export class IsolateChecks {
  readonly #options: IsolateChecksOptions
  readonly #isolates: LiveIsolates
  readonly #listener: Withdrawals
  /** This server, among those that hear of an end. */
  readonly #id = randomUUID()
  readonly #work = new Set<{ of: WithdrawnFrom; end: (deadlineMs?: number) => Promise<void> }>()
  readonly #onWithdrawal: ((withdrawal: Withdrawal) => void)[] = []
  #withdrawals = 0

  constructor(options: IsolateChecksOptions, isolates: LiveIsolates) {
    const { database, log } = options
    this.#options = options
    this.#isolates = isolates
    this.#listener = new Withdrawals({
      database,
      log,
      onWithdrawal: (withdrawal) => void this.#check(withdrawal),
      onLoss: () => void this.#check({ pluginId: null, userId: null }, CHECK_MS),
    })
  }

  /** How many have arrived: an isolate that opens after others have is checked. */
  get withdrawals(): number {
    return this.#withdrawals
  }

  /** Has something forget what it keeps of those whose rights change. Nothing may be kept before `ready`. */
  onWithdrawal(forget: (withdrawal: Withdrawal) => void): void {
    this.#onWithdrawal.push(forget)
  }

  /** Resolves when it listens. */
  ready(): Promise<void> {
    return this.#listener.ready()
  }

  close(): Promise<void> {
    return this.#listener.close()
  }

  /** Ends isolates on every server without a check. */
  async end(of: { pluginId: string; userId: string | null }): Promise<void> {
    this.#withdrawals += 1
    for (const isolate of this.#isolates.list(of)) this.#isolates.drop(isolate)
    await announceEnd(this.#options.database, { ...of, endedBy: this.#id })
  }

  /**
   * Does work of the server for a plugin, such as fetching a picture, which ends when it is not allowed any more.
   * @param allow throws while the work is not allowed; its result is for the work
   * @throws what `allow` does, also when something is withdrawn meanwhile
   */
  async whileAllowed<Right, Value>(
    of: WithdrawnFrom,
    allow: () => Promise<Right>,
    signal: AbortSignal,
    work: (right: Right, signal: AbortSignal) => Promise<Value>,
  ): Promise<Value> {
    await this.ready()
    const ended = new AbortController()
    const end = async (deadlineMs?: number) => {
      const isAllowed = await withinTime(
        allow().then(
          () => true,
          (error: unknown) => ended.abort(error),
        ),
        deadlineMs,
      )
      if (isAllowed === null) ended.abort(new AppError('unavailable', 'The server does not know whether this may go on. Try again.'))
    }
    const one = { of, end }
    this.#work.add(one)
    try {
      return await work(await allow(), AbortSignal.any([signal, ended.signal]))
    } catch (error) {
      ended.signal.throwIfAborted()
      throw error
    } finally {
      this.#work.delete(one)
    }
  }

  /** Whether it may still run, with the same rights and settings. */
  async isCurrent({ pluginId, userId, basis }: LiveIsolate): Promise<boolean> {
    try {
      return basis === basisOf(await settingOf(await getRunnable(this.#options, pluginId, userId), this.#options.secrets))
    } catch {
      return false
    }
  }

  /** @param deadlineMs what cannot be checked by then is ended; default: however long it takes */
  async #check(withdrawal: Withdrawal, deadlineMs?: number): Promise<void> {
    const { endedBy } = withdrawal
    if (endedBy === this.#id) return
    this.#withdrawals += 1
    this.#options.egress.forget(withdrawal)
    for (const forget of this.#onWithdrawal) forget(withdrawal)
    const isolates = this.#isolates.list(withdrawal).map(async (isolate) => {
      if (endedBy !== undefined || (await withinTime(this.isCurrent(isolate), deadlineMs)) !== true) this.#isolates.drop(isolate)
    })
    const apart = this.#isolates.listApart(withdrawal).map(async (one) => {
      if ((await withinTime(this.#mayFinish(one), deadlineMs)) !== true) one.guest.close()
    })
    const work = [...this.#work].filter(({ of }) => concerns(withdrawal, of)).map(({ end }) => end(deadlineMs))
    await Promise.all([...isolates, ...apart, ...work])
  }

  /** A version that is started beside the running one, such as to migrate data, may finish unless its plugin is stopped meanwhile. */
  async #mayFinish({ plugin, userId }: Apart): Promise<boolean> {
    try {
      const now = await findPlugin(this.#options.database, plugin.id)
      await findOwn(this.#options.database, plugin, userId, true)
      return now !== null && (now.state === plugin.state || now.state === 'enabled')
    } catch {
      return false
    }
  }
}

/** Null when it takes longer. */
const withinTime = <Value>(answer: Promise<Value>, ms: number | undefined): Promise<Value | null> =>
  ms === undefined ? answer : Promise.race([answer, sleep(ms, null, { ref: false })])
