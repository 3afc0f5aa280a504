import type { Knex } from 'knex'
import type { LibraryRow } from '#core/catalog/library-store.ts'
import type { Log } from '#core/foundation/log.ts'
import {
  countNewFiles,
  countPresentBooks,
  eachPresentBook,
  forgetFolders,
  markDeleted,
  type PresentBook,
} from '#core/scan/found-file-store.ts'
import { hashText } from '#core/scan/hash-text.ts'
import { type Guard, isMassLoss } from '#core/scan/mass-loss.ts'
import type { TaskRun } from '#core/tasks/task.ts'

/** What the walk has found, and the state of the library before. */
interface Walked {
  run: TaskRun
  library: LibraryRow
  unchangedFolders: ReadonlySet<string>
  /** Hashes of the paths in changed folders. */
  seen: ReadonlySet<number>
  /** What could not be read; nothing at or below it counts as missing. */
  unreadable: ReadonlySet<string>
  counts: { filesTotal: number }
  /** Books that were recorded before the scan. */
  known: number
  /** Whether a user has confirmed that the files are gone. */
  confirmed: boolean
}

/**
 * Marks the books whose files are missing, except in places that the walk could not read. When they are so many that the disk is the likelier
 * reason, and nobody has confirmed it, none is marked, and the result says what was withheld.
 */
export async function markMissing(
  { database, log }: { database: Knex; log: Log },
  walked: Walked,
): Promise<{ missing: number; guard: Guard | null }> {
  const { library, run } = walked
  if ((await countPresentBooks(database, library.id)) === walked.counts.filesTotal) return { missing: 0, guard: null }
  const loss = await countLoss(database, walked)
  if (!walked.confirmed && isMassLoss(loss.guard)) return { missing: 0, guard: loss.guard }
  let missing = 0
  for await (const books of eachPresentBook(database, library.id)) {
    run.signal.throwIfAborted()
    missing += await markDeleted(
      database,
      books.filter((book) => presenceOf(walked, book) === 'gone'),
    )
  }
  const present = await countPresentBooks(database, library.id)
  if (present - loss.kept !== walked.counts.filesTotal) {
    // Rows were changed by something other than the scan: an analysis just now, or a manual change. The next scan compares every file.
    log.debug({ libraryId: library.id, present, kept: loss.kept, files: walked.counts.filesTotal }, 'Rows and files differ after a scan')
    await forgetFolders(database, library.id)
  }
  return { missing, guard: null }
}

/** Counts all before marking any. `kept`: books in places that the walk could not read. */
async function countLoss(database: Knex, walked: Walked): Promise<{ guard: Guard; kept: number }> {
  const newFiles = await countNewFiles(database, walked.library.id)
  let missing = 0
  let kept = 0
  let unseen = 0
  for await (const books of eachPresentBook(database, walked.library.id)) {
    walked.run.signal.throwIfAborted()
    for (const book of books) {
      const presence = presenceOf(walked, book)
      if (presence === 'hidden') {
        kept += 1
        if (!book.provisional) unseen += 1
      } else if (presence === 'gone' && !book.provisional && !hasMoved(book, newFiles)) missing += 1
    }
  }
  return { guard: { known: walked.known - unseen, missing }, kept }
}

/** Whether a new file of this size was found: analysis compares the hashes. Each new file counts for one book only. */
function hasMoved(book: PresentBook, newFiles: Map<number, number>): boolean {
  const bytes = Number(book.file_size)
  const left = newFiles.get(bytes) ?? 0
  if (left > 0) newFiles.set(bytes, left - 1)
  return left > 0
}

function presenceOf({ library, unchangedFolders, seen, unreadable }: Walked, { path }: PresentBook): 'there' | 'hidden' | 'gone' {
  const relative = path.slice(library.path.length + 1)
  const slash = relative.lastIndexOf('/')
  if (unchangedFolders.has(slash === -1 ? '' : relative.slice(0, slash)) || seen.has(hashText(relative))) return 'there'
  if (unreadable.has(relative)) return 'hidden'
  // Each parent folder, not each unreadable place: of the latter there may be a hundred thousand.
  for (let end = slash; end > 0; end = relative.lastIndexOf('/', end - 1)) if (unreadable.has(relative.slice(0, end))) return 'hidden'
  return 'gone'
}
