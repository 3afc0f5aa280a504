// Imported by its own path, as `compare` is elsewhere: loading the whole package takes twice the time.
import Range from 'semver/classes/range.js'

import minVersion from 'semver/ranges/min-version.js'

export type VersionRange = Range

/** Longer than any range that people write. */
export const RANGE_LENGTH_MAX = 200
/** Conditions of one range; every one is compared with every version of a list, and reading one takes up to 0.02 ms. */
const CONDITIONS_MAX = 20

/**
 * Parses a range of semantic versions in npm's syntax: `^1.2`, `~1.2.3`, `>=1.0 <3`, `1.0 - 2.4`, `1.x || 2.0.0-rc.1`, `*`. Returns null for an invalid
 * range, and for an empty one: npm reads that as every version, but here it is more likely an error.
 *
 * A range contains a pre-release only if it names a pre-release of the same three numbers: `^1.0` does not request unfinished versions.
 * @param options.preReleases compares pre-releases by order alone, for ranges of revoked versions instead of requested ones
 */
export function readRange(text: string, { preReleases = false }: { preReleases?: boolean } = {}): VersionRange | null {
  if (text.length > RANGE_LENGTH_MAX || !/^[ -~]*$/.test(text)) return null
  const sides = text.split('||').map((side) => side.split(' ').filter((word) => word !== ''))
  if (sides.some((words) => words.length === 0) || sides.flat().length > CONDITIONS_MAX) return null
  try {
    return new Range(text, { includePrerelease: preReleases })
  } catch {
    return null
  }
}

/** `1.0.0-2.4.0`: npm reads it as one pre-release of 1.0.0, although its author means a range. */
const TIGHT_HYPHEN = /^v?[\d.]+-v?[\d.]+$/

/** Why a range of revoked versions would revoke nothing, although it is spelled correctly; null if it revokes something. */
export function emptinessOf(text: string): string | null {
  if (text.split(/[ |]/).some((word) => TIGHT_HYPHEN.test(word)))
    return 'names one pre-release; write spaces around the hyphen of a range, or = in front of a pre-release'
  const range = readRange(text, { preReleases: true })
  return range !== null && minVersion(range) === null ? 'matches no version' : null
}
