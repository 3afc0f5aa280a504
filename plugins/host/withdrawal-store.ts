import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { Channel } from '#core/cluster/channel-store.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'

/** Triggers of the database write to it, whoever makes the change: see migrations/baseline/plugins.ts. */
const CHANNEL = 'carrel_plugin'

/**
 * A connection that the network drops without a word is noticed within three seconds, and what runs is checked then. A false alarm costs only this check,
 * so the probes are more frequent than those of other channels; one takes a tenth of a millisecond.
 */
const PROBES = { everyMs: 1_000, deadlineMs: 2_000 }
/** How often what runs is checked while nothing arrives: a try to connect again may take ten seconds. */
const LOST_MS = 2_000
/** How long a call waits for the connection to return; the first try comes after a second. */
const RETURN_MS = 10_000

/** Whose isolates to check: those of one plugin, of one user, or of a plugin for one user; all when both are null. */
export interface Withdrawal {
  pluginId: string | null
  userId: string | null
  /** The server that has ended them at its own already, for another reason than the triggers see: the others end them without a check. */
  endedBy?: string
}

interface WithdrawalsOptions {
  database: Knex
  log: Log
  onWithdrawal: (withdrawal: Withdrawal) => void
  /** Withdrawals may be missed from now on. Called again every two seconds until they arrive; then `onWithdrawal` is, for all. */
  onLoss: () => void
}

/** Listens for changes that may end calls, from the first call on: a server that calls no plugin needs no connection. */
export class Withdrawals {
  readonly #options: WithdrawalsOptions
  #channel: Promise<Channel> | null = null
  #isClosed = false
  /** Resolves when it listens again; null while it does. */
  #return: PromiseWithResolvers<void> | null = null
  #checking: NodeJS.Timeout | undefined

  constructor(options: WithdrawalsOptions) {
    this.#options = options
  }

  /**
   * Resolves when nothing is missed any more: what is read from the database after that stays true until a withdrawal arrives.
   * @throws unavailable when nothing would arrive
   */
  async ready(): Promise<void> {
    if (this.#isClosed) return
    this.#channel ??= this.#open().catch((error) => {
      this.#channel = null
      throw error
    })
    await this.#channel
    if (this.#return === null) return
    const isBack = await Promise.race([this.#return.promise.then(() => true), sleep(RETURN_MS, false, { ref: false })])
    if (!isBack)
      refuse(
        'unavailable',
        'The server does not hear which calls of plugins must end, so none begins. Try again when its database answers.',
      )
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#found()
    const channel = await this.#channel?.catch(() => null)
    await channel?.close()
  }

  #open(): Promise<Channel> {
    const { database, log, onWithdrawal, onLoss } = this.#options
    return new Channel(database, {
      name: CHANNEL,
      onPayload: (payload) => onWithdrawal(JSON.parse(payload) as Withdrawal),
      probes: PROBES,
      // Some were missed meanwhile.
      onReturn: () => {
        this.#found()
        onWithdrawal({ pluginId: null, userId: null })
      },
      onLoss: (error) => {
        log.warn({ err: error }, 'The connection that says which plugin calls must end was lost; it will be reopened')
        if (this.#isClosed || this.#return !== null) return
        this.#return = Promise.withResolvers()
        this.#checking = setInterval(onLoss, LOST_MS)
        onLoss()
      },
    }).open()
  }

  /** Withdrawals arrive again, or nobody waits for them any more. */
  #found(): void {
    clearInterval(this.#checking)
    this.#return?.resolve()
    this.#return = null
  }
}

/** Tells the other servers to end isolates, because of a change that no trigger sees: other credentials. */
export async function announceEnd(database: Knex, withdrawal: Required<Withdrawal>): Promise<void> {
  await database.raw('SELECT pg_notify(?, ?)', [CHANNEL, JSON.stringify(withdrawal)])
}
