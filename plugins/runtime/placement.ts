import { Register } from '#core/foundation/register.ts'
import type { Program } from './program.ts'

/** `strict`: one runner per place. `grouped`: one for all plugins, for machines with little memory. */
export type Isolation = 'strict' | 'grouped'

export const SHARED_PLACE = 'plugins'
/** A place whose code has killed a runner gets its own runner for this long, counted from the last time. */
const ALONE_MS = 10 * 60_000
const PAUSE_FIRST_MS = 100
/** A longer pause would look like a hang to the caller; by then other rules have stopped the plugin. */
const PAUSE_MS_MAX = 10_000

/** Doubles with every failure in a row, so that code that dies at once does not restart in a loop. */
export const pauseMs = (failures: number): number => (failures < 2 ? 0 : Math.min(PAUSE_FIRST_MS * 2 ** (failures - 2), PAUSE_MS_MAX))

interface PlaceRecord {
  /** Runners that it has killed in a row, without a successful call between them. */
  kills: number
  waitsUntil: number
  aloneUntil: number
  /** Another place may be to blame: the first answer clears this one. */
  isSuspect: boolean
}

/** Decides which runner a program gets, and which programs must wait before a restart. Pure: the caller reports events and times. */
export class Placement {
  readonly #isolation: Isolation
  /** By place; only places that had running code when a runner died. */
  readonly #records = new Register<PlaceRecord>()

  constructor(isolation: Isolation) {
    this.#isolation = isolation
  }

  placeOf({ place, plugin, alone = false }: Program, now: number): string {
    if (this.#isolation === 'strict' || plugin === undefined || alone) return place
    return (this.#records.get(place)?.aloneUntil ?? 0) > now ? place : SHARED_PLACE
  }

  /** Whether a runner serves several places, so that one of them can end the calls of the others. */
  isShared(place: string): boolean {
    return this.#isolation === 'grouped' && place === SHARED_PLACE
  }

  /** A runner died while these places had running code: the one that is known to have killed it, or all possible ones. */
  blame(places: { culprit: string } | { suspects: readonly string[] }, now: number): void {
    const isKnown = 'culprit' in places
    for (const place of isKnown ? [places.culprit] : places.suspects) {
      const { kills: before = 0 } = this.#records.get(place) ?? {}
      const kills = isKnown ? before + 1 : before
      const waitsUntil = isKnown ? now + pauseMs(kills) : 0
      this.#records.set(place, { kills, waitsUntil, aloneUntil: now + ALONE_MS, isSuspect: !isKnown })
    }
  }

  /** Code of this place has ended normally. @returns whether the place was suspected, which is over now */
  clear({ place }: Program): boolean {
    const record = this.#records.get(place)
    if (record === undefined) return false
    record.kills = 0
    if (!record.isSuspect) return false
    this.#records.delete(place)
    return true
  }

  /** The time before which nothing may start there. */
  waitsUntil({ place }: Program): number {
    return this.#records.get(place)?.waitsUntil ?? 0
  }

  /** Removes old records. */
  tidy(now: number): void {
    for (const [place, { aloneUntil }] of this.#records) if (aloneUntil < now) this.#records.delete(place)
  }
}
