import { TraceMap, traceSegment } from '@jridgewell/trace-mapping'
import { bufferOf } from '#core/foundation/byte-view.ts'
import { jsonExcess } from '#plugins/packages/json-bounds.ts'

/** A position in a bundle as in stack traces: both from 1. */
export interface CodePosition {
  line: number
  column: number
}

/** A position with its part of a whole: samples of the code's time, or bytes. */
export interface CodeShare extends CodePosition {
  weight: number
}

/** The stored part of a source map: enough to look up a line. */
export interface StoredMap {
  sources: (string | null)[]
  mappings: string
}

/** A map has a few flat lists; indexed maps (`sections`) are not supported. */
const BOUNDS = { depthMax: 4, valuesMax: 100_000 }
/** Source files, including those of packages; the largest known bundle has some thousand. */
const SOURCES_MAX = 20_000
/** File names are shown in messages. */
const SOURCE_LENGTH_MAX = 300
/** A bundle of 2 MB has about a million; two characters may become an object of 90 bytes when decoded, 90 MB in total. */
const MAPPINGS_LENGTH_MAX = 2 * 1024 * 1024
/** Decoding allocates a list for each line of the bundle, even an empty one; a bundle of 2 MB has some ten thousand. */
const LINES_MAX = 200_000

/**
 * Parses an untrusted source map, without the sources themselves and their names, which are not needed.
 * @returns why it is invalid, as a clause that follows its name
 */
export function readSourceMap(text: string): { map: StoredMap } | { wrong: string } {
  const excess = jsonExcess(text, BOUNDS)
  if (excess !== null) return { wrong: excess }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { wrong: 'it is not valid JSON' }
  }
  const { version, sources, mappings } = (value ?? {}) as Record<string, unknown>
  if (version !== 3 || !Array.isArray(sources) || typeof mappings !== 'string') return { wrong: 'it is not a source map of version 3' }
  if (sources.length > SOURCES_MAX) return { wrong: `it names more than ${SOURCES_MAX} files` }
  if (mappings.length > MAPPINGS_LENGTH_MAX) return { wrong: `its mappings have more than ${MAPPINGS_LENGTH_MAX} characters` }
  if (hasMoreLines(mappings, LINES_MAX)) return { wrong: `its mappings have more than ${LINES_MAX} lines` }
  // The database cannot store NUL or lone surrogates.
  const kept = sources.map((one) => (typeof one === 'string' ? one.slice(0, SOURCE_LENGTH_MAX).replaceAll('\0', '').toWellFormed() : null))
  return /^[A-Za-z0-9+/,;]*$/.test(mappings) ? { map: { sources: kept, mappings } } : { wrong: 'its mappings contain invalid characters' }
}

function hasMoreLines(mappings: string, linesMax: number): boolean {
  let at = -1
  for (let lines = 1; lines <= linesMax; lines++) {
    at = mappings.indexOf(';', at + 1)
    if (at === -1) return false
  }
  return true
}

/** The source map of a package; null when it has none, or an invalid one. */
export function storedMapOf(bytes: Uint8Array | undefined): string | null {
  if (bytes === undefined) return null
  const read = readSourceMap(bufferOf(bytes).toString('utf8'))
  return 'map' in read ? JSON.stringify(read.map) : null
}

/** Files that the author has not written: packages, and the SDK at any path. */
const FOREIGN = /(^|\/)node_modules\/|^plugin-sdk:/

/** The position in the bundle, for use without a map. */
const inBundle = (places: readonly CodePosition[]): string | null =>
  places[0] === undefined ? null : `main.js:${places[0].line}:${places[0].column}`

/** Where code of a program was, from outside of the program: untrusted. */
export interface CodePlaces {
  /** The innermost first. */
  places: readonly CodePosition[]
  shares: readonly CodeShare[]
}

/** The same in the author's sources. */
export interface SourcePlaces {
  /** Such as `src/main.ts:12:9`; null when there are no places. */
  source: string | null
  /** The lines with the largest shares, such as `src/main.ts:12 (92 %), src/main.ts:14 (8 %)`; empty when there are none. */
  lines: string
}

/** Lines that a report names. */
const LINES_SHOWN = 5

/**
 * The places in the sources: of an error the innermost in the author's files, else the innermost in a package. If the map has no valid entry for it,
 * the position in the bundle.
 */
export function findSource(kept: StoredMap | null, { places, shares }: CodePlaces): SourcePlaces {
  try {
    const find = kept === null ? () => null : finderOf(kept)
    return { source: sourceOf(find, places), lines: linesOf(find, shares) }
  } catch {
    return { source: inBundle(places), lines: '' }
  }
}

interface Found {
  file: string
  text: string
}

type Find = (position: CodePosition) => Found | null

function finderOf({ mappings, sources }: StoredMap): Find {
  // Without file names, which the library would resolve as URLs.
  const map = new TraceMap({ version: 3, names: [], sources: [], mappings })
  return ({ line, column }) => {
    const [, source, sourceLine, sourceColumn] = traceSegment(map, line - 1, column - 1) ?? []
    const file = source === undefined ? undefined : sources[source]
    const isPlace = typeof file === 'string' && file !== '' && isIndex(sourceLine) && isIndex(sourceColumn)
    return isPlace ? { file, text: `${file}:${sourceLine + 1}:${sourceColumn + 1}` } : null
  }
}

function sourceOf(find: Find, places: readonly CodePosition[]): string | null {
  const found = places.flatMap((place) => find(place) ?? [])
  const own = found.find(({ file }) => !FOREIGN.test(file)) ?? found[0]
  return own?.text ?? inBundle(places)
}

function linesOf(find: Find, shares: readonly CodeShare[]): string {
  const whole = shares.reduce((sum, { weight }) => sum + weight, 0)
  const weights = new Map<string, number>()
  for (const share of shares) {
    const line = String(sourceOf(find, [share])).replace(/:\d+$/, '')
    weights.set(line, (weights.get(line) ?? 0) + share.weight)
  }
  const percent = [...weights]
    .map(([line, weight]) => ({ line, share: Math.round((weight * 100) / whole) }))
    .filter(({ share }) => share > 0)
  const largest = percent.sort((one, other) => other.share - one.share).slice(0, LINES_SHOWN)
  return largest.map(({ line, share }) => `${line} (${share} %)`).join(', ')
}

const isIndex = (value: number | undefined): value is number => Number.isSafeInteger(value) && (value as number) >= 0
