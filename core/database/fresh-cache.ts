import { openSingleFlight } from '#core/database/single-flight.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'

/** Caches loaded values for a short time; one load at a time per key. */
export interface FreshCache<T extends object> {
  get(key: string): Promise<T | null>
  /** Removes all entries; loads that are running are returned but not cached. */
  clear(): void
  /** Removes matching entries; loads that are running, whose values are not known yet, are not cached either. */
  forget(isMeant: (value: T) => boolean): void
}

/**
 * @param options.bytesMax of what is kept; the least recently used are evicted first
 * @param options.freshMs how long an entry is used without loading it again
 * @param options.keep whether a value may be cached; by default every value
 * @param options.load returns null when there is nothing; that is not cached, so that a flood of unknown keys evicts nothing
 */
export function openFreshCache<T extends object>(options: {
  bytesMax: number
  freshMs: number
  keep?: (value: T) => boolean
  load: (key: string) => Promise<T | null>
}): FreshCache<T> {
  const entries = new BoundedCache<{ value: T; freshUntil: number }>({ bytesMax: options.bytesMax })
  const loads = openSingleFlight({ mayRepeat: true })
  // A load that began before `clear` or `forget` may return the old state: it is not cached.
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
      entries.forget(({ value }) => isMeant(value))
    },
  }
}
