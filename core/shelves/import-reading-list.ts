import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { refuse } from '#core/foundation/errors.ts'
import { isNameText } from '#core/foundation/name-text.ts'
import { type EntryMatch, listEntryMatches } from '#core/shelves/entry-match-query.ts'
import type { ReadingList, ReadingListEntry, ReadReadingList } from '#core/shelves/reading-list.ts'
import type { Shelf } from '#core/shelves/shelf.ts'
import { isShownShelfName } from '#core/shelves/shelf-query.ts'
import { addShelf } from '#core/shelves/shelf-store.ts'

/** A thousand books are 100 KB of CBL. */
export const READING_LIST_BYTES_MAX = 2 * 1_048_576
/** The same limit as for the name of any shelf. */
const NAME_MAX = 200
/** A user chooses among them by eye; a series has few editions. */
const MATCHES_PER_ENTRY_MAX = 10

/** Creates a read list from the books of a CBL file that exist here. @throws invalid_value when the file is invalid or no book exists; conflict */
export async function importReadingList(
  dependencies: { database: Knex; readReadingList: ReadReadingList },
  caller: Caller,
  file: ReadingListFile,
): Promise<{ shelf: Shelf; matched: number; unmatched: ReadingListEntry[] }> {
  const { name, entries } = await readNamed(dependencies, file)
  const found = await listEntryMatches(dependencies.database, caller, { entries, max: 1 })
  const memberIds = found.flatMap((books) => books.map(({ bookId }) => bookId))
  if (memberIds.length === 0)
    refuse(
      'invalid_value',
      `The reading list "${name}" names ${entries.length === 1 ? '1 book, which is not' : `${entries.length} books, none of which is`} in a library that you may see.`,
    )
  const shelf = await addShelf(dependencies.database, caller, 'read_list', { name, ordered: true, memberIds })
  return { shelf, matched: memberIds.length, unmatched: entries.filter((_entry, place) => found[place]?.length === 0) }
}

/** The entries of a CBL file with the books that each may mean; changes nothing. @throws as {@link importReadingList}, except if no book exists */
export async function matchReadingList(
  dependencies: { database: Knex; readReadingList: ReadReadingList },
  caller: Caller,
  file: ReadingListFile,
): Promise<{ name: string; nameIsTaken: boolean; entries: ReadingListEntry[]; matches: EntryMatch[][] }> {
  const { name, entries } = await readNamed(dependencies, file)
  const matches = await listEntryMatches(dependencies.database, caller, { entries, max: MATCHES_PER_ENTRY_MAX })
  return { name, nameIsTaken: await isShownShelfName(dependencies.database, caller, 'read_list', name), entries, matches }
}

interface ReadingListFile {
  bytes: Uint8Array
  fileName: string
}

async function readNamed({ readReadingList }: { readReadingList: ReadReadingList }, file: ReadingListFile): Promise<ReadingList> {
  if (file.bytes.length > READING_LIST_BYTES_MAX) refuse('payload_too_large', `A reading list has at most ${READING_LIST_BYTES_MAX} bytes.`)
  const list = await readReadingList(file.bytes)
  if ('refused' in list) refuse('invalid_value', `This is not a reading list in CBL format: ${list.refused}.`)
  const name = (list.name || file.fileName.replace(/\.cbl$/i, '').replaceAll('\0', ''))
    .toWellFormed()
    .replace(/[\s\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu, ' ')
    .slice(0, NAME_MAX)
    .trim()
  if (name === '' || !isNameText(name)) refuse('invalid_value', 'The reading list has no name. Enter one in the file, or rename the file.')
  if (list.entries.length === 0) refuse('invalid_value', `The reading list "${name}" has no books.`)
  return { name, entries: list.entries }
}
