/**
 * Durations are counted in classes, each √2 times as long as the one before. So a median or percentile of a month needs no list of all
 * runs, and is accurate to a fifth.
 */
export const CLASSES = 48

/** The class of a duration in ms; the last class has no upper limit and begins at about three hours. */
export const classOf = (ms: number): number => (ms <= 1 ? 0 : Math.min(CLASSES - 1, Math.ceil(2 * Math.log2(ms))))

/** The longest duration of a class, in ms. */
const longestOf = (index: number): number => Math.round(2 ** (index / 2))

/**
 * The duration that the given share of runs did not exceed, in ms; 0 without runs.
 * @param counts of runs by class
 * @param share between 0 and 1
 * @param longestMs the longest of all runs
 */
export function percentileOf(counts: readonly number[], share: number, longestMs: number): number {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return 0
  let seen = 0
  const index = counts.findIndex((count) => {
    seen += count
    return seen >= total * share && count > 0
  })
  return Math.min(longestMs, index === CLASSES - 1 ? longestMs : longestOf(index))
}
