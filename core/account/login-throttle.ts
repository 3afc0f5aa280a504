import { LRUCache } from 'lru-cache'
import { addressGroup } from '#core/account/address.ts'
import { bounded } from '#core/bounded.ts'
import { refuse } from '#core/errors.ts'

/** Nobody mistypes more often in a row; then each further failure doubles the pause. */
const ACCOUNT = { freeFailures: 5, pauseSecondsMax: 300 }
/** Behind one address there may be a family, a school, an office. */
const ADDRESS = { freeFailures: 20, pauseSecondsMax: 900 }
/** Failures are forgotten after this; longer than the longest pause. */
const MEMORY_MS = 30 * 60_000
/** Some megabytes at most; a flood of names drops the oldest first. */
const ENTRIES_MAX = 20_000

interface Entry {
  failures: number
  pending: number
  pausedUntil: number
}

/** One attempt to sign in; end it exactly once. */
export interface LoginAttempt {
  succeed(): void
  fail(): void
  /** Ends it without judging, when the password could not be checked. */
  abandon(): void
}

/** Slows guessing of passwords down, per account and per address. It never says whether the account exists. */
export interface LoginThrottle {
  /**
   * @param who.account the same for every name of one account (`findLogin` answers it)
   * @throws rate_limit_exceeded with the seconds to wait
   */
  begin(who: { account: string; address: string }): LoginAttempt
}

/** @param now milliseconds of a clock that only goes forward */
export function openLoginThrottle(now: () => number = () => performance.now()): LoginThrottle {
  const accounts = new LRUCache<string, Entry>({ ...bounded(ENTRIES_MAX), ttl: MEMORY_MS })
  const addresses = new LRUCache<string, Entry>({ ...bounded(ENTRIES_MAX), ttl: MEMORY_MS })

  function find(cache: LRUCache<string, Entry>, key: string): Entry {
    const known = cache.get(key)
    if (known) return known
    const entry = { failures: 0, pending: 0, pausedUntil: 0 }
    cache.set(key, entry)
    return entry
  }

  function enter(entry: Entry, limit: typeof ACCOUNT): number {
    const waitMs = entry.pausedUntil - now()
    if (waitMs > 0) return Math.ceil(waitMs / 1000)
    // Attempts still in the air count as failures, else a hundred at once would all be the first.
    return entry.pending > 0 && entry.failures + entry.pending >= limit.freeFailures ? 1 : 0
  }

  function fail(cache: LRUCache<string, Entry>, key: string, entry: Entry, limit: typeof ACCOUNT): void {
    entry.failures++
    const over = entry.failures - limit.freeFailures
    if (over >= 0) entry.pausedUntil = now() + Math.min(2 ** Math.min(over, 30), limit.pauseSecondsMax) * 1000
    cache.set(key, entry)
  }

  return {
    begin({ account: accountKey, address }) {
      const addressKey = addressGroup(address)
      const account = find(accounts, accountKey)
      const place = find(addresses, addressKey)
      const wait = Math.max(enter(account, ACCOUNT), enter(place, ADDRESS))
      if (wait > 0) refuse('rate_limit_exceeded', undefined, { retryAfterSeconds: wait })
      account.pending++
      place.pending++
      const leave = () => {
        account.pending--
        place.pending--
      }
      return {
        succeed() {
          leave()
          // The address keeps its count: else whoever owns one account could guess at the others between two logins of their own.
          account.failures = 0
        },
        fail() {
          leave()
          fail(accounts, accountKey, account, ACCOUNT)
          fail(addresses, addressKey, place, ADDRESS)
        },
        abandon: leave,
      }
    },
  }
}
