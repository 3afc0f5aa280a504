import { SingleFlight } from '#core/database/single-flight.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'

interface FreshCacheOptions<T extends object> {
  /** Of what is kept; the least recently used are evicted first. */
  bytesMax: number
  /** How long an entry is used without loading it again. */
  freshMs: number
  /** Whether a value may be cached; by default every value. */
  keep?: (value: T) => boolean
  /** Returns null when there is nothing; that is not cached, so that a flood of unknown keys evicts nothing. */
  load: (key: string) => Promise<T | null>
}

/** Caches loaded values for a short time; one load at a time per key. */
export class FreshCache<T extends object> {
  readonly #options: FreshCacheOptions<T>
  readonly #entries: BoundedCache<{ value: T; freshUntil: number }>
  readonly #loads = new SingleFlight({ mayRepeat: true })
  // A load that began before `clear` or `forget` may return the old state: it is not cached.
  #generation = 0

  constructor(options: FreshCacheOptions<T>) {
    this.#options = options
    this.#entries = new BoundedCache({ bytesMax: options.bytesMax })
  }

  async get(key: string): Promise<T | null> {
    const known = this.#entries.get(key)
    if (known && known.freshUntil > performance.now()) return known.value
    return await this.#loads.join(key, undefined, () => this.#load(key))
  }

  /** Removes all entries; loads that are running are returned but not cached. */
  clear(): void {
    this.forget(() => true)
  }

  /** Removes matching entries; loads that are running, whose values are not known yet, are not cached either. */
  forget(isMeant: (value: T) => boolean): void {
    this.#generation++
    this.#loads.forget()
    this.#entries.forget(({ value }) => isMeant(value))
  }

  async #load(key: string): Promise<T | null> {
    const begun = this.#generation
    const { load, keep, freshMs } = this.#options
    const value = await load(key)
    if (begun === this.#generation) {
      if (value === null || keep?.(value) === false) this.#entries.delete(key)
      else this.#entries.set(key, { value, freshUntil: performance.now() + freshMs })
    }
    return value
  }
}
