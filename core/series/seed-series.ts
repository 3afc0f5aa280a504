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
  listSeeded,
  listSeedsDue,
  listVoices,
  markSeedDue,
  type Seeded,
  seedAlternateTitles,
  seedLinks,
  storeSeeded,
} from '#core/series/seed-store.ts'
import { withSortTitle } from '#core/series/sort-title.ts'
import { NAME_LENGTH_MAX, NAMES_MAX, nameKey } from '#core/taxonomy/name.ts'
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
  const seeded = await listSeeded(trx, ids)
  const changed = new Map<string, Holding>()
  for (const [id, holding] of holdings) {
    const said = hear(voices.get(id) ?? [])
    const next = withSortTitle(applyPatch(fields, holding, { ...NOTHING, ...said.fields }, 'embedded').next)
    if (!isDeepStrictEqual([next.values, next.sources], [holding.values, holding.sources])) changed.set(id, next)
    const { news, known } = tellNews(said, seeded.get(id) ?? {}, holding.locks)
    const bearer = { bearer: 'series' as const, bearerIds: [id], giver: 'embedded' as const }
    await addNames(trx, { taxonomy: 'genre', ...bearer, names: news.genres ?? [] })
    await addNames(trx, { taxonomy: 'tag', ...bearer, names: news.tags ?? [] })
    await seedAlternateTitles(trx, id, news.alternateTitles ?? [])
    await seedLinks(trx, id, news.links ?? [])
    if (known) await storeSeeded(trx, id, known)
  }
  await storeHoldings(trx, 'series', changed)
  await markSeedDue(trx, ids, false)
}

/**
 * What books give for the first time, and what they have given then; null when that is nothing more than before. A person who took something
 * away, from the series or everywhere, is not asked again; what a lock keeps out may come when it is gone.
 */
function tellNews(said: SeriesHints, before: Seeded, locks: ReadonlySet<string>): { news: SeriesHints; known: Seeded | null } {
  const known: Seeded = { ...before }
  const pick = <Entry>(what: keyof Seeded, entries: readonly Entry[] = [], keyOf: (entry: Entry) => string): Entry[] => {
    if (locks.has(what)) return []
    const old = new Set(before[what])
    const fresh = entries.filter((entry) => !old.has(keyOf(entry)))
    if (fresh.length > 0) known[what] = [...new Set([...old, ...fresh.map(keyOf)])]
    return fresh
  }
  const news = {
    genres: pick('genres', said.genres, nameKey),
    tags: pick('tags', said.tags, nameKey),
    // JSON, since a text of the database holds no NUL that could part the two.
    alternateTitles: pick('alternateTitles', said.alternateTitles, ({ label, title }) => JSON.stringify([label, title])),
    links: pick('links', said.links, ({ source }) => source),
  }
  return { news, known: Object.values(news).some(({ length }) => length > 0) ? known : null }
}

/**
 * A book of the series says something new. The first one counts at once, so that nobody looks at an empty series; while others wait for their
 * analysis the rest is done with the last of them, since each time costs a look at all that were read. True when something is left to do:
 * then {@link seedSettled} belongs after the transaction.
 */
export async function hearBook(trx: Knex, seriesId: string): Promise<boolean> {
  const { pending, due } = await findSeedState(trx, seriesId)
  if (!pending || !due) await seedSeries(trx, [seriesId])
  if (pending) await markSeedDue(trx, [seriesId], true)
  return pending
}

/**
 * Seeds a series for which something was left to do and none of whose books is waited for any more. Only after the commit: of two books that
 * are written at the same moment each sees the other waiting, but the later one sees both when it looks again.
 */
export async function seedSettled(database: Knex, seriesId: string): Promise<void> {
  const { pending, due } = await findSeedState(database, seriesId)
  if (due && !pending) await database.transaction((trx) => seedSeries(trx, [seriesId]))
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
