import type { ServerResponse } from 'node:http'
import type { Exchange } from '#api/http/exchange.ts'
import type { Accounts } from '#core/account/accounts.ts'
import type { Caller } from '#core/account/caller.ts'
import type { Log } from '#core/foundation/log.ts'

/** An answer is checked from its second check on, and credentials are cached for five seconds: it ends at most fifteen seconds after its right. */
const CHECK_MS = 5_000
/** How many are checked at the same time: each may need a connection of the database, which requests need too. */
const AT_ONCE = 10
/** While the database does not answer, nobody can take a right away there either; longer than this, an answer is not sent on trust. */
const UNCHECKED_MS_MAX = 60_000
/** A stream of core/events/follow.ts is ended by the announcement of a change, at once; one check finds what changed before it followed. */
const NEVER_AGAIN = Number.POSITIVE_INFINITY

interface OpenAnswersOptions {
  /** The exchanges whose responses are in progress. */
  list: () => Iterable<Exchange<never>>
  callers: Pick<Accounts['callers'], 'isAsBefore'>
  log: Log
}

/**
 * Ends answers that take long (downloads, long lists, event streams, work that a client waits for) when the credential ends, the account or its grants
 * change, or what is sent has been hidden: the connection is closed. A client that may continue sends the request again.
 * @returns stops it
 */
export function watchOpenAnswers(options: OpenAnswersOptions): () => void {
  const watch = new OpenAnswers(options)
  const timer = setInterval(() => void watch.check(), CHECK_MS).unref()
  return () => clearInterval(timer)
}

class OpenAnswers {
  readonly #options: OpenAnswersOptions
  readonly #checkedAt = new WeakMap<ServerResponse, number>()
  #isChecking = false

  constructor(options: OpenAnswersOptions) {
    this.#options = options
  }

  async check(): Promise<void> {
    if (this.#isChecking) return
    this.#isChecking = true
    try {
      const due = [...this.#options.list()].filter((exchange) => this.#isDue(exchange))
      for (let at = 0; at < due.length; at += AT_ONCE)
        await Promise.all(due.slice(at, at + AT_ONCE).map((exchange) => this.#checkOne(exchange)))
    } finally {
      this.#isChecking = false
    }
  }

  /**
   * Only answers that were there at the last check: a request that ends its own session is answered. While a body arrives, nothing is sent; the caller is
   * found again after it (api/http/handler.ts).
   */
  #isDue({ caller, request, response, route }: Exchange<never>): boolean {
    if (caller === null || !request.complete || route?.allow.who === 'public') return false
    const checkedAt = this.#checkedAt.get(response)
    if (checkedAt === undefined) this.#checkedAt.set(response, performance.now())
    return checkedAt !== undefined && checkedAt !== NEVER_AGAIN
  }

  async #checkOne(exchange: Exchange<never>): Promise<void> {
    const { caller, response, isAllowed, followsRights, id } = exchange
    const { callers, log } = this.#options
    let isOver: boolean
    try {
      isOver = !((await callers.isAsBefore(caller as Caller)) && ((await isAllowed?.()) ?? true))
      if (!isOver) this.#checkedAt.set(response, followsRights ? NEVER_AGAIN : performance.now())
    } catch (error) {
      log.debug({ requestId: id, error }, 'Could not check whether an answer may still be sent')
      isOver = performance.now() - (this.#checkedAt.get(response) ?? 0) > UNCHECKED_MS_MAX
    }
    if (!isOver || response.destroyed) return
    log.info({ requestId: id, userId: caller?.userId }, 'Ended an answer that its caller may not receive any more')
    response.destroy()
  }
}
