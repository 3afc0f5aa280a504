import { KEYS_MAX, storageJsonOf, storageKeyOf, storageTtlOf } from '#plugins/host/host-calls.ts'
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

  return {
    get(key) {
      granted()
      const text = kept.get(storageKeyOf({ key }))?.text
      return text === undefined ? null : (JSON.parse(text) as unknown)
    },
    set(given) {
      granted()
      const key = storageKeyOf(given)
      const text = storageJsonOf(given)
      const ttlSeconds = storageTtlOf(given)
      const others = [...kept].filter(([name]) => name !== key)
      if (others.length >= KEYS_MAX) refuseGuest('limit', `The storage already has ${KEYS_MAX} keys, the maximum.`)
      const bytes = [...others, [key, { text }] as const].reduce(
        (sum, [name, one]) => sum + Buffer.byteLength(name) + Buffer.byteLength(one.text),
        0,
      )
      if (bytes > quotaKB * 1024) refuseGuest('limit', `The storage would have ${bytes} bytes; the limit is ${quotaKB * 1024}.`)
      kept.set(key, { text, expiresAt: ttlSeconds === null ? Number.POSITIVE_INFINITY : now() + ttlSeconds * 1000 })
    },
    delete(key) {
      granted()
      kept.delete(storageKeyOf({ key }))
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
