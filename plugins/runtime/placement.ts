import { Register } from '#core/foundation/register.ts'
import type { Program } from './program.ts'

/** `strict`: one runner per place. `grouped`: one for all plugins, for machines with little memory. */
export type Isolation = 'strict' | 'grouped'

/** Decides which runner a program gets, and which programs must wait before a restart. Pure: the caller reports events and times. */
export interface Placement {
  placeOf(program: Program, now: number): string
  /** Whether a runner serves several places, so that one of them can end the calls of the others. */
  isShared(place: string): boolean
  /** A runner died while these places had running code: the one that is known to have killed it, or all possible ones. */
  blame(places: { culprit: string } | { suspects: readonly string[] }, now: number): void
  /** Code of this place has ended normally. @returns whether the place was suspected, which is over now */
  clear(program: Program): boolean
  /** The time before which nothing may start there. */
  waitsUntil(program: Program): number
  /** Removes old records. */
  tidy(now: number): void
}

export const SHARED_PLACE = 'plugins'
/** A place whose code has killed a runner gets its own runner for this long, counted from the last time. */
const ALONE_MS = 10 * 60_000
const PAUSE_FIRST_MS = 100
/** A longer pause would look like a hang to the caller; by then other rules have stopped the plugin. */
const PAUSE_MS_MAX = 10_000

/** Doubles with every failure in a row, so that code that dies at once does not restart in a loop. */
export const pauseMs = (failures: number): number => (failures < 2 ? 0 : Math.min(PAUSE_FIRST_MS * 2 ** (failures - 2), PAUSE_MS_MAX))

interface Record {
  /** Runners that it has killed in a row, without a successful call between them. */
  kills: number
  waitsUntil: number
  aloneUntil: number
  /** Another place may be to blame: the first answer clears this one. */
  isSuspect: boolean
}

export function createPlacement(isolation: Isolation): Placement {
  /** By place; only places that had running code when a runner died. */
  const records = new Register<Record>()

  return {
    placeOf(program, now) {
      const { place, plugin, alone = false } = program
      if (isolation === 'strict' || plugin === undefined || alone) return place
      return (records.get(place)?.aloneUntil ?? 0) > now ? place : SHARED_PLACE
    },
    isShared: (place) => isolation === 'grouped' && place === SHARED_PLACE,
    blame(places, now) {
      const isKnown = 'culprit' in places
      for (const place of isKnown ? [places.culprit] : places.suspects) {
        const { kills = 0 } = records.get(place) ?? {}
        const record = { kills: isKnown ? kills + 1 : kills, waitsUntil: 0, aloneUntil: now + ALONE_MS, isSuspect: !isKnown }
        records.set(place, { ...record, waitsUntil: isKnown ? now + pauseMs(record.kills) : 0 })
      }
    },
    clear({ place }) {
      const record = records.get(place)
      if (record === undefined) return false
      record.kills = 0
      if (!record.isSuspect) return false
      records.delete(place)
      return true
    },
    waitsUntil: ({ place }) => records.get(place)?.waitsUntil ?? 0,
    tidy(now) {
      for (const [place, { aloneUntil }] of records) if (aloneUntil < now) records.delete(place)
    },
  }
}
