import { Register } from '#core/foundation/register.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import type { UserPlugin } from '#plugins/host/user-plugin-store.ts'
import type { Withdrawal } from '#plugins/host/withdrawal-store.ts'
import type { Guest } from '#plugins/runtime/guest.ts'

/** The present settings for a call, read from the database for each. */
export interface CallSetting {
  plugin: InstalledPlugin
  userId: string | null
  /** What the user has agreed to; null when it does not run for a user. */
  own: UserPlugin | null
  config: Record<string, unknown>
  userConfig: Record<string, unknown>
}

export interface LiveIsolate {
  readonly key: string
  readonly pluginId: string
  readonly userId: string | null
  /** The version, the rights and the settings that it runs with. */
  readonly basis: string
  readonly guest: Guest
  readonly ready: Promise<void>
  /** Running and waiting calls. */
  calls: number
  lastUsed: number
}

/** Isolates at a time, about 2 MB each; the least recently used is evicted. */
const LIVE_MAX = 64
/** An idle isolate is closed after this time. */
const IDLE_MS = 10 * 60_000
const LOOK_EVERY_MS = 60_000

/**
 * The idle isolates to close: those that are unused for long, and the least recently used one when there would be too
 * many.
 */
export function findSpare<Isolate extends Pick<LiveIsolate, 'calls' | 'lastUsed'>>(live: readonly Isolate[], now: number): Isolate[] {
  const idle = live.filter(({ calls }) => calls === 0).sort((a, b) => a.lastUsed - b.lastUsed)
  const firstKept = idle.findIndex(({ lastUsed }, index) => live.length - index < LIVE_MAX && now - lastUsed < IDLE_MS)
  return firstKept === -1 ? idle : idle.slice(0, firstKept)
}

/** A user who has deleted all data of a plugin and enables it again has another row: nothing of the first lives on in an isolate. */
export const basisOf = ({ plugin, own, config, userConfig }: CallSetting): string =>
  JSON.stringify([plugin.versionId, plugin.granted, plugin.privateOrigins, own?.id ?? null, config, userConfig])

const keyOf = (pluginId: string, userId: string | null): string => `${pluginId}/${userId ?? ''}`

/** A version that is started beside the running one, such as to migrate data. */
export interface Apart {
  pluginId: string
  userId: string | null
  /** As it was at the start. */
  plugin: InstalledPlugin
  guest: Guest
}

export const concerns = (of: Withdrawal, one: { pluginId: string; userId: string | null }): boolean =>
  (of.pluginId === null || of.pluginId === one.pluginId) && (of.userId === null || of.userId === one.userId)

interface LiveIsolatesOptions {
  readCode: (plugin: InstalledPlugin) => Promise<string>
  start: (setting: CallSetting, code: string) => Guest
  /** Loads the plugin and runs its setup. */
  setUp: (guest: Guest, setting: CallSetting) => Promise<void>
}

/** Isolates by plugin, and by user where it runs for one: data of different users is never in the same isolate. */
export class LiveIsolates {
  readonly #options: LiveIsolatesOptions
  readonly #live = new Register<LiveIsolate>()
  /** Started beside the running version. */
  readonly #apart = new Set<Apart>()
  readonly #watch = setInterval(() => this.#closeSpare(), LOOK_EVERY_MS).unref()

  constructor(options: LiveIsolatesOptions) {
    this.#options = options
  }

  async open(setting: CallSetting): Promise<LiveIsolate> {
    const { plugin } = setting
    const known = this.#findSame(setting)
    if (known) return known
    const code = await this.#options.readCode(plugin)
    // Another call has started one while the code was loading.
    const other = this.#findSame(setting)
    if (other) return other
    this.#closeSpare()
    const guest = this.#options.start(setting, code)
    const opened: LiveIsolate = {
      key: keyOf(plugin.id, setting.userId),
      pluginId: plugin.id,
      userId: setting.userId,
      basis: basisOf(setting),
      guest,
      ready: this.#options.setUp(guest, setting),
      calls: 0,
      lastUsed: performance.now(),
    }
    opened.ready.catch(() => {})
    this.#live.set(opened.key, opened)
    return opened
  }

  /** Closes an isolate permanently. */
  drop(isolate: LiveIsolate): void {
    if (this.#live.get(isolate.key) === isolate) this.#live.delete(isolate.key)
    isolate.guest.close()
  }

  /** Closes a guest that is started beside the running version too, when its plugin or user is meant. @returns call when it has ended */
  hold(apart: Apart): () => void {
    this.#apart.add(apart)
    return () => void this.#apart.delete(apart)
  }

  list(of: Withdrawal): LiveIsolate[] {
    return [...this.#live.values()].filter((isolate) => concerns(of, isolate))
  }

  listApart(of: Withdrawal): Apart[] {
    return [...this.#apart].filter((apart) => concerns(of, apart))
  }

  close(): void {
    clearInterval(this.#watch)
    for (const isolate of [...this.#live.values()]) this.drop(isolate)
    for (const { guest } of this.#apart) guest.close()
  }

  /** The isolate with this version and configuration; closes one with another. */
  #findSame(setting: CallSetting): LiveIsolate | null {
    const known = this.#live.get(keyOf(setting.plugin.id, setting.userId))
    if (known === undefined) return null
    if (known.basis === basisOf(setting)) return known
    this.drop(known)
    return null
  }

  #closeSpare(): void {
    for (const isolate of findSpare([...this.#live.values()], performance.now())) this.drop(isolate)
  }
}
