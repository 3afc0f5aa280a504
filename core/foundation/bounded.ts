import { LRUCache } from 'lru-cache'
import { memoryBytes } from '#core/foundation/memory-bytes.ts'
import { keptKey, shortKey } from '#core/foundation/register.ts'

/** What an entry takes beside its key and value. */
const ENTRY_BYTES = 200

interface Bounds<V> extends Pick<LRUCache.Options<string, V, unknown>, 'ttl' | 'ttlResolution' | 'ttlAutopurge' | 'updateAgeOnGet'> {
  /** Of all values, with their keys. */
  bytesMax: number
  /** What a value takes, if it grows later, or holds more than {@link memoryBytes} finds in it. */
  bytesOf?: (value: V) => number
  /** What an entry takes beside its value; by default the memory of its key and of the cache. */
  entryBytes?: number
  /** For what else an entry takes, such as a descriptor. */
  entriesMax?: number
  /** Whether an entry larger than the cache is kept, alone: for values that would otherwise be made again with every request. By default it is not. */
  keepsLargest?: boolean
  /** Called with each value that leaves the cache. */
  dispose?: (value: V, reason: LRUCache.DisposeReason) => void
}

/**
 * A cache that takes no more memory than it says, whatever the length of its keys and values, or than its largest value if it keeps that; the least recently
 * used entries leave it first. Every cache of the server is one: a number of entries is no limit while a client decides how long they are.
 */
export class BoundedCache<V extends object | string | boolean> {
  readonly #entries: LRUCache<string, V>

  constructor({ bytesMax, bytesOf = memoryBytes, entryBytes, entriesMax, keepsLargest, dispose, ...times }: Bounds<V>) {
    const entryBytesMax = keepsLargest ? bytesMax : Number.POSITIVE_INFINITY
    this.#entries = new LRUCache<string, V>({
      ...times,
      // With `max`, the cache allocates all entries at once, 0.3 ms per thousand, and most of our caches stay nearly empty.
      ...(entriesMax !== undefined && { max: entriesMax }),
      maxSize: bytesMax,
      sizeCalculation: (value, key) => Math.min(entryBytesMax, (entryBytes ?? ENTRY_BYTES + 2 * key.length) + Math.ceil(bytesOf(value))),
      ...(dispose && { dispose: (value, _, reason) => dispose(value, reason) }),
    })
  }

  get(key: string): V | undefined {
    return this.#entries.get(shortKey(key))
  }

  /** Like {@link get}, without counting as a use. */
  peek(key: string): V | undefined {
    return this.#entries.peek(shortKey(key))
  }

  has(key: string): boolean {
    return this.#entries.has(shortKey(key))
  }

  set(key: string, value: V): void {
    this.#entries.set(keptKey(key), value)
  }

  delete(key: string): void {
    this.#entries.delete(shortKey(key))
  }

  /** Removes every entry whose value is meant. */
  forget(isMeant: (value: V) => boolean): void {
    for (const [key, value] of this.#entries) if (isMeant(value)) this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
  }

  purgeStale(): void {
    this.#entries.purgeStale()
  }

  /** From the most recently used on. */
  values(): V[] {
    return [...this.#entries.values()]
  }

  get size(): number {
    return this.#entries.size
  }

  /** What its entries take. */
  get bytes(): number {
    return this.#entries.calculatedSize
  }
}
