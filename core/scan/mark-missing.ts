import type { Knex } from 'knex'
import { folderOf } from '#core/catalog/library-folder.ts'
import type { LibraryRow } from '#core/catalog/library-store.ts'
import type { Log } from '#core/foundation/log.ts'
import { countNewFiles, countPresentBooks, forgetFolders } from '#core/scan/found-file-store.ts'
import { hashText } from '#core/scan/hash-text.ts'
import { type Guard, isMassLoss } from '#core/scan/mass-loss.ts'
import {
  confirmLosses,
  countPresentIn,
  eachPresentBook,
  markDeleted,
  markWithheld,
  type PresentBook,
  unmarkWithheld,
} from '#core/scan/missing-book-store.ts'
import { leaveOutWaiting } from '#core/scan/moves/leave-out-waiting.ts'
import { countWaitingFiles } from '#core/scan/moves/waiting-file-query.ts'
import { compareNames } from '#core/scan/walk-folders.ts'
import {
  decideWithheld,
  type HeldFolder,
  type Loss,
  shownFolder,
  WITHHELD_MAX,
  type WithheldDecision,
  type WithheldFolder,
} from '#core/scan/withheld.ts'
import type { TaskRun } from '#core/tasks/task.ts'

/** What the walk has found, and the state of the library before. */
interface Walked {
  run: TaskRun
  library: LibraryRow
  /** The folder that was walked, relative to the library; '' for all of it. */
  part: string
  unchangedFolders: ReadonlySet<string>
  /** Hashes of the paths in changed folders. */
  seen: ReadonlySet<number>
  /** What could not be read; nothing at or below it counts as missing. */
  unreadable: ReadonlySet<string>
  /** Of the root, and of folders on another device than the one above. */
  devices: ReadonlyMap<string, number>
  counts: { filesTotal: number }
  /** Books that were recorded before the scan. */
  known: number
  /** Folders that were recorded before the scan: new ones do not make up for those that vanished. */
  foldersBefore: number
  /** The folders whose books a user has confirmed to be gone: all of them, or those of these paths. */
  confirmed: 'all' | ReadonlySet<string>
}

export interface Marked {
  missing: number
  /** Set if most of the library is missing. */
  guard: Guard | null
  withheld: WithheldFolder[]
  /** Neither marked nor withheld: as many new files wait for their analysis, and may be those that are gone, under other names and changed. */
  waiting: number
  /** There are more books than files: a scan that was stopped has recorded folders, and not what is missing there. The next one finds it. */
  overlooks: boolean
}

/**
 * Marks the books whose files are missing, except in places that the walk could not read. Where a missing disk is the likelier reason, and nobody has
 * confirmed that they are gone, none is marked, and the result says what was withheld.
 */
export async function markMissing({ database, log }: { database: Knex; log: Log }, walked: Walked): Promise<Marked> {
  const { library, part, run, confirmed } = walked
  if (confirmed === 'all') await confirmLosses(database, library.id)
  if (part === '' && (await countPresentBooks(database, library.id)) === walked.counts.filesTotal) {
    await unmarkWithheld(database, library.id, null)
    return { missing: 0, guard: null, withheld: [], waiting: 0, overlooks: false }
  }
  const loss = await countLoss(database, walked)
  const isConfirmed = (folder: string) => confirmed === 'all' || confirmed.has(folder)
  const isMass = isMassLoss(loss.guard)
  const devices = (library.devices ?? {}) as Record<string, number>
  const facts = { root: library.path, devices, foldersBefore: walked.foldersBefore }
  const decided = await decideWithheld({ ...facts, isMass, folders: loss.folders })
  for (const folder of decided.withheld.keys()) if (isConfirmed(folder)) decided.withheld.delete(folder)
  let missing = 0
  let held = 0
  for await (const books of eachPresentBook(database, library, part)) {
    run.signal.throwIfAborted()
    const gone = books
      .filter((book) => presenceOf(walked, book) === 'gone')
      .map((book) => ({ ...book, folder: folderOf(library.path, book.path) }))
    const counts = (book: PresentBook) => !book.provisional && !loss.moved.has(book.id)
    const isHeld = (book: (typeof gone)[number]) =>
      isMass ? !isConfirmed(book.folder) : !book.provisional && decided.withheld.has(book.folder)
    const withheld = gone.filter(isHeld)
    held += withheld.length
    await markWithheld(database, withheld.filter(counts))
    const back = books.filter((book) => book.isWithheld && presenceOf(walked, book) === 'there')
    if (back.length > 0) await unmarkWithheld(database, library.id, back)
    missing += await markDeleted(
      database,
      gone
        .filter((book) => !isHeld(book))
        .map((book) => ({
          ...book,
          why: decided.lost.has(book.folder) ? ('folder' as const) : ('file' as const),
          isConfirmed: isConfirmed(book.folder),
        })),
    )
  }
  if (decided.withheld.size > 0) await forgetFolders(database, library.id, [...decided.withheld.keys()])
  const present = part === '' ? await countPresentBooks(database, library.id) : await countPresentIn(database, library, part)
  const files = present - loss.kept - held
  if (files !== walked.counts.filesTotal) {
    // Rows were changed by something other than the scan: an analysis just now, or a manual change. The next scan compares every file.
    log.debug({ libraryId: library.id, present, kept: loss.kept, files: walked.counts.filesTotal }, 'Rows and files differ after a scan')
    await forgetFolders(database, library.id)
  }
  const shown = await decideShown(database, walked, { loss, facts, decided })
  const list = [...shown.withheld].sort(([a], [b]) => compareNames(a, b)).slice(0, WITHHELD_MAX)
  return {
    missing,
    guard: shown.guard !== null && held > 0 ? shown.guard : null,
    withheld: list.map(([folder, reason]) => ({ folder: shownFolder(folder), reason, books: loss.folders.get(folder)?.gone ?? 0 })),
    overlooks: files > walked.counts.filesTotal,
    waiting: [...decided.withheld.keys()].reduce((sum, one) => sum + (shown.withheld.has(one) ? 0 : (loss.folders.get(one)?.gone ?? 0)), 0),
  }
}

/** What is reported of the losses that are withheld: not those that may be found again by the analysis of new files. */
async function decideShown(
  database: Knex,
  { library, devices }: Walked,
  { loss, facts, decided }: { loss: CountedLoss; facts: Omit<Loss, 'isMass' | 'folders'>; decided: WithheldDecision },
): Promise<Pick<WithheldDecision, 'withheld'> & { guard: Guard | null }> {
  const { guard, folders, moved, movedFrom } = loss
  const [root, before] = [devices.get(''), facts.devices['']]
  const isOtherDisk = root !== undefined && before !== undefined && root !== before
  if (decided.withheld.size === 0 || isOtherDisk) return { withheld: decided.withheld, guard: isMassLoss(guard) ? guard : null }
  const newFiles = await countWaitingFiles(database, library)
  const unmatched = new Map([...folders].map(([path, one]) => [path, { ...one, gone: one.gone - (movedFrom.get(path) ?? 0) }]))
  const shown = await leaveOutWaiting({ ...facts, folders: unmatched, decided, known: guard.known, newFiles, matched: moved.size })
  return { withheld: shown.withheld, guard: shown.isMass ? { ...guard, missing: guard.missing - moved.size } : null }
}

interface CountedLoss {
  /** With those that may have been moved: on the wrong disk, other files may have their sizes, and only the analysis can tell. */
  guard: Guard
  /** Books in places that the walk could not read. */
  kept: number
  folders: Map<string, HeldFolder>
  /** The missing books that may have been moved. */
  moved: Set<string>
  /** How many of them were in each folder. */
  movedFrom: Map<string, number>
}

/** Counts all before marking any. */
async function countLoss(database: Knex, walked: Walked): Promise<CountedLoss> {
  const { library } = walked
  const newFiles = await countNewFiles(database, library.id)
  const folders: CountedLoss['folders'] = new Map()
  const moved: CountedLoss['moved'] = new Set()
  const movedFrom: CountedLoss['movedFrom'] = new Map()
  let [missing, kept, unseen] = [0, 0, 0]
  for await (const books of eachPresentBook(database, library, walked.part)) {
    walked.run.signal.throwIfAborted()
    for (const book of books) {
      const presence = presenceOf(walked, book)
      if (presence === 'hidden') {
        kept += 1
        if (!book.provisional) unseen += 1
      } else if (!book.provisional) {
        const path = folderOf(library.path, book.path)
        const folder = folders.get(path) ?? { known: 0, gone: 0, left: 0, wasWithheld: false }
        folder.known += 1
        folders.set(path, folder)
        if (presence !== 'gone') {
          folder.left += 1
          continue
        }
        if (hasMoved(book, newFiles)) {
          moved.add(book.id)
          movedFrom.set(path, (movedFrom.get(path) ?? 0) + 1)
        }
        missing += 1
        folder.gone += 1
        folder.wasWithheld ||= book.isWithheld
      }
    }
  }
  return { guard: { known: walked.known - unseen, missing }, kept, folders, moved, movedFrom }
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
