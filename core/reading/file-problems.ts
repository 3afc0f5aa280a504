import type { FileHandle } from 'node:fs/promises'
import { libraryFileOf, type ReadableBook } from '#core/catalog/readable-book-query.ts'
import type { Problem } from '#core/fields/analysis.ts'
import { fileTime } from '#core/foundation/column-number.ts'
import { askDisk } from '#core/foundation/disk-calls.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import { closeInside, OutsideError, openInside } from '#core/foundation/open-inside.ts'

/**
 * Whether a problem of a page is caused by this machine (its disks, its limits, its load) and not by the book. Such a
 * problem is temporary, so it must not be recorded with the book. Too little memory is not among them: the same page needs as much the next time.
 */
export function isTemporary({ type, details = {} }: Problem): boolean {
  if ('deadlineMs' in details || isRefusal(details)) return true
  // Problems of the content have types of their own; with this type the pool reports why a thread ended.
  return type === 'other' && 'reason' in details
}

/** Whether the operating system refused the operation. */
export function isSystemError(cause: unknown): cause is NodeJS.ErrnoException {
  return cause instanceof Error && isRefusal(cause)
}

function isRefusal(details: object): boolean {
  return 'code' in details && typeof details.code === 'string' && 'syscall' in details
}

/**
 * @throws not_found when the file is missing, conflict when it has changed since its analysis; the next scan corrects both.
 *   unavailable when the system reports another error
 */
export async function checkUnchanged(book: ReadableBook): Promise<void> {
  const details = await withOpened(book, (file) => file.stat({ bigint: true })).catch((cause) => {
    const code = cause instanceof Error && 'code' in cause ? cause.code : ''
    if (cause instanceof OutsideError || code === 'ENOENT' || code === 'ENOTDIR') {
      refuse('not_found', `The file "${book.fileName}" is no longer where it was. Put it back, or scan its library.`, { cause })
    }
    refuseForNow(book, cause)
  })
  if (details.size !== BigInt(book.fileBytes) || String(fileTime(details)) !== book.mtimeNs) {
    refuse('conflict', `The file "${book.fileName}" has changed since it was analyzed. Scan its library, then continue reading.`)
  }
}

/**
 * Format readers of archives and PDFs report a failing disk as a damaged file; reading its first byte distinguishes the two.
 * @throws unavailable when it cannot be read
 */
export async function checkReadable(book: ReadableBook): Promise<void> {
  try {
    await withOpened(book, (file) => file.read(Buffer.alloc(1), 0, 1, 0))
  } catch (cause) {
    refuseForNow(book, cause)
  }
}

async function withOpened<Result>(book: ReadableBook, use: (file: FileHandle) => Promise<Result>): Promise<Result> {
  const inside = libraryFileOf(book)
  const file = await openInside(inside)
  try {
    return await askDisk(inside.root, () => use(file))
  } finally {
    await closeInside(inside.root, file)
  }
}

/** @throws unavailable for errors of the system; any other error unchanged */
export function refuseForNow(book: ReadableBook, cause: unknown): never {
  if (!isSystemError(cause)) throw cause
  const { code, syscall } = cause
  throw new AppError(
    'unavailable',
    `"${book.fileName}" cannot be read at the moment: the system refused it (${code}). Try again; if the error persists, check the server's disks, permissions and limits.`,
    { details: { code, syscall }, cause },
  )
}
