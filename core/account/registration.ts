import { addressGroup } from '#core/account/address.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { refuse } from '#core/foundation/errors.ts'

/** Behind one address there may be a family, a school or an office; each person registers once. */
const REGISTRATIONS_MAX = 20
const WINDOW_MS = 3_600_000
/** Some 10,000 addresses. */
const BYTES_MAX = 6 * 1024 * 1024

/** Limits how many accounts people create from one address. */
interface RegistrationLimit {
  /** Counts an attempt. @throws rate_limit_exceeded with the seconds to wait */
  count(address: string): void
}

/** @param now milliseconds of a monotonic clock */
export function openRegistrationLimit(now: () => number = () => performance.now()): RegistrationLimit {
  const attempts = new BoundedCache<number[]>({ bytesMax: BYTES_MAX, ttl: WINDOW_MS })
  return {
    count(address) {
      const key = addressGroup(address)
      const recent = (attempts.get(key) ?? []).filter((at) => now() - at < WINDOW_MS)
      const [oldest = 0] = recent
      if (recent.length >= REGISTRATIONS_MAX) {
        const retryAfterSeconds = Math.max(1, Math.ceil((oldest + WINDOW_MS - now()) / 1000))
        refuse('rate_limit_exceeded', undefined, { retryAfterSeconds })
      }
      attempts.set(key, [...recent, now()])
    },
  }
}
