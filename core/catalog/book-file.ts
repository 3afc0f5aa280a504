import { stat } from 'node:fs/promises'
import type { Knex } from 'knex'
import { type Caller, isAdministrator } from '#core/account/caller.ts'
import { findReadableBook, libraryFileOf, type ReadableBook } from '#core/catalog/readable-book-query.ts'
import { coverPath } from '#core/covers/cover.ts'
import { MEDIA_TYPE_OF_FORMAT } from '#core/fields/book-format.ts'
import { fileTime } from '#core/foundation/column-number.ts'
import { refuse } from '#core/foundation/errors.ts'
import { lstatInside } from '#core/foundation/open-inside.ts'

/**
 * The file of a book, to be sent unchanged.
 * @throws not_found also when the file is missing; not_analyzed and conflict when its content is unknown, but not for administrators
 */
export async function findBookFile(
  database: Knex,
  caller: Caller,
  bookId: string,
): Promise<{ path: string; libraryPath: string; linkTargets: string[]; fileName: string; mediaType: string; etag: string }> {
  const book = await findReadableBook(database, caller, bookId)
  if (!book) refuse('not_found', `There is no book ${bookId}, or you may not see it.`)
  const stats = await lstatInside(libraryFileOf(book)).catch(nullIfMissing)
  if (!stats?.isFile()) refuse('not_found', `The file "${book.fileName}" is no longer where it was. Put it back, or scan its library.`)
  // The hash identifies the content only while the file is the hashed version: clients resume downloads by this tag, and must not
  // combine two versions. A pending book still has the hash of the version before its change.
  const known = book.state !== 'pending' && stats.size === BigInt(book.fileBytes) && String(fileTime(stats)) === book.mtimeNs
  refuseUnknown(caller, book, known)
  const hashed = known ? book.fileHash : null
  return {
    path: book.path,
    libraryPath: book.libraryPath,
    linkTargets: book.linkTargets,
    fileName: book.fileName,
    mediaType: MEDIA_TYPE_OF_FORMAT[book.format],
    etag: hashed ?? `${stats.size}-${stats.mtimeNs}`,
  }
}

/**
 * A file that was not analyzed since it came, or changed, may be that of a book that is hidden from the caller, whose rules follow the content. Administrators
 * see everything, and look at files that cannot be analyzed.
 * @param isSame whether the file is the one that was scanned last
 * @throws not_analyzed, conflict
 */
export function refuseUnknown(caller: Caller, { state, fileName }: Pick<ReadableBook, 'state' | 'fileName'>, isSame: boolean): void {
  if (isAdministrator(caller)) return
  if (state === 'pending') refuse('not_analyzed', `"${fileName}" waits for its analysis; try again when it is done.`)
  if (!isSame) refuse('conflict', `The file "${fileName}" has changed since it was analyzed. Scan its library, then download it.`)
}

/** Null when the error says that there is no file. @throws unavailable when its disk does not answer */
export function nullIfMissing({ code }: NodeJS.ErrnoException): null {
  return code === 'ETIMEDOUT' ? refuse('unavailable', 'The disk of this file does not answer at the moment. Try again later.') : null
}

/** The cover of a book as a JPEG file, or a sentence that says why it has none. @throws not_found when the book is hidden or unknown */
export async function findCover(
  database: Knex,
  caller: Caller,
  cover: { bookId: string; dataFolder: string },
): Promise<{ path: string; etag: string } | { missing: string }> {
  const book = await findReadableBook(database, caller, cover.bookId)
  if (!book) refuse('not_found', `There is no book ${cover.bookId}, or you may not see it.`)
  const path = coverPath(cover.dataFolder, book.id)
  if (book.coverHash === null)
    return {
      missing: book.state === 'pending' ? `The cover of "${book.fileName}" does not exist yet.` : `"${book.fileName}" has no cover.`,
    }
  if (!(await stat(path).catch(() => null))) return { missing: `The cover of "${book.fileName}" is missing; a deep scan restores it.` }
  return { path, etag: book.coverHash }
}
