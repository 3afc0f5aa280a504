import { addressGroup } from '#core/account/address.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { refuse } from '#core/foundation/errors.ts'

/** Behind one address there may be a family, a school or an office; each person registers once. */
const REGISTRATIONS_MAX = 20
const WINDOW_MS = 3_600_000
/** Some 10,000 addresses. */
const BYTES_MAX = 6 * 1024 * 1024

/** Limits how many accounts people create from one address. */
export class RegistrationLimit {
  readonly #attempts = new BoundedCache<number[]>({ bytesMax: BYTES_MAX, ttl: WINDOW_MS })
  readonly #now: () => number

  /** @param now milliseconds of a monotonic clock */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Counts an attempt. @throws rate_limit_exceeded with the seconds to wait */
  count(address: string): void {
    const key = addressGroup(address)
    const now = this.#now()
    const recent = (this.#attempts.get(key) ?? []).filter((at) => now - at < WINDOW_MS)
    const [oldest = 0] = recent
    if (recent.length >= REGISTRATIONS_MAX) {
      refuse('rate_limit_exceeded', undefined, { retryAfterSeconds: Math.max(1, Math.ceil((oldest + WINDOW_MS - now) / 1000)) })
    }
    this.#attempts.set(key, [...recent, now])
  }
}
