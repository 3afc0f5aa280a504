import { isDeepStrictEqual } from 'node:util'
import type { Knex } from 'knex'
import { applyChange, isSameContent, type SetChanges } from '#core/metadata/apply-change.ts'
import type { SetChange } from '#core/metadata/apply-set.ts'
import { BOOK_FIELDS } from '#core/metadata/book-metadata.ts'
import { embeddedTitle } from '#core/metadata/book-title.ts'
import type { Embedded, KeptEmbedded } from '#core/metadata/embedded.ts'
import { embeddedEntries } from '#core/metadata/embedded-entries.ts'
import { findKeptEmbedded, storeKeptEmbedded } from '#core/metadata/embedded-store.ts'
import { changedNames, type Field } from '#core/metadata/field.ts'
import { readFileName } from '#core/metadata/file-name.ts'
import { listIdNames } from '#core/metadata/id-name-query.ts'
import { lockRecords } from '#core/metadata/metadata-record-store.ts'
import { isNames, keyedEntries, type SetEntries, type SetName } from '#core/metadata/metadata-set.ts'
import { readStates, storeStates } from '#core/metadata/metadata-state-store.ts'

const fields: readonly Field[] = BOOK_FIELDS
/** Clears what a file no longer contains, if the value came from the file. */
const NOTHING = Object.fromEntries(fields.filter(({ role }) => role === undefined).map(({ name }) => [name, null]))

interface EmbeddedRecord {
  bookId: string
  fileName: string
  /** The setting of the library: whether the title in the file counts. */
  bookStrategy: string
  /** The metadata in the file now. */
  embedded: Embedded
}

/** Whether a file contains any metadata that is stored. */
export const hasMetadata = ({ title, ...more }: Embedded, bookStrategy: string): boolean =>
  Object.keys(more).length > 0 || embeddedTitle({ strategy: bookStrategy, embedded: title }) !== undefined

/**
 * Writes the metadata of a file and its name to a book, except where a lock or a stronger source forbids it. Returns the changed members;
 * null if nothing changed that its series aggregates. Runs within the transaction that writes the analysis.
 */
export async function recordEmbedded(trx: Knex, { bookId, fileName, bookStrategy, embedded }: EmbeddedRecord): Promise<string[] | null> {
  await lockRecords(trx, 'book', [bookId])
  const earlier = await findKeptEmbedded(trx, bookId)
  const kept = keptOf(embedded)
  const isSameFile = isDeepStrictEqual(earlier, kept)
  const sets = isSameFile ? {} : await keptChanges(trx, earlier ?? {}, kept ?? {})
  const before = (await readStates(trx, 'book', [bookId], Object.keys(sets) as SetName[])).get(bookId)
  if (!before) return null
  const title = embeddedTitle({ strategy: bookStrategy, embedded: embedded.title }) ?? null
  const read = applyChange('book', before, { values: { ...NOTHING, ...embedded.book, title }, sets }, 'embedded')
  const { next } = applyChange('book', read.next, { values: { ...readFileName(fileName) } }, 'file_name')
  await storeStates(trx, 'book', [{ before, next }])
  if (!isSameFile) await storeKeptEmbedded(trx, bookId, kept)
  if (isSameContent('book', before, next) && isDeepStrictEqual(hintsOf(earlier), hintsOf(kept))) return null
  const lists = KEPT_MEMBERS.filter((name) => !isDeepStrictEqual(earlier?.[name], kept?.[name]))
  return [...changedNames(before, next), ...lists]
}

const KEPT_MEMBERS = ['genres', 'tags', 'links', 'externalIds'] as const

/** Null if the file has no metadata. */
function keptOf({ title, book, ...kept }: Embedded): KeptEmbedded | null {
  return Object.keys(kept).length === 0 && title === undefined && book === undefined
    ? null
    : { ...kept, book: book ?? {}, title: title ?? null }
}

/** Without the fields, whose stored values are compared. */
const hintsOf = (kept: KeptEmbedded | null) => kept && { ...kept, book: null }

/**
 * Adds only what is new in the file, and of what disappeared from it removes only what came from the file: what users or plugins have added,
 * changed or removed since stays. Identifiers have the keys of their services.
 */
async function keptChanges(trx: Knex, before: KeptEmbedded, after: KeptEmbedded): Promise<SetChanges> {
  const names = await listIdNames(trx)
  const [was, is] = [embeddedEntries(before, names), embeddedEntries(after, names)]
  const changes = {
    genres: difference('genres', was.genres, is.genres),
    tags: difference('tags', was.tags, is.tags),
    externalLinks: difference('externalLinks', was.externalLinks, is.externalLinks),
    externalIds: difference('externalIds', was.externalIds, is.externalIds),
  }
  return Object.fromEntries(Object.entries(changes).filter(([, change]) => change !== null))
}

/** Null if both are equal. */
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
