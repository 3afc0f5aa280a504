import type { LibraryRecord } from '#api/records.ts'

export type SeriesStrategy = LibraryRecord['seriesStrategy']

/** Those that need no settings, the usual one first. */
export const SERIES_STRATEGIES: readonly SeriesStrategy[] = [
  'auto',
  'series_volume',
  'series_volume_chapter',
  'flat',
  'publisher_hierarchy',
  'calibre',
]

/** One that needs settings is a choice only where it is chosen already: this interface cannot enter them. */
export const withChosen = <T extends string>(offered: readonly T[], chosen: T): readonly T[] =>
  offered.includes(chosen) ? offered : [...offered, chosen]
