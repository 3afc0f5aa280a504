import type { Program } from './program.ts'

/** `strict`: a runner for each place. `grouped`: one for all plugins, where memory is short. */
export type Isolation = 'strict' | 'grouped'

/** Which runner a program gets, and which programs have to wait before they start again. Pure: it is told what happened, and when. */
export interface Placement {
  placeOf(program: Program, now: number): string
  /** Whether a runner serves several places, so that one of them can end the calls of the others. */
  isShared(place: string): boolean
  /** A runner died while these places had something running in it: the one that is known to have killed it, or all that may have. */
  blame(places: { culprit: string } | { suspects: readonly string[] }, now: number): void
  /** Something that ran there came to an end. @returns whether its place had been under suspicion, which is over now */
  clear(program: Program): boolean
  /** Until when nothing may be started there. */
  waitsUntil(program: Program): number
  /** Forgets what is long ago. */
  tidy(now: number): void
}

export const SHARED_PLACE = 'plugins'
/** A place whose code has ended a runner has one of its own for this long, counted from the last time. */
const ALONE_MS = 10 * 60_000
const PAUSE_FIRST_MS = 100
/** Longer than that and whoever waits for an answer takes it for lost; by then other rules have stopped the plugin. */
const PAUSE_MS_MAX = 10_000

/** Doubles with every failure in a row, so that what dies at once is not started at once again and again. */
export const pauseMs = (failures: number): number => (failures < 2 ? 0 : Math.min(PAUSE_FIRST_MS * 2 ** (failures - 2), PAUSE_MS_MAX))

interface Record {
  /** Runners that it has killed in a row, with nothing brought to an end between them. */
  kills: number
  waitsUntil: number
  aloneUntil: number
  /** It may have been another: with the first answer it is free. */
  isSuspect: boolean
}

export function createPlacement(isolation: Isolation): Placement {
  /** By the place of a program; of those only that were there when a runner died. */
  const records = new Map<string, Record>()

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
