/**
 * How good and how fast the plugin `similar-in-library` recommends. For synthetic users, whose last series are held out, its recall is compared with
 * that of the most popular series, of chance, and of the ideal ranking by the hidden preferences (weights were chosen with other seeds than the
 * one here). Then it runs over a library of 20,000 series in the sandbox.
 * `npm run bench:recommendations [-- --seed 2026]`
 */
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { entriesFor, makeLibrary, type SyntheticLibrary, type SyntheticUser } from '#bench/synthetic-users.ts'
import { verdict } from '#bench/verdict.ts'
import { silentLog } from '#core/foundation/log.ts'
import plugin from '#plugins/bundled/similar-in-library/main.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'
import { openBundledSandbox, openLibraryCalls } from '#test/support/library-plugin.ts'
import type { Context, LibraryEntry, Recommendation } from '../plugin-sdk/types.ts'

const { values } = parseArgs({ options: { seed: { type: 'string', default: '2026' } } })
const SERIES = 2_000
const USERS = 200
/** Users who have read three series or fewer differ less, so fewer of them suffice. */
const COLD_USERS = 60
const TOP = 10
const LARGE_SERIES = 20_000
const SUMMARY_LENGTH = 1_000
const BARS = {
  /** Recall divided by that of the most popular series. */
  overPopularity: 2,
  overRandom: 10,
  coldOverPopularity: { 0: 0.7, 1: 0.7, 3: 0.9 } as Record<number, number>,
  /** Different series among the first ten of all users, as a fraction of the library: users get different recommendations. */
  coverage: 0.2,
  /** Different people among the first ten. */
  people: 7,
  refreshCpuMs: 5_000,
  getCpuMs: 200,
}

/** The part of a context that the plugin uses, without a sandbox: for many users at once. */
function contextOver(entries: readonly LibraryEntry[]): Context {
  const { answer } = openLibraryCalls(entries)
  const call = async (kind: string, payload: object) => (await answer(kind, payload)) as never
  return {
    storage: {
      get: async (key: string) => await call('storage.get', { key }),
      set: async (key: string, value: unknown) => await call('storage.set', { key, value }),
    },
    library: { entries: async (options = {}) => await call('library.entries', options) },
    log: { debug() {}, info() {}, warn() {}, error() {} },
    progress() {},
  } as unknown as Context
}

interface Scores {
  plugin: number
  popularity: number
  random: number
  ideal: number
}

interface Measured extends Scores {
  users: number
  coverage: number
  people: number
  /** Recall of each third of the recommendations, by score. */
  thirds: number[]
}

/** @param firstOnly how many of their series the users have read so far */
async function measure(library: SyntheticLibrary, users: readonly SyntheticUser[], firstOnly: number): Promise<Measured> {
  const indexes = new Map(library.entries.map(({ seriesId }, index) => [seriesId, index]))
  const byPopularity = library.entries.map((_, index) => index).sort((a, b) => popularityOf(library, b) - popularityOf(library, a))
  const sums: Scores = { plugin: 0, popularity: 0, random: 0, ideal: 0 }
  const shown = new Set<number>()
  const hits: { score: number; hit: boolean }[] = []
  let people = 0
  /** Of one user; of all users if none has read anything. */
  let recommendations: Recommendation[] = []
  for (const user of users) {
    const known = new Set(user.read.slice(0, firstOnly).map(({ index }) => index))
    const heldOut = new Set(user.heldOut)
    const recall = (ranking: readonly number[]) => ranking.slice(0, TOP).filter((index) => heldOut.has(index)).length / heldOut.size
    const unread = (ranking: readonly number[]) => ranking.filter((index) => !known.has(index))
    if (recommendations.length === 0 || firstOnly > 0)
      ({ recommendations } = await plugin.recommendations.refresh({ limit: TOP }, contextOver(entriesFor(library, user, firstOnly))))
    const found = recommendations.map(({ externalId }) => indexes.get(externalId)!)
    for (const [at, index] of found.entries()) {
      if (known.has(index)) throw new Error('The plugin recommended a series that the user has read')
      shown.add(index)
      hits.push({ score: recommendations[at]!.score, hit: heldOut.has(index) })
    }
    people += new Set(found.map((index) => library.entries[index]!.authors?.[0])).size
    sums.plugin += recall(found)
    sums.popularity += recall(unread(byPopularity))
    sums.random += TOP / (SERIES - known.size)
    sums.ideal += recall(unread([...user.draw.keys()].sort((a, b) => user.draw[b]! - user.draw[a]!)))
  }
  hits.sort((a, b) => a.score - b.score)
  const third = Math.ceil(hits.length / 3)
  const thirds = [0, 1, 2].map((at) => {
    const part = hits.slice(at * third, (at + 1) * third)
    return part.filter(({ hit }) => hit).length / part.length
  })
  const of = (sum: number) => sum / users.length
  return {
    ...{ plugin: of(sums.plugin), popularity: of(sums.popularity), random: of(sums.random), ideal: of(sums.ideal) },
    ...{ users: users.length, coverage: shown.size / SERIES, people: of(people), thirds },
  }
}

const popularityOf = ({ entries }: SyntheticLibrary, index: number) => entries[index]!.readers ?? 0

/** The largest supported library, in the sandbox with its limits. */
async function measureSandbox(seed: number) {
  const library = makeLibrary(LARGE_SERIES, 3, seed)
  // Descriptions as long as those that the server returns.
  const entries = entriesFor(library, library.users[0]!).map((entry, index, all) => ({
    ...entry,
    summary: [0, 1, 2]
      .map((step) => all[(index + step * 7) % all.length]!.summary ?? '')
      .join(' ')
      .slice(0, SUMMARY_LENGTH),
  }))
  const supervisor = new Supervisor({ log: silentLog })
  try {
    const sandbox = await openBundledSandbox(supervisor, entries)
    const begun = performance.now()
    const first = await sandbox.call<{ recommendations: Recommendation[] }>('recommendations.refresh', { limit: 100 })
    const refreshMs = performance.now() - begun
    const residentMb = supervisor.state().residentBytes / 2 ** 20
    const again = await sandbox.call<{ recommendations: Recommendation[] }>('recommendations.get', { limit: 100, exclude: [] })
    if (JSON.stringify(first.answer) !== JSON.stringify(again.answer))
      throw new Error('recommendations.get returned another list than recommendations.refresh')
    return { refreshCpuMs: first.cpuMs, refreshMs, getCpuMs: again.cpuMs, getMs: again.wallMs, requests: first.requests, residentMb }
  } finally {
    supervisor.close()
  }
}

const seed = Number(values.seed)

const library = makeLibrary(SERIES, USERS, seed)
const warm = await measure(library, library.users, Number.POSITIVE_INFINITY)
const rows: Record<string, Measured> = { 'all but the held-out': warm }
for (const read of [3, 1, 0]) {
  rows[`${read} read`] = await measure(library, read === 0 ? library.users : library.users.slice(0, COLD_USERS), read)
}
console.table(
  Object.fromEntries(
    Object.entries(rows).map(([name, { users, plugin, popularity, random, ideal, coverage, people }]) => [
      name,
      {
        users,
        [`recall@${TOP}`]: round(plugin, 4),
        popularity: round(popularity, 4),
        random: round(random, 4),
        'ideal ranking': round(ideal, 4),
        'part of the library': round(coverage, 3),
        'people in ten': round(people, 1),
      },
    ]),
  ),
)
const large = await measureSandbox(seed)
console.table({
  [`${LARGE_SERIES} series in the sandbox`]: Object.fromEntries(Object.entries(large).map(([name, value]) => [name, Math.round(value)])),
})

verdict('recall, ratio to popularity', warm.plugin / warm.popularity, { atLeast: BARS.overPopularity })
verdict('recall, ratio to chance', warm.plugin / warm.random, { atLeast: BARS.overRandom })
for (const [read, bar] of Object.entries(BARS.coldOverPopularity)) {
  const { plugin: recall, popularity } = rows[`${read} read`]!
  verdict(`recall, ratio to popularity with ${read} read`, recall / popularity, { atLeast: bar })
}
verdict('part of the library that is recommended to any user', warm.coverage, { atLeast: BARS.coverage })
verdict('different people in ten', warm.people, { atLeast: BARS.people })
verdict(
  'hits in the third with the highest scores, ratio to the third with the lowest',
  warm.thirds[2]! / Math.max(warm.thirds[0]!, 1e-9),
  {
    atLeast: 1.5,
  },
)
verdict('computing time of a refresh in ms', large.refreshCpuMs, { atMost: BARS.refreshCpuMs })
verdict('computing time of a get in ms', large.getCpuMs, { atMost: BARS.getCpuMs })

function round(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits
}
