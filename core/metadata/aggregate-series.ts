import { isDeepStrictEqual } from 'node:util'
import type { Knex } from 'knex'
import { announceSeries } from '#core/events/event-store.ts'
import { aggregateBooks } from '#core/metadata/aggregate-books.ts'
import { applyPatch } from '#core/metadata/apply-patch.ts'
import type { SeriesHints } from '#core/metadata/embedded.ts'
import { changedNames, type Field, type Holding } from '#core/metadata/field.ts'
import { loadHoldings, storeHoldings } from '#core/metadata/holding-store.ts'
import { nameKey } from '#core/metadata/name.ts'
import { READING_ORDER } from '#core/metadata/reading-order.ts'
import {
  findSeedState,
  listGrounds,
  listSeedsDue,
  listVoices,
  markSeedDue,
  markUnrelated,
  type Seeded,
  type SeedGrounds,
  seedAlternateTitles,
  seedLinks,
  storeSeeded,
  takeBackSeeded,
} from '#core/metadata/series-aggregate-store.ts'
import { SERIES_FIELDS } from '#core/metadata/series-metadata.ts'
import { withSortTitle } from '#core/metadata/sort-title.ts'
import { addNames } from '#core/metadata/taxonomy-store.ts'

const fields: readonly Field[] = SERIES_FIELDS
/** Fields that books can give; what no book says any more is cleared, where it was a book that had said it. */
const NOTHING = Object.fromEntries(fields.map(({ name }) => [name, null]))

/**
 * Fills in what the files of its books say of each series, and takes back what they do not say any more, where no lock and no stronger source forbids.
 * Idempotent; within the transaction that wrote the books.
 */
export async function seedSeries(trx: Knex.Transaction, seriesIds: readonly string[]): Promise<void> {
  const ids = [...new Set(seriesIds)].sort()
  const holdings = await loadHoldings(trx, 'series', ids)
  const voices = Map.groupBy(await listVoices(trx, ids, READING_ORDER), ({ seriesId }) => seriesId)
  const grounds = await listGrounds(trx, ids)
  const changed = new Map<string, Holding>()
  const told = new Map<string, string[]>()
  for (const [id, holding] of holdings) {
    const { seeded, books, pending, folderTitle } = grounds.get(id) as SeedGrounds
    // All its files are gone, perhaps with a disk: what they said stays for when they come back.
    if (books === 0) continue
    const { said, unrelated } = aggregateBooks(voices.get(id) ?? [], books)
    const next = withSortTitle(withTitle(applyPatch(fields, holding, { ...NOTHING, ...said.fields }, 'embedded').next, folderTitle))
    if (!isDeepStrictEqual([next.values, next.sources], [holding.values, holding.sources])) changed.set(id, next)
    const left = await takeBack(trx, id, { said, seeded, locks: holding.locks })
    const { news, known } = tellNews(said, left, holding.locks)
    const bearer = { bearer: 'series' as const, bearerIds: [id], giver: 'embedded' as const }
    await addNames(trx, { taxonomy: 'genre', ...bearer, names: news.genres ?? [] })
    await addNames(trx, { taxonomy: 'tag', ...bearer, names: news.tags ?? [] })
    await seedAlternateTitles(trx, id, news.alternateTitles ?? [])
    await seedLinks(trx, id, news.links ?? [])
    if (known || left !== seeded) await storeSeeded(trx, id, known ?? left)
    await markUnrelated(trx, id, unrelated && !pending)
    const names = [...changedNames(holding, changed.get(id) ?? holding), ...changedKeys(seeded, known ?? left)]
    if (names.length > 0) told.set(id, names)
  }
  await storeHoldings(trx, 'series', changed)
  await announceSeries(trx, [...told.keys()], told)
  await markSeedDue(trx, ids, false)
}

/** What of a series is told to have changed. */
const changedKeys = (before: Seeded, after: Seeded): string[] =>
  (Object.keys(SEED_KEYS) as (keyof Seeded)[]).filter((what) => !isDeepStrictEqual(before[what] ?? [], after[what] ?? []))

/** A series from which its books have taken their title is called like its folder. */
export function withTitle(holding: Holding, folderTitle: string | null): Holding {
  if (holding.values.title !== undefined || folderTitle === null) return holding
  return applyPatch(fields, holding, { title: folderTitle }, 'file_name').next
}

/** The keys of what books say, as they are remembered. */
const SEED_KEYS: { readonly [What in keyof Seeded]-?: (said: SeriesHints) => string[] } = {
  genres: ({ genres = [] }) => genres.map(nameKey),
  tags: ({ tags = [] }) => tags.map(nameKey),
  // JSON, since a text of the database holds no NUL that could part the two.
  alternateTitles: ({ alternateTitles = [] }) => alternateTitles.map(({ label, title }) => JSON.stringify([label, title])),
  links: ({ links = [] }) => links.map(({ source }) => source),
}

/** Takes away what only files gave and none says any more, and forgets it, so that it may come again. What is left is as it was given where it is all. */
async function takeBack(
  trx: Knex,
  id: string,
  { said, seeded, locks }: { said: SeriesHints; seeded: Seeded; locks: ReadonlySet<string> },
): Promise<Seeded> {
  let left = seeded
  for (const what of Object.keys(SEED_KEYS) as (keyof Seeded)[]) {
    const says = new Set(SEED_KEYS[what](said))
    const unsaid = (seeded[what] ?? []).filter((key) => !says.has(key))
    if (unsaid.length === 0 || locks.has(what)) continue
    const gone = await takeBackSeeded(trx, id, what, unsaid)
    if (gone.size > 0) left = { ...left, [what]: (seeded[what] ?? []).filter((key) => !gone.has(key)) }
  }
  return left
}

/**
 * What books give for the first time, and what they have given then; null when that is nothing more than before. A person who took something
 * away, from the series or everywhere, is not asked again; what a lock keeps out may come when it is gone.
 */
function tellNews(said: SeriesHints, before: Seeded, locks: ReadonlySet<string>): { news: SeriesHints; known: Seeded | null } {
  const known: Seeded = { ...before }
  const pick = <What extends keyof Seeded>(what: What): SeriesHints[What] => {
    if (locks.has(what)) return []
    const old = new Set(before[what])
    const keys = SEED_KEYS[what](said)
    const fresh = keys.filter((key) => !old.has(key))
    if (fresh.length > 0) known[what] = [...new Set([...old, ...fresh])]
    return (said[what] as unknown[] | undefined)?.filter((_entry, index) => !old.has(keys[index] as string)) as SeriesHints[What]
  }
  const news = { genres: pick('genres'), tags: pick('tags'), alternateTitles: pick('alternateTitles'), links: pick('links') } as SeriesHints
  return { news, known: Object.keys(SEED_KEYS).some((what) => (news[what as keyof Seeded]?.length ?? 0) > 0) ? known : null }
}

/**
 * A book of the series says something new. The first one counts at once, so that nobody looks at an empty series of one book; while others wait for
 * their analysis the rest is done with the last of them, since each time costs a look at all that were read. True when something is left to do:
 * then {@link seedSettled} belongs after the transaction.
 */
export async function hearBook(trx: Knex.Transaction, seriesId: string): Promise<boolean> {
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
