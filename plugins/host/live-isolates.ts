import { Register } from '#core/foundation/register.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import type { Guest } from '#plugins/runtime/guest.ts'

/** The present settings for a call, read from the database for each. */
export interface CallSetting {
  plugin: InstalledPlugin
  userId: string | null
  config: Record<string, unknown>
  userConfig: Record<string, unknown>
}

export interface LiveIsolate {
  readonly key: string
  readonly versionId: string
  /** Hash of its configuration: another server may change that without notice. */
  readonly configured: string
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

const keyOf = (pluginId: string, userId: string | null): string => `${pluginId}/${userId ?? ''}`

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
      versionId: plugin.versionId,
      configured: configurationOf(setting),
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

  /** Closes all isolates of a plugin, or those for one user. */
  end(pluginId: string, userId?: string): void {
    for (const isolate of this.#live.values())
      if (userId === undefined ? isolate.key.startsWith(`${pluginId}/`) : isolate.key === keyOf(pluginId, userId)) this.drop(isolate)
  }

  close(): void {
    clearInterval(this.#watch)
    for (const isolate of [...this.#live.values()]) this.drop(isolate)
  }

  /** The isolate with this version and configuration; closes one with another. */
  #findSame(setting: CallSetting): LiveIsolate | null {
    const known = this.#live.get(keyOf(setting.plugin.id, setting.userId))
    if (known === undefined) return null
    if (known.versionId === setting.plugin.versionId && known.configured === configurationOf(setting)) return known
    this.drop(known)
    return null
  }

  #closeSpare(): void {
    for (const isolate of findSpare([...this.#live.values()], performance.now())) this.drop(isolate)
  }
}

const configurationOf = ({ config, userConfig }: CallSetting): string => JSON.stringify([config, userConfig])
