import { KEYS_MAX, STORAGE_KEY_LENGTH_MAX, STORAGE_VALUE_LENGTH_MAX, TTL_SECONDS_MAX } from '#plugins/host/host-calls.ts'
import { refuseGuest } from '#plugins/runtime/guest-error.ts'

/** Plugin storage for the duration of the command: with the limits of a server, without a database. */
export interface MemoryStorage {
  get(key: unknown): unknown
  set(given: { key: unknown; value: unknown; ttlSeconds: unknown }): void
  delete(key: unknown): void
  list(prefix: unknown): string[]
  /** Everything stored. */
  content(): Record<string, unknown>
}

/**
 * @param quotaKB what the manifest requests; 0 when it requests no storage
 * @param now milliseconds, for expiry
 */
export function openMemoryStorage(quotaKB: number, first: Record<string, unknown> = {}, now: () => number = Date.now): MemoryStorage {
  const kept = new Map<string, { text: string; expiresAt: number }>()
  for (const [key, value] of Object.entries(first))
    kept.set(key, { text: JSON.stringify(value ?? null), expiresAt: Number.POSITIVE_INFINITY })

  const drop = (): void => {
    for (const [key, { expiresAt }] of kept) if (expiresAt <= now()) kept.delete(key)
  }
  const granted = (): void => {
    if (quotaKB === 0) refuseGuest('permission', 'This plugin has no storage: its manifest does not request it.')
    drop()
  }
  const keyOf = (key: unknown): string =>
    typeof key === 'string' && key !== '' && key.length <= STORAGE_KEY_LENGTH_MAX && !key.includes('\0') && key.isWellFormed()
      ? key
      : refuseGuest('invalid_argument', `A key must be a text of at most ${STORAGE_KEY_LENGTH_MAX} characters.`)

  return {
    get(key) {
      granted()
      const text = kept.get(keyOf(key))?.text
      return text === undefined ? null : (JSON.parse(text) as unknown)
    },
    set({ key: givenKey, value, ttlSeconds }) {
      granted()
      const key = keyOf(givenKey)
      const text = (JSON.stringify(value ?? null) as string).toWellFormed()
      if (text.length > STORAGE_VALUE_LENGTH_MAX)
        refuseGuest('limit', `A value may have at most ${STORAGE_VALUE_LENGTH_MAX} characters as JSON.`)
      const lasts = typeof ttlSeconds === 'number' && ttlSeconds > 0 && ttlSeconds <= TTL_SECONDS_MAX
      if (ttlSeconds !== undefined && ttlSeconds !== null && !lasts)
        refuseGuest('invalid_argument', `ttlSeconds must be a number above 0 and at most ${TTL_SECONDS_MAX}.`)
      const others = [...kept].filter(([name]) => name !== key)
      if (others.length >= KEYS_MAX) refuseGuest('limit', `The storage already has ${KEYS_MAX} keys, the maximum.`)
      const bytes = [...others, [key, { text }] as const].reduce(
        (sum, [name, one]) => sum + Buffer.byteLength(name) + Buffer.byteLength(one.text),
        0,
      )
      if (bytes > quotaKB * 1024) refuseGuest('limit', `The storage would have ${bytes} bytes; the limit is ${quotaKB * 1024}.`)
      kept.set(key, { text, expiresAt: lasts ? now() + (ttlSeconds as number) * 1000 : Number.POSITIVE_INFINITY })
    },
    delete(key) {
      granted()
      kept.delete(keyOf(key))
    },
    list(prefix) {
      granted()
      const wanted = typeof prefix === 'string' ? prefix : ''
      return [...kept.keys()].filter((key) => key.startsWith(wanted)).sort()
    },
    content() {
      drop()
      return Object.fromEntries([...kept].map(([key, { text }]) => [key, JSON.parse(text) as unknown]))
    },
  }
}
