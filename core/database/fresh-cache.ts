import { LRUCache } from 'lru-cache'
import { openSingleFlight } from '#core/database/single-flight.ts'
import { bounded } from '#core/foundation/bounded.ts'

/** Remembers what was loaded, for a short time; one load at a time per key. */
export interface FreshCache<T extends object> {
  get(key: string): Promise<T | null>
  /** Forgets everything; loads under way are answered but not remembered. */
  clear(): void
  /** Forgets what this is true of; loads under way, of which nobody knows yet, are not remembered either. */
  forget(isMeant: (value: T) => boolean): void
}

/**
 * @param options.max entries; the least used go first
 * @param options.freshMs how long an entry is believed without asking again
 * @param options.keep whether a value may be remembered; without it every one may
 * @param options.load answers null when there is nothing; that is not remembered, so that a flood of unknown keys pushes nobody out
 */
export function openFreshCache<T extends object>(options: {
  max: number
  freshMs: number
  keep?: (value: T) => boolean
  load: (key: string) => Promise<T | null>
}): FreshCache<T> {
  const entries = new LRUCache<string, { value: T; freshUntil: number }>(bounded(options.max))
  const loads = openSingleFlight()
  // A load that began before something was forgotten may carry the old state: it is not remembered.
  let generation = 0

  async function load(key: string): Promise<T | null> {
    const begun = generation
    const value = await options.load(key)
    if (begun === generation) {
      if (value === null || options.keep?.(value) === false) entries.delete(key)
      else entries.set(key, { value, freshUntil: performance.now() + options.freshMs })
    }
    return value
  }

  return {
    async get(key) {
      const known = entries.get(key)
      if (known && known.freshUntil > performance.now()) return known.value
      return await loads.join(key, undefined, () => load(key))
    },
    clear() {
      generation++
      loads.forget()
      entries.clear()
    },
    forget(isMeant) {
      generation++
      loads.forget()
      for (const [key, { value }] of entries) if (isMeant(value)) entries.delete(key)
    },
  }
}
