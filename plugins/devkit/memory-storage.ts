import { KEYS_MAX, NO_STORAGE, storageJsonOf, storageKeyOf, storageTtlOf } from '#plugins/host/host-calls.ts'
import { refuseGuest } from '#plugins/runtime/guest-error.ts'

/** Plugin storage for the duration of the command: with the limits of a server, without a database. */
export class MemoryStorage {
  readonly #quotaKB: number
  readonly #now: () => number
  readonly #kept = new Map<string, { text: string; expiresAt: number }>()

  /**
   * @param quotaKB what the manifest requests; 0 when it requests no storage
   * @param now milliseconds, for expiry
   */
  constructor(quotaKB: number, first: Record<string, unknown> = {}, now: () => number = Date.now) {
    this.#quotaKB = quotaKB
    this.#now = now
    for (const [key, value] of Object.entries(first))
      this.#kept.set(key, { text: JSON.stringify(value ?? null), expiresAt: Number.POSITIVE_INFINITY })
  }

  get(key: unknown): unknown {
    this.#checkGranted()
    const text = this.#kept.get(storageKeyOf({ key }))?.text
    return text === undefined ? null : JSON.parse(text)
  }

  set(given: { key: unknown; value: unknown; ttlSeconds: unknown }): void {
    this.#checkGranted()
    const key = storageKeyOf(given)
    const text = storageJsonOf(given)
    const ttlSeconds = storageTtlOf(given)
    const others = [...this.#kept].filter(([name]) => name !== key)
    if (others.length >= KEYS_MAX) refuseGuest('limit', `The storage already has ${KEYS_MAX} keys, the maximum.`)
    const bytes = [...others, [key, { text }] as const].reduce(
      (sum, [name, one]) => sum + Buffer.byteLength(name) + Buffer.byteLength(one.text),
      0,
    )
    const bytesMax = this.#quotaKB * 1024
    if (bytes > bytesMax) refuseGuest('limit', `The storage would have ${bytes} bytes; the limit is ${bytesMax}.`)
    this.#kept.set(key, { text, expiresAt: ttlSeconds === null ? Number.POSITIVE_INFINITY : this.#now() + ttlSeconds * 1000 })
  }

  delete(key: unknown): void {
    this.#checkGranted()
    this.#kept.delete(storageKeyOf({ key }))
  }

  list(prefix: unknown): string[] {
    this.#checkGranted()
    const wanted = typeof prefix === 'string' ? prefix : ''
    return [...this.#kept.keys()].filter((key) => key.startsWith(wanted)).sort()
  }

  /** Everything stored. */
  content(): Record<string, unknown> {
    this.#dropExpired()
    return Object.fromEntries([...this.#kept].map(([key, { text }]) => [key, JSON.parse(text)]))
  }

  #checkGranted(): void {
    if (this.#quotaKB === 0) refuseGuest('permission', NO_STORAGE)
    this.#dropExpired()
  }

  #dropExpired(): void {
    for (const [key, { expiresAt }] of this.#kept) if (expiresAt <= this.#now()) this.#kept.delete(key)
  }
}
