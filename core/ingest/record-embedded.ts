import { isDeepStrictEqual } from 'node:util'
import type { Knex } from 'knex'
import { applyPatch } from '#core/metadata/apply-patch.ts'
import { BOOK_FIELDS } from '#core/metadata/book-metadata.ts'
import { embeddedTitle } from '#core/metadata/book-title.ts'
import type { Embedded, KeptEmbedded } from '#core/metadata/embedded.ts'
import { changeExternalIds, changeLinks, findKeptEmbedded, storeKeptEmbedded } from '#core/metadata/embedded-store.ts'
import { changedNames, type Field, type MetadataRecord } from '#core/metadata/field.ts'
import { readFileName } from '#core/metadata/file-name.ts'
import { loadRecords, storeRecords } from '#core/metadata/metadata-record-store.ts'
import { NAME_LENGTH_MAX, NAMES_MAX, nameKey } from '#core/metadata/name.ts'
import { addNames, removeNames, type Taxonomy } from '#core/metadata/taxonomy-store.ts'

const fields: readonly Field[] = BOOK_FIELDS
/** What a file does not say any more is cleared, where it was the file that had said it. */
const NOTHING = Object.fromEntries(fields.filter(({ role }) => role === undefined).map(({ name }) => [name, null]))

export interface EmbeddedRecord {
  bookId: string
  fileName: string
  /** Of the library; says whether the title in the file counts. */
  bookStrategy: string
  /** What the file says now. */
  embedded: Embedded
}

/** Whether a file says anything that is kept. */
export const saysSomething = ({ title, ...more }: Embedded, bookStrategy: string): boolean =>
  Object.keys(more).length > 0 || embeddedTitle({ strategy: bookStrategy, embedded: title }) !== undefined

/**
 * Writes what a file and its name say of a book, where no lock and no stronger source forbids. Answers the members that changed;
 * null when nothing changed that its series is aggregated from. Within the transaction that writes the analysis.
 */
export async function recordEmbedded(trx: Knex, { bookId, fileName, bookStrategy, embedded }: EmbeddedRecord): Promise<string[] | null> {
  const record = (await loadRecords(trx, 'book', [bookId])).get(bookId)
  if (!record) return null
  const title = embeddedTitle({ strategy: bookStrategy, embedded: embedded.title }) ?? null
  const read = applyPatch(fields, record, { ...NOTHING, ...embedded.book, title }, 'embedded')
  const named = applyPatch(fields, read.next, { ...readFileName(fileName) }, 'file_name')
  const before = await findKeptEmbedded(trx, bookId)
  const kept = keptOf(embedded)
  const isSameRecord = isSame(record, named.next)
  if (isSameRecord && isDeepStrictEqual(before, kept)) return null
  if (!isSameRecord || before === null) await storeRecords(trx, 'book', new Map([[bookId, named.next]]))
  if (!isDeepStrictEqual(before, kept)) {
    await storeKeptEmbedded(trx, bookId, kept)
    await changeKept(trx, bookId, { before: before ?? {}, after: kept ?? {}, locks: record.locks })
  }
  const lists = KEPT_MEMBERS.filter((name) => !isDeepStrictEqual(before?.[name], kept?.[name]))
  return [...changedNames(record, named.next), ...lists]
}

const KEPT_MEMBERS = ['genres', 'tags', 'links', 'externalIds'] as const

const isSame = (one: MetadataRecord, other: MetadataRecord) =>
  isDeepStrictEqual(one.values, other.values) && isDeepStrictEqual(one.sources, other.sources)

/** Null where the file says nothing at all. */
function keptOf({ title, book, ...kept }: Embedded): KeptEmbedded | null {
  return Object.keys(kept).length === 0 && title === undefined && book === undefined ? null : { ...kept, title: title ?? null }
}

/**
 * Only what is new in the file is added, and of what has gone from it only what the file gave is taken away: what people or plugins have added, changed
 * or removed since stays so. Genres have the lock of the field `genre`.
 */
async function changeKept(
  trx: Knex,
  bookId: string,
  { before, after, locks }: { before: KeptEmbedded; after: KeptEmbedded; locks: ReadonlySet<string> },
): Promise<void> {
  if (!locks.has('genre')) await changeNames(trx, 'genre', bookId, difference(before.genres, after.genres))
  await changeNames(trx, 'tag', bookId, difference(before.tags, after.tags))
  const links = after.links ?? []
  await changeLinks(trx, {
    bookId,
    added: links.filter((link) => !before.links?.some((known) => isDeepStrictEqual(known, link))),
    removed: (before.links ?? []).map(({ source }) => source).filter((source) => !links.some((link) => link.source === source)),
  })
  const ids = after.externalIds ?? {}
  await changeExternalIds(trx, {
    bookId,
    added: Object.fromEntries(Object.entries(ids).filter(([source, id]) => before.externalIds?.[source] !== id)),
    removed: Object.keys(before.externalIds ?? {}).filter((source) => !(source in ids)),
  })
}

interface Difference {
  added: string[]
  removed: string[]
}

async function changeNames(trx: Knex, taxonomy: Taxonomy, bookId: string, { added, removed }: Difference): Promise<void> {
  const change = { taxonomy, bearer: 'book' as const, bearerIds: [bookId], giver: 'embedded' as const }
  if (removed.length > 0) await removeNames(trx, { ...change, names: removed })
  if (added.length > 0) await addNames(trx, { ...change, names: added })
}

function difference(before: readonly string[] = [], after: readonly string[] = []): Difference {
  const was = namesByKey(before)
  const is = namesByKey(after)
  return {
    added: [...is].filter(([key]) => !was.has(key)).map(([, name]) => name),
    removed: [...was].filter(([key]) => !is.has(key)).map(([, name]) => name),
  }
}

/** Sentences are no genres, and a list of keywords beyond the limit is cut. */
const namesByKey = (names: readonly string[]): Map<string, string> =>
  new Map(
    names
      .filter((name) => name.length <= NAME_LENGTH_MAX)
      .slice(0, NAMES_MAX)
      .map((name) => [nameKey(name), name]),
  )
