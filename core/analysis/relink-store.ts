import type { Knex } from 'knex'
import { loseBook, OF_FILE } from '#core/analysis/displaced-store.ts'
import type { BookContent, MatchingBook } from '#core/analysis/moved-book-query.ts'
import { folderOf } from '#core/catalog/library-folder.ts'
import { announce, announceBooks, bookEvent } from '#core/events/event-store.ts'
import { passProtection } from '#core/metadata/protection-store.ts'
import { markBooksChanged } from '#core/metadata/series-aggregate-store.ts'

/** Any constant of our own. */
const MOVES_LOCK = 7_205_114

/**
 * One decision about moved files at a time, until the transaction ends: of two files that exchange their contents, each needs to see what the other one has
 * become. Also for what changes many books that may be moving: neither then waits for rows of the other.
 */
export async function lockMoves(trx: Knex.Transaction): Promise<void> {
  await trx.raw('SELECT pg_advisory_xact_lock(?)', [MOVES_LOCK])
}

/** The row at the path of a file. */
interface RowOfFile {
  id: string
  library_id: string
  path: string
  /** What it is about; null for a new row. */
  content: BookContent | null
}

/** A row whose content is in another file by now. */
export type DisplacedBook = Pick<MatchingBook, 'id' | 'libraryId' | 'libraryPath' | 'path' | 'fileHash'> & {
  /** Whether nothing is at its path, or another file. */
  place: 'gone' | 'taken'
  /** Whether it must be read at its new place. */
  isUnread: boolean
}

/** Both series; equal if the book stays in its own. */
export interface LinkedSeries {
  oldId: string
  newId: string
}

/** What the name of a file gives to a book without metadata; otherwise the analysis compares the new name with the source of each value. */
const OF_NAME = ['title', 'number', 'position', 'volume', 'chapter'] as const
type LockedRow = Record<(typeof OF_FILE)[number] | (typeof OF_NAME)[number], unknown> & {
  id: string
  path: string
  library_id: string
  series_id: string
  file_hash: string | null
  state: string
  hashed_size: string | null
  displaced_from: string | null
  described: boolean
  /** Whether its metadata, a person or a plugin has given its number, or a lock keeps it. */
  keeps_number: boolean
  number_strategy: string
}

function names(of: LockedRow, from: LockedRow) {
  if (!of.described) return pick(from, OF_NAME)
  // A position is that of the former place. Without a number, the scan gives it that of the new one.
  const isByPosition = of.number !== null && of.number === of.position && !of.keeps_number
  return isByPosition ? pick(from, ['number', 'position']) : {}
}

const pick = <Name extends string>(row: Readonly<Record<Name, unknown>>, names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, row[name]]))

/**
 * Gives the path of a file to the row of a displaced book. The row that was there is deleted if it is new and there is no other place for it; otherwise it
 * takes the place of the displaced book, and waits for its analysis there; if no file is there, it is missing where its content was. Returns the series of both,
 * or null when one of the rows has changed in the meantime.
 */
export async function relinkBook(trx: Knex.Transaction, file: RowOfFile, book: DisplacedBook): Promise<LinkedSeries | null> {
  // One move at a time in a library: several moves of books from one renamed folder would deadlock.
  await trx.raw('SELECT 1 FROM libraries WHERE id = ANY(CAST(? AS uuid[])) ORDER BY id FOR NO KEY UPDATE', [
    [file.library_id, book.libraryId],
  ])
  const { rows } = await trx.raw(
    `SELECT b.*, l.number_strategy, m.book_id IS NOT NULL AS described,
       coalesce(m.sources ->> 'number' <> 'file_name' OR 'number' = ANY(m.locks), false) AS keeps_number
     FROM books b JOIN libraries l ON l.id = b.library_id LEFT JOIN book_metadata m ON m.book_id = b.id
     WHERE b.id = ANY(CAST(? AS uuid[])) ORDER BY b.id FOR UPDATE OF b`,
    [[file.id, book.id]],
  )
  const locked = rows as LockedRow[]
  const old = locked.find((row) => row.id === book.id && row.path === book.path && row.file_hash === book.fileHash)
  const other = locked.find((row) => row.id === file.id && row.path === file.path)
  if (!old || !other) return null
  const isDeleted = file.content === null && book.place === 'gone'
  const moved = [{ seriesId: old.series_id, to: other.series_id }]
  // A new row brings nothing along from its series.
  if (file.content !== null) moved.push({ seriesId: other.series_id, to: old.series_id })
  await passProtection(
    trx,
    moved.filter(({ seriesId, to }) => seriesId !== to),
    { isChange: false, isMove: true },
  )
  // Two rows never have one path.
  const rest = trx('books').where('id', other.id)
  await (isDeleted ? rest.delete() : rest.update({ path: trx.raw('chr(1) || id') }))
  await trx('books')
    .where('id', old.id)
    .update({
      ...pick(other, OF_FILE),
      ...names(old, other),
      ...(book.isUnread && { state: 'pending' }),
      displaced_from: null,
      deleted_at: null,
      updated_at: trx.fn.now(),
    })
  if (!isDeleted) await displace(trx, { other, old, content: file.content, place: book.place })
  // If the file returns to its old path, the next scan must compare it there.
  await trx('scanned_folders')
    .where({ library_id: old.library_id, path: folderOf(book.libraryPath, old.path) })
    .delete()
  if (isDeleted) await announce(trx, [{ event: bookEvent('book_deleted', other) }])
  const fields = ['filePath', 'seriesId', 'deleted', ...(old.library_id === other.library_id ? [] : ['libraryId'])]
  await announceBooks(trx, isDeleted ? [old.id] : [other.id, old.id], fields)
  await markBooksChanged(trx, isDeleted ? [old.id] : [old.id, other.id])
  return { oldId: old.series_id, newId: other.series_id }
}

/** Gives the row whose file another one has taken the place of that one; if no file is there, the row is missing. */
async function displace(
  trx: Knex.Transaction,
  { other, old, content, place }: { other: LockedRow; old: LockedRow; content: BookContent | null; place: DisplacedBook['place'] },
): Promise<void> {
  const { fileHash = null, pagesHash = null } = content ?? {}
  const from = other.displaced_from ?? other.path
  const displaced_from = fileHash === null || from === old.path ? null : from
  const size = other.state === 'pending' ? other.hashed_size : other.file_size
  await trx('books')
    .where('id', other.id)
    .update({
      ...pick(old, OF_FILE),
      ...names(other, old),
      state: 'pending',
      file_hash: fileHash,
      pages_hash: pagesHash,
      displaced_from,
      hashed_size: fileHash === other.file_hash ? size : null,
      updated_at: trx.fn.now(),
    })
  if (place === 'gone') await loseBook(trx, { ...other, displaced_from })
}
