import { TraceMap, traceSegment } from '@jridgewell/trace-mapping'
import { jsonExcess } from '#plugins/packages/json-bounds.ts'

/** A place in a bundle, as stacks say it: both from 1. */
export interface CodePlace {
  line: number
  column: number
}

/** What is kept of a source map: as much as it takes to find a line. */
export interface KeptMap {
  sources: (string | null)[]
  mappings: string
}

/** A map has some lists of texts and nothing nested; one of parts (`sections`) is not read. */
const BOUNDS = { depthMax: 4, valuesMax: 100_000 }
/** Files of a bundle, with those of its packages; the largest that is known of has some thousand. */
const SOURCES_MAX = 20_000
/** Names of files are shown in messages. */
const SOURCE_LENGTH_MAX = 300
/** A bundle of 2 MB has about a million; each two characters may become an object of 90 bytes when they are read, 90 MB in all. */
const MAPPINGS_LENGTH_MAX = 2 * 1024 * 1024
/** A list is made for each line of the bundle, however little stands in it; one of 2 MB has some ten thousand. */
const LINES_MAX = 200_000

/**
 * A source map of a stranger, without what nobody here needs: the sources themselves and their names.
 * @returns why it cannot be used, in words that go on after its name, where it cannot
 */
export function readSourceMap(text: string): { map: KeptMap } | { wrong: string } {
  const excess = jsonExcess(text, BOUNDS)
  if (excess !== null) return { wrong: excess }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { wrong: 'it is no JSON' }
  }
  const { version, sources, mappings } = (value ?? {}) as Record<string, unknown>
  if (version !== 3 || !Array.isArray(sources) || typeof mappings !== 'string') return { wrong: 'it is no source map of version 3' }
  if (sources.length > SOURCES_MAX) return { wrong: `it names more than ${SOURCES_MAX} files` }
  if (mappings.length > MAPPINGS_LENGTH_MAX) return { wrong: `its mappings have more than ${MAPPINGS_LENGTH_MAX} characters` }
  if (hasMoreLines(mappings, LINES_MAX)) return { wrong: `its mappings have more than ${LINES_MAX} lines` }
  // The database keeps neither NUL nor halves of characters.
  const kept = sources.map((one) => (typeof one === 'string' ? one.slice(0, SOURCE_LENGTH_MAX).replaceAll('\0', '').toWellFormed() : null))
  return /^[A-Za-z0-9+/,;]*$/.test(mappings) ? { map: { sources: kept, mappings } } : { wrong: 'its mappings hold what none may hold' }
}

function hasMoreLines(mappings: string, linesMax: number): boolean {
  let at = -1
  for (let lines = 1; lines <= linesMax; lines++) {
    at = mappings.indexOf(';', at + 1)
    if (at === -1) return false
  }
  return true
}

/** As a package of any age has it: null for none, and for one that says nothing that can be used. */
export function keptMapOf(bytes: Uint8Array | undefined): string | null {
  if (bytes === undefined) return null
  const read = readSourceMap(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'))
  return 'map' in read ? JSON.stringify(read.map) : null
}

/** Of what the author has not written: packages, and the SDK, wherever the bundler has found it. */
const FOREIGN = /(^|\/)node_modules\/|^plugin-sdk:/

/** Where something stands in the bundle itself: all that can be said without a map. */
export const inBundle = (places: readonly CodePlace[]): string | null =>
  places[0] === undefined ? null : `main.js:${places[0].line}:${places[0].column}`

/**
 * Where something was thrown, such as `src/main.ts:12:9`: the innermost place that the author has written, else the innermost of a package. A map that
 * says nothing of it, or nothing that makes sense, gives the place in the bundle.
 * @param places the innermost first
 * @returns null where no place is known
 */
export function findSource(kept: KeptMap | null, places: readonly CodePlace[]): string | null {
  if (kept === null) return inBundle(places)
  try {
    // Without the names of the files, which the library would make addresses of.
    const map = new TraceMap({ version: 3, names: [], sources: [], mappings: kept.mappings })
    const found = places.flatMap(({ line, column }) => {
      const [, source, sourceLine, sourceColumn] = traceSegment(map, line - 1, column - 1) ?? []
      const file = source === undefined ? undefined : kept.sources[source]
      const isPlace = typeof file === 'string' && file !== '' && isIndex(sourceLine) && isIndex(sourceColumn)
      return isPlace ? [{ file, text: `${file}:${sourceLine + 1}:${sourceColumn + 1}` }] : []
    })
    const own = found.find(({ file }) => !FOREIGN.test(file)) ?? found[0]
    return own?.text ?? inBundle(places)
  } catch {
    return inBundle(places)
  }
}

const isIndex = (value: number | undefined): value is number => Number.isSafeInteger(value) && (value as number) >= 0
