import { isDeepStrictEqual } from 'node:util'
import type { Knex } from 'knex'
import { BOOK_FIELDS } from '#core/fields/book-metadata.ts'
import { embeddedTitle } from '#core/fields/book-title.ts'
import type { Embedded, KeptEmbedded } from '#core/fields/embedded.ts'
import { changedNames, type Field } from '#core/fields/field.ts'
import { embeddedFields, namedFields } from '#core/fields/number-strategy.ts'
import { fieldsOfPlaced, type PlacedBook } from '#core/fields/placed-values.ts'
import { applyChange, isSameContent, type SetChanges } from '#core/metadata/apply-change.ts'
import type { SetChange } from '#core/metadata/apply-set.ts'
import { embeddedEntries } from '#core/metadata/embedded-entries.ts'
import { listKeptEmbedded, storeKeptEmbedded } from '#core/metadata/embedded-store.ts'
import { listIdNames } from '#core/metadata/id-name-query.ts'
import { isNames, keyedEntries, type SetEntries, type SetName } from '#core/metadata/metadata-set.ts'
import { readStates, type StoredState, storeStates } from '#core/metadata/metadata-state-store.ts'

const fields: readonly Field[] = BOOK_FIELDS
/** Clears what a file no longer contains, if the value came from the file. */
const NOTHING = Object.fromEntries(fields.filter(({ role }) => role === undefined).map(({ name }) => [name, null]))

interface EmbeddedRecord {
  bookId: string
  fileName: string
  /** Without it, the name of the file alone. */
  placed?: PlacedBook
  /** The setting of the library: whether the title in the file counts. */
  bookStrategy: string
  /** The setting of the library: what the number comes from. */
  numberStrategy: string
  /** The metadata in the file now. */
  embedded: Embedded
}

/** Whether a file contains any metadata that is stored. */
export const hasMetadata = ({ title, ...more }: Embedded, bookStrategy: string): boolean =>
  Object.keys(more).length > 0 || embeddedTitle({ strategy: bookStrategy, embedded: title }) !== undefined

/**
 * Writes the metadata of files and their names to different books, except where a lock or a stronger source forbids it. Returns the changed members of
 * each book that changed anything that its series aggregates. Runs within the transaction that writes the analyses, and has locked the books.
 */
export async function recordEmbedded(trx: Knex, records: readonly EmbeddedRecord[]): Promise<Map<string, string[]>> {
  const ids = records.map(({ bookId }) => bookId)
  if (ids.length === 0) return new Map()
  const earlier = await listKeptEmbedded(trx, ids)
  const files = records.map((record) => fileChange(record, earlier.get(record.bookId) ?? null))
  const sets = await listKeptChanges(trx, files)
  const names = new Set([...sets.values()].flatMap((changes) => Object.keys(changes) as SetName[]))
  const known = await readStates(trx, 'book', ids, [...names])
  const changes = files.flatMap((file) => {
    const before = known.get(file.record.bookId)
    return before ? [{ ...file, before, next: stateAfter(file.record, before, sets.get(file.record.bookId) ?? {}) }] : []
  })
  await storeStates(trx, 'book', changes)
  await storeKeptEmbedded(trx, new Map(changes.filter(({ isSame }) => !isSame).map(({ record, kept }) => [record.bookId, kept])))
  return new Map(changes.filter(isToAggregate).map((change) => [change.record.bookId, changedIn(change)]))
}

/** The metadata of one file before and now. */
interface FileChange {
  record: EmbeddedRecord
  earlier: KeptEmbedded | null
  kept: KeptEmbedded | null
  isSame: boolean
}

function fileChange(record: EmbeddedRecord, earlier: KeptEmbedded | null): FileChange {
  const kept = keptOf(record.embedded)
  return { record, earlier, kept, isSame: isDeepStrictEqual(earlier, kept) }
}

function stateAfter(
  { embedded, bookStrategy, numberStrategy, fileName, placed }: EmbeddedRecord,
  before: StoredState,
  sets: SetChanges,
): StoredState {
  const title = embeddedTitle({ strategy: bookStrategy, embedded: embedded.title }) ?? null
  const read = applyChange(
    'book',
    before,
    { values: { ...NOTHING, ...embeddedFields(numberStrategy, embedded.book ?? {}), title }, sets },
    'embedded',
  )
  return applyChange('book', read.next, { values: namedFields(numberStrategy, fieldsOfPlaced(fileName, placed)) }, 'file_name').next
}

type BookChange = FileChange & { before: StoredState; next: StoredState }

const isToAggregate = ({ before, next, earlier, kept }: BookChange) =>
  !isSameContent('book', before, next) || !isDeepStrictEqual(hintsOf(earlier), hintsOf(kept))

const changedIn = ({ before, next, earlier, kept }: BookChange): string[] => [
  ...changedNames(before, next),
  ...KEPT_MEMBERS.filter((name) => !isDeepStrictEqual(earlier?.[name], kept?.[name])),
]

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
 * Adds only what is new in each file, and of what disappeared from it removes only what came from the file: what users or plugins have added,
 * changed or removed since stays. Identifiers have the keys of their services. By book; a file with the same metadata has no changes.
 */
async function listKeptChanges(trx: Knex, files: readonly FileChange[]): Promise<Map<string, SetChanges>> {
  const changed = files.filter(({ isSame }) => !isSame)
  if (changed.length === 0) return new Map()
  const names = await listIdNames(trx)
  return new Map(changed.map(({ record, earlier, kept }) => [record.bookId, keptChanges(names, earlier ?? {}, kept ?? {})]))
}

function keptChanges(names: ReadonlySet<string>, before: KeptEmbedded, after: KeptEmbedded): SetChanges {
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
