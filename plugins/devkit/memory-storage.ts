import { KEY_LENGTH_MAX, KEYS_MAX, TTL_SECONDS_MAX, VALUE_LENGTH_MAX } from '#plugins/host/host-calls.ts'
import { refuse } from '#plugins/network/request.ts'

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
    const text = this.#kept.get(keyOf(key))?.text
    return text === undefined ? null : JSON.parse(text)
  }

  set({ key: givenKey, value, ttlSeconds }: { key: unknown; value: unknown; ttlSeconds: unknown }): void {
    this.#checkGranted()
    const key = keyOf(givenKey)
    const text = (JSON.stringify(value ?? null) as string).toWellFormed()
    if (text.length > VALUE_LENGTH_MAX) refuse('limit', `A value may have at most ${VALUE_LENGTH_MAX} characters as JSON.`)
    const lasts = typeof ttlSeconds === 'number' && ttlSeconds > 0 && ttlSeconds <= TTL_SECONDS_MAX
    if (ttlSeconds !== undefined && ttlSeconds !== null && !lasts)
      refuse('invalid_argument', `ttlSeconds must be a number above 0 and at most ${TTL_SECONDS_MAX}.`)
    const others = [...this.#kept].filter(([name]) => name !== key)
    if (others.length >= KEYS_MAX) refuse('limit', `The storage already has ${KEYS_MAX} keys, the maximum.`)
    const bytes = [...others, [key, { text }] as const].reduce(
      (sum, [name, one]) => sum + Buffer.byteLength(name) + Buffer.byteLength(one.text),
      0,
    )
    const bytesMax = this.#quotaKB * 1024
    if (bytes > bytesMax) refuse('limit', `The storage would have ${bytes} bytes; the limit is ${bytesMax}.`)
    this.#kept.set(key, { text, expiresAt: lasts ? this.#now() + (ttlSeconds as number) * 1000 : Number.POSITIVE_INFINITY })
  }

  delete(key: unknown): void {
    this.#checkGranted()
    this.#kept.delete(keyOf(key))
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
    if (this.#quotaKB === 0) refuse('permission', 'This plugin has no storage: its manifest does not request it.')
    this.#dropExpired()
  }

  #dropExpired(): void {
    for (const [key, { expiresAt }] of this.#kept) if (expiresAt <= this.#now()) this.#kept.delete(key)
  }
}

const keyOf = (key: unknown): string =>
  typeof key === 'string' && key !== '' && key.length <= KEY_LENGTH_MAX && !key.includes('\0') && key.isWellFormed()
    ? key
    : refuse('invalid_argument', `A key must be a text of at most ${KEY_LENGTH_MAX} characters.`)
