/**
 * How good and how fast the plugin `similar-in-library` recommends: readers with a planted taste, of whom what they read next is held out, against
 * what everybody reads, against chance, and against what only the planter knows (weights were chosen with other seeds than the one here); then a library of 20,000 series in the sandbox itself.
 * `npm run bench:recommendations [-- --seed 2026]`
 */
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { entriesFor, type PlantedLibrary, type PlantedReader, plantLibrary } from '#bench/planted-readers.ts'
import { verdict } from '#bench/verdict.ts'
import { silentLog } from '#core/foundation/log.ts'
import plugin from '#plugins/bundled/similar-in-library/main.ts'
import { openSupervisor } from '#plugins/runtime/supervisor.ts'
import { openBundledSandbox, openLibraryCalls } from '#test/support/library-plugin.ts'
import type { Context, LibraryEntry, Recommendation } from '../plugin-sdk/types.ts'

const { values } = parseArgs({ options: { seed: { type: 'string', default: '2026' } } })
const SERIES = 2_000
const READERS = 200
/** With three books or fewer read, readers differ less: fewer of them tell as much. */
const COLD_READERS = 60
const TOP = 10
const LARGE_SERIES = 20_000
const SUMMARY_LENGTH = 1_000
const BARS = {
  /** Of recall, against what everybody reads. */
  overPopularity: 2,
  overRandom: 10,
  coldOverPopularity: { 0: 0.7, 1: 0.7, 3: 0.9 } as Record<number, number>,
  /** Different series among all first ten, as a part of the library: not the same for everybody. */
  coverage: 0.2,
  /** Different people among the first ten. */
  people: 7,
  refreshCpuMs: 5_000,
  getCpuMs: 200,
}

/** Everything of a context that the plugin uses, without a sandbox: for many readers at once. */
function contextOver(entries: readonly LibraryEntry[]): Context {
  const { answer } = openLibraryCalls(entries)
  const ask = async (kind: string, payload: object) => (await answer(kind, payload)) as never
  return {
    storage: {
      get: async (key: string) => await ask('storage.get', { key }),
      set: async (key: string, value: unknown) => await ask('storage.set', { key, value }),
    },
    library: { entries: async (options = {}) => await ask('library.entries', options) },
    log: { debug() {}, info() {}, warn() {}, error() {} },
    progress() {},
  } as unknown as Context
}

interface Scores {
  plugin: number
  popularity: number
  random: number
  planter: number
}

interface Measured extends Scores {
  readers: number
  coverage: number
  people: number
  /** Recall of each third of the recommendations, by score. */
  thirds: number[]
}

/** @param firstOnly how many of what they have read the readers have read so far */
async function measure(library: PlantedLibrary, readers: readonly PlantedReader[], firstOnly: number): Promise<Measured> {
  const indexes = new Map(library.entries.map(({ seriesId }, index) => [seriesId, index]))
  const byReaders = library.entries.map((_, index) => index).sort((a, b) => popularityOf(library, b) - popularityOf(library, a))
  const sums: Scores = { plugin: 0, popularity: 0, random: 0, planter: 0 }
  const shown = new Set<number>()
  const hits: { score: number; hit: boolean }[] = []
  let people = 0
  /** Of the reader, or of all where none has read anything. */
  let recommendations: Recommendation[] = []
  for (const reader of readers) {
    const known = new Set(reader.read.slice(0, firstOnly).map(({ index }) => index))
    const heldOut = new Set(reader.heldOut)
    const recall = (ranking: readonly number[]) => ranking.slice(0, TOP).filter((index) => heldOut.has(index)).length / heldOut.size
    const unread = (ranking: readonly number[]) => ranking.filter((index) => !known.has(index))
    if (recommendations.length === 0 || firstOnly > 0)
      ({ recommendations } = await plugin.recommendations.refresh({ limit: TOP }, contextOver(entriesFor(library, reader, firstOnly))))
    const found = recommendations.map(({ externalId }) => indexes.get(externalId)!)
    for (const [at, index] of found.entries()) {
      if (known.has(index)) throw new Error('something was recommended that has been read')
      shown.add(index)
      hits.push({ score: recommendations[at]!.score, hit: heldOut.has(index) })
    }
    people += new Set(found.map((index) => library.entries[index]!.authors?.[0])).size
    sums.plugin += recall(found)
    sums.popularity += recall(unread(byReaders))
    sums.random += TOP / (SERIES - known.size)
    sums.planter += recall(unread([...reader.draw.keys()].sort((a, b) => reader.draw[b]! - reader.draw[a]!)))
  }
  hits.sort((a, b) => a.score - b.score)
  const third = Math.ceil(hits.length / 3)
  const thirds = [0, 1, 2].map((at) => {
    const part = hits.slice(at * third, (at + 1) * third)
    return part.filter(({ hit }) => hit).length / part.length
  })
  const of = (sum: number) => sum / readers.length
  return {
    ...{ plugin: of(sums.plugin), popularity: of(sums.popularity), random: of(sums.random), planter: of(sums.planter) },
    ...{ readers: readers.length, coverage: shown.size / SERIES, people: of(people), thirds },
  }
}

const popularityOf = ({ entries }: PlantedLibrary, index: number) => entries[index]!.readers ?? 0

/** The largest library that is promised, in the sandbox with its limits. */
async function measureSandbox(seed: number) {
  const library = plantLibrary(LARGE_SERIES, 3, seed)
  // Descriptions as long as the server hands them out.
  const entries = entriesFor(library, library.readers[0]!).map((entry, index, all) => ({
    ...entry,
    summary: [0, 1, 2]
      .map((step) => all[(index + step * 7) % all.length]!.summary ?? '')
      .join(' ')
      .slice(0, SUMMARY_LENGTH),
  }))
  const supervisor = openSupervisor({ log: silentLog })
  try {
    const sandbox = await openBundledSandbox(supervisor, entries)
    const begun = performance.now()
    const first = await sandbox.call<{ recommendations: Recommendation[] }>('recommendations.refresh', { limit: 100 })
    const refreshMs = performance.now() - begun
    const residentMb = supervisor.state().residentBytes / 2 ** 20
    const again = await sandbox.call<{ recommendations: Recommendation[] }>('recommendations.get', { limit: 100, exclude: [] })
    if (JSON.stringify(first.answer) !== JSON.stringify(again.answer)) throw new Error('get does not answer what refresh has found')
    return { refreshCpuMs: first.cpuMs, refreshMs, getCpuMs: again.cpuMs, getMs: again.wallMs, requests: first.requests, residentMb }
  } finally {
    supervisor.close()
  }
}

const seed = Number(values.seed)

const library = plantLibrary(SERIES, READERS, seed)
const warm = await measure(library, library.readers, Number.POSITIVE_INFINITY)
const rows: Record<string, Measured> = { 'all but the held-out': warm }
for (const read of [3, 1, 0]) {
  rows[`${read} read`] = await measure(library, read === 0 ? library.readers : library.readers.slice(0, COLD_READERS), read)
}
console.table(
  Object.fromEntries(
    Object.entries(rows).map(([name, { readers, plugin, popularity, random, planter, coverage, people }]) => [
      name,
      {
        readers,
        [`recall@${TOP}`]: round(plugin, 4),
        popularity: round(popularity, 4),
        random: round(random, 4),
        'the planter': round(planter, 4),
        'of the library shown': round(coverage, 3),
        'people in ten': round(people, 1),
      },
    ]),
  ),
)
const large = await measureSandbox(seed)
console.table({
  [`${LARGE_SERIES} series in the sandbox`]: Object.fromEntries(Object.entries(large).map(([name, value]) => [name, Math.round(value)])),
})

verdict('recall to popularity', warm.plugin / warm.popularity, { atLeast: BARS.overPopularity })
verdict('recall to chance', warm.plugin / warm.random, { atLeast: BARS.overRandom })
for (const [read, bar] of Object.entries(BARS.coldOverPopularity)) {
  const { plugin: recall, popularity } = rows[`${read} read`]!
  verdict(`recall to popularity with ${read} read`, recall / popularity, { atLeast: bar })
}
verdict('the part of the library that is shown to somebody', warm.coverage, { atLeast: BARS.coverage })
verdict('different people in ten', warm.people, { atLeast: BARS.people })
verdict('hits among the third with the highest scores to those with the lowest', warm.thirds[2]! / Math.max(warm.thirds[0]!, 1e-9), {
  atLeast: 1.5,
})
verdict('computing of a refresh in ms', large.refreshCpuMs, { atMost: BARS.refreshCpuMs })
verdict('computing of a get in ms', large.getCpuMs, { atMost: BARS.getCpuMs })

function round(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits
}
