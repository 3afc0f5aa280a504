import type { Knex } from 'knex'
import { type Channel, openChannel } from '#core/cluster/channel-store.ts'
import type { Log } from '#core/foundation/log.ts'

/** Triggers of the database write to it, whoever makes the change: see migrations/baseline/plugins.ts. */
const CHANNEL = 'carrel_plugin'

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
}

/** Listens for changes that may end calls, from the first call on: a server that calls no plugin needs no connection. */
export class Withdrawals {
  readonly #options: WithdrawalsOptions
  #channel: Promise<Channel> | null = null
  #isClosed = false

  constructor(options: WithdrawalsOptions) {
    this.#options = options
  }

  /** Resolves when nothing is missed any more: what is read from the database after that stays true until a withdrawal arrives. */
  async ready(): Promise<void> {
    if (this.#isClosed) return
    this.#channel ??= this.#open().catch((error) => {
      this.#channel = null
      throw error
    })
    await this.#channel
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const channel = await this.#channel?.catch(() => null)
    await channel?.close()
  }

  #open(): Promise<Channel> {
    const { database, log, onWithdrawal } = this.#options
    return openChannel(database, {
      name: CHANNEL,
      onPayload: (payload) => onWithdrawal(JSON.parse(payload) as Withdrawal),
      // Some were missed meanwhile.
      onReturn: () => onWithdrawal({ pluginId: null, userId: null }),
      onLoss: (error) => log.warn({ err: error }, 'The connection that says which plugin calls must end was lost; it will be reopened'),
    })
  }
}

/** Tells the other servers to end isolates, because of a change that no trigger sees: other credentials. */
export async function announceEnd(database: Knex, withdrawal: Required<Withdrawal>): Promise<void> {
  await database.raw('SELECT pg_notify(?, ?)', [CHANNEL, JSON.stringify(withdrawal)])
}
