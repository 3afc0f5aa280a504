/** The ranges of the database's columns for whole numbers. */
const INTEGER = { type: 'integer', minimum: -2_147_483_648, maximum: 2_147_483_647 }
const BIGINT = { minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n }

/**
 * The nearest number that a column holds: a file may claim any number, and one that does not fit fails the whole statement, with all the files in it.
 * @param column its schema; an integer column by default
 */
export function fitNumber(value: number, column: { type?: string; minimum?: number; maximum?: number } = INTEGER): number {
  const { type, minimum = -Number.MAX_VALUE, maximum = Number.MAX_VALUE } = column
  const fitted = Math.min(maximum, Math.max(minimum, Number.isNaN(value) ? 0 : value))
  return type === 'integer' ? Math.trunc(fitted) : fitted
}

/** When a file was changed, in nanoseconds. A bigint ends in the year 2262; file systems know later years. */
export function fileTime({ mtimeNs }: { mtimeNs: bigint }): bigint {
  return mtimeNs > BIGINT.maximum ? BIGINT.maximum : mtimeNs < BIGINT.minimum ? BIGINT.minimum : mtimeNs
}
