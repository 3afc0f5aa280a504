import { isDeepStrictEqual } from 'node:util'
import type { Knex } from 'knex'
import { READING_ORDER } from '#core/book/book-query.ts'
import type { SeriesHints } from '#core/book/embedded.ts'
import { applyPatch } from '#core/metadata/apply-patch.ts'
import type { Author, Field, Holding } from '#core/metadata/field.ts'
import { loadHoldings, storeHoldings } from '#core/metadata/holding-store.ts'
import { SERIES_FIELDS } from '#core/series/metadata.ts'
import {
  type BookVoice,
  findSeedState,
  listSeedsDue,
  listVoices,
  markSeedDue,
  seedAlternateTitles,
  seedLinks,
} from '#core/series/seed-store.ts'
import { withSortTitle } from '#core/series/sort-title.ts'
import { NAME_LENGTH_MAX, NAMES_MAX } from '#core/taxonomy/name.ts'
import { addNames } from '#core/taxonomy/taxonomy-store.ts'

const fields: readonly Field[] = SERIES_FIELDS
/** Fields that books can give; what no book says any more is cleared, where it was a book that had said it. */
const NOTHING = Object.fromEntries(fields.map(({ name }) => [name, null]))

/**
 * Fills in what the files of its books say of each series, where no lock and no stronger source forbids. Idempotent; within the transaction
 * that wrote the books.
 */
export async function seedSeries(trx: Knex, seriesIds: readonly string[]): Promise<void> {
  const ids = [...new Set(seriesIds)].sort()
  const holdings = await loadHoldings(trx, 'series', ids)
  const voices = Map.groupBy(await listVoices(trx, ids, READING_ORDER), ({ seriesId }) => seriesId)
  const changed = new Map<string, Holding>()
  for (const [id, holding] of holdings) {
    const said = hear(voices.get(id) ?? [])
    const next = withSortTitle(applyPatch(fields, holding, { ...NOTHING, ...said.fields }, 'embedded').next)
    if (!isDeepStrictEqual([next.values, next.sources], [holding.values, holding.sources])) changed.set(id, next)
    const bearer = { bearer: 'series' as const, bearerIds: [id] }
    if (!holding.locks.has('genres')) await addNames(trx, { taxonomy: 'genre', ...bearer, names: said.genres ?? [] })
    if (!holding.locks.has('tags')) await addNames(trx, { taxonomy: 'tag', ...bearer, names: said.tags ?? [] })
    if (!holding.locks.has('alternateTitles')) await seedAlternateTitles(trx, id, said.alternateTitles ?? [])
    await seedLinks(trx, id, said.links ?? [])
  }
  await storeHoldings(trx, 'series', changed)
  await markSeedDue(trx, ids, false)
}

/**
 * A book of the series says something new. The first one counts at once, so that nobody looks at an empty series; while others wait for their
 * analysis the rest is done with the last of them, since each time costs a look at all that were read.
 */
export async function hearBook(trx: Knex, seriesId: string): Promise<void> {
  const { pending, due } = await findSeedState(trx, seriesId)
  if (!pending || !due) await seedSeries(trx, [seriesId])
  if (pending) await markSeedDue(trx, [seriesId], true)
}

/** Seeds what was left over in a library, one series at a time. */
export async function seedLeftOver(database: Knex, libraryId: string, signal: AbortSignal): Promise<void> {
  for (const id of await listSeedsDue(database, libraryId)) {
    signal.throwIfAborted()
    await database.transaction(async (trx) => await seedSeries(trx, [id]))
  }
}

/** What the books say together: a file beside them knows best, then what most of them say, then what can be told from their own fields. */
export function hear(books: readonly BookVoice[]): SeriesHints {
  const hints = books.flatMap(({ embedded }) => embedded?.series ?? [])
  const sidecar = books.map(({ embedded }) => embedded?.seriesSidecar).find((hint) => hint !== undefined)
  const own = <Name extends 'publisher' | 'imprint' | 'languageIso' | 'summary' | 'year'>(name: Name) =>
    books.filter(({ sources }) => sources[name] === 'embedded').flatMap((book) => book[name] ?? [])
  const hinted: Record<string, unknown> = {}
  for (const { name } of fields) {
    const values = hints.flatMap((hint) => hint.fields?.[name as keyof typeof hint.fields] ?? [])
    if (values.length > 0) hinted[name] = commonest(values)
  }
  const years = own('year')
  const said = {
    publisher: commonest(own('publisher')),
    imprint: commonest(own('imprint')),
    language: commonest(own('languageIso')),
    // The first book introduces the series.
    summary: own('summary')[0],
    year: years.length > 0 ? Math.min(...years) : undefined,
    authors: commonAuthors(books),
  }
  const told = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined))
  const unique = (lists: (string[] | undefined)[], most: number) => [...new Set(lists.flatMap((list) => list ?? []))].slice(0, most)
  const all = sidecar ? [sidecar, ...hints] : hints
  const short = (name: string) => name.length <= NAME_LENGTH_MAX
  return {
    fields: { ...told, ...hinted, ...sidecar?.fields },
    genres: unique([...all.map(({ genres }) => genres), ...books.map(({ embedded }) => embedded?.genres)], NAMES_MAX).filter(short),
    tags: unique([...all.map(({ tags }) => tags), ...books.map(({ embedded }) => embedded?.tags)], NAMES_MAX).filter(short),
    alternateTitles: firstOf(
      all.flatMap(({ alternateTitles }) => alternateTitles ?? []),
      ({ label, title }) => `${label}\0${title}`,
    ),
    links: firstOf(
      all.flatMap(({ links }) => links ?? []),
      ({ source }) => source,
    ),
  }
}

/** The value that is given most often, of equals the first. */
function commonest<Value>(values: readonly Value[]): Value | undefined {
  const counts = new Map<string, { value: Value; count: number }>()
  for (const value of values) {
    const key = JSON.stringify(value)
    counts.set(key, { value, count: (counts.get(key)?.count ?? 0) + 1 })
  }
  return [...counts.values()].sort((a, b) => b.count - a.count)[0]?.value
}

/** People whom at least half of the books with people name in the same role: a guest of one issue did not make the series. */
function commonAuthors(books: readonly BookVoice[]): Author[] | undefined {
  const lists = books.flatMap(({ authors }) => (authors ? [authors] : []))
  const counts = new Map<string, { author: Author; count: number }>()
  for (const author of lists.flat()) {
    const key = `${author.role}\0${author.name}`
    counts.set(key, { author, count: (counts.get(key)?.count ?? 0) + 1 })
  }
  const common = [...counts.values()].filter(({ count }) => count * 2 >= lists.length).map(({ author }) => author)
  return common.length > 0 ? common : undefined
}

function firstOf<Entry>(entries: readonly Entry[], keyOf: (entry: Entry) => string): Entry[] {
  const seen = new Map<string, Entry>()
  for (const entry of entries) if (!seen.has(keyOf(entry))) seen.set(keyOf(entry), entry)
  return [...seen.values()]
}
