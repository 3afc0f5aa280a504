import type { LibraryFile, Problem } from '#core/fields/analysis.ts'
import type { SeriesHints } from '#core/fields/embedded.ts'

/** The metadata of a series in the file beside its books; null if there is none. */
export interface SeriesFileOutcome {
  series: SeriesHints | null
  problem: Problem | null
}

/** Runs in a thread. Never throws for a bad file. */
export type ReadSeriesFile = (file: LibraryFile, options?: { signal?: AbortSignal }) => Promise<SeriesFileOutcome>
