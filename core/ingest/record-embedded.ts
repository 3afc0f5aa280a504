import { isDeepStrictEqual } from 'node:util'
import type { Knex } from 'knex'
import { applyChange, isSameContent, type SetChanges } from '#core/metadata/apply-change.ts'
import type { SetChange } from '#core/metadata/apply-set.ts'
import { BOOK_FIELDS } from '#core/metadata/book-metadata.ts'
import { embeddedTitle } from '#core/metadata/book-title.ts'
import type { Embedded, KeptEmbedded } from '#core/metadata/embedded.ts'
import { findKeptEmbedded, storeKeptEmbedded } from '#core/metadata/embedded-store.ts'
import { changedNames, type Field } from '#core/metadata/field.ts'
import { readFileName } from '#core/metadata/file-name.ts'
import { listIdNames } from '#core/metadata/id-name-query.ts'
import { lockRecords } from '#core/metadata/metadata-record-store.ts'
import { isNames, keyedEntries, type SetEntries, type SetName } from '#core/metadata/metadata-set.ts'
import { readStates, storeStates } from '#core/metadata/metadata-state-store.ts'
import { NAME_LENGTH_MAX, NAMES_MAX } from '#core/metadata/name.ts'
import { sourceKey } from '#core/metadata/source-key.ts'

const fields: readonly Field[] = BOOK_FIELDS
/** What a file does not say any more is cleared, where it was the file that had said it. */
const NOTHING = Object.fromEntries(fields.filter(({ role }) => role === undefined).map(({ name }) => [name, null]))

interface EmbeddedRecord {
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
  await lockRecords(trx, 'book', [bookId])
  const earlier = await findKeptEmbedded(trx, bookId)
  const kept = keptOf(embedded)
  const sets = isDeepStrictEqual(earlier, kept) ? {} : await keptChanges(trx, earlier ?? {}, kept ?? {})
  const before = (await readStates(trx, 'book', [bookId], Object.keys(sets) as SetName[])).get(bookId)
  if (!before) return null
  const title = embeddedTitle({ strategy: bookStrategy, embedded: embedded.title }) ?? null
  const read = applyChange('book', before, { values: { ...NOTHING, ...embedded.book, title }, sets }, 'embedded')
  const { next } = applyChange('book', read.next, { values: { ...readFileName(fileName) } }, 'file_name')
  if (isSameContent('book', before, next) && isDeepStrictEqual(earlier, kept)) return null
  await storeStates(trx, 'book', [{ before, next }])
  if (!isDeepStrictEqual(earlier, kept)) await storeKeptEmbedded(trx, bookId, kept)
  const lists = KEPT_MEMBERS.filter((name) => !isDeepStrictEqual(earlier?.[name], kept?.[name]))
  return [...changedNames(before, next), ...lists]
}

const KEPT_MEMBERS = ['genres', 'tags', 'links', 'externalIds'] as const

/** Null where the file says nothing at all. */
function keptOf({ title, book, ...kept }: Embedded): KeptEmbedded | null {
  return Object.keys(kept).length === 0 && title === undefined && book === undefined ? null : { ...kept, title: title ?? null }
}

/**
 * Only what is new in the file is added, and of what has gone from it only what the file gave is taken away: what people or plugins have added, changed
 * or removed since stays so. Identifiers are kept under the keys of their services.
 */
async function keptChanges(trx: Knex, before: KeptEmbedded, after: KeptEmbedded): Promise<SetChanges> {
  const changes = {
    genres: difference('genres', namesThatFit(before.genres), namesThatFit(after.genres)),
    tags: difference('tags', namesThatFit(before.tags), namesThatFit(after.tags)),
    externalLinks: difference('externalLinks', before.links ?? [], after.links ?? []),
    externalIds: null as SetChange<'externalIds'> | null,
  }
  if (!isDeepStrictEqual(before.externalIds, after.externalIds)) {
    const names = await listIdNames(trx)
    const entriesOf = ({ externalIds = {} }: KeptEmbedded) =>
      Object.entries(externalIds).map(([source, externalId]) => ({ source: sourceKey(source, names), externalId }))
    changes.externalIds = difference('externalIds', entriesOf(before), entriesOf(after))
  }
  return Object.fromEntries(Object.entries(changes).filter(([, change]) => change !== null))
}

/** Null where both are the same. */
function difference<Name extends SetName>(
  name: Name,
  before: readonly SetEntries[Name][],
  after: readonly SetEntries[Name][],
): SetChange<Name> | null {
  const [was, is] = [keyedEntries(name, before), keyedEntries(name, after)]
  const isNew = ([key, entry]: [string, SetEntries[Name]]) => !was.has(key) || (!isNames(name) && !isDeepStrictEqual(was.get(key), entry))
  const add = [...is].filter(isNew).map(([, entry]) => entry)
  const remove = [...was.keys()].filter((key) => !is.has(key))
  return add.length + remove.length === 0 ? null : { add, remove }
}

/** Sentences are no genres, and a list of keywords beyond the limit is cut. */
const namesThatFit = (names: readonly string[] = []): string[] => names.filter((name) => name.length <= NAME_LENGTH_MAX).slice(0, NAMES_MAX)
