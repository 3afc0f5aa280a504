import type { Knex } from 'knex'
import {
  type AnalysisToWrite,
  describeBooks,
  finishWriting,
  isInDoubt,
  isToCompare,
  storeAnalyzed,
} from '#core/analysis/analysis-to-write.ts'
import { type AnalysisEnd, type LockedBook, lockBooks, lockSeriesOf, type Patience, recordAnalyzed } from '#core/analysis/book-store.ts'
import { type BookToAnalyze, fileToAnalyze, findBooksToAnalyze } from '#core/analysis/book-to-analyze-store.ts'
import { loseDisplaced } from '#core/analysis/displaced-store.ts'
import { isSameVersion, NO_FILE, readVersions } from '#core/analysis/file-version.ts'
import { type BookContent, type FoundFile, findClaimed, type MatchingBook } from '#core/analysis/moved-book-query.ts'
import { followContent, listMoved, relinkMoved, relinkReplaced } from '#core/analysis/relink-moved.ts'
import { lockMoves } from '#core/analysis/relink-store.ts'
import { cutPositions, recordReplaced, restoreReplaced } from '#core/analysis/replaced-content-store.ts'
import { removeCovers } from '#core/covers/book-cover-files.ts'
import { listKnownIds } from '#core/database/known-ids-query.ts'
import type { Announcer } from '#core/events/announcer.ts'
import type { Log } from '#core/foundation/log.ts'
import { aggregateAfter } from '#core/metadata/aggregate-series.ts'
import { passProtection } from '#core/metadata/protection-store.ts'

/** How long a transaction of many books waits for the disks of their files; those that do not answer are written on their own. */
const DISK_MS = 500

interface Dependencies {
  database: Knex
  dataFolder: string
  log: Log
  announcer: Announcer
}

/** A file that is new, or has another content than before: it may be that of another book. */
function changedFile({ book, analysis: { file, pagesHash } }: AnalysisToWrite): FoundFile[] {
  if (file === null || file.sha256 === book.file_hash) return []
  const content = book.file_hash === null ? null : { fileHash: book.file_hash, pagesHash: book.pages_hash }
  return [{ ...book, sha256: file.sha256, pagesHash: pagesHash ?? null, content }]
}

/** Whether the file of a book has other pages now, as far as can be told. */
const isReplaced = ({ content, pagesHash }: { content: BookContent | null; pagesHash: string | null }): boolean =>
  content !== null && (pagesHash === null || pagesHash !== content.pagesHash)

/** Writes many analyses in one transaction, except those of moved and replaced books. */
export async function writeTogether(dependencies: Dependencies, all: readonly AnalysisToWrite[]): Promise<AnalysisEnd[]> {
  const { database } = dependencies
  const files = all.flatMap(changedFile)
  const { moved, open } = await listMoved(database, files)
  const alone = new Set([...open.keys(), ...files.filter(isReplaced).map(({ id }) => id)])
  const rest = all.filter(({ bookId }) => !alone.has(bookId) && !moved.has(bookId))
  const ends = rest.length === 0 ? [] : await database.transaction((trx) => write(dependencies, trx, { all: rest, patience: 'skip' }))
  await finishWriting(dependencies, rest, ends)
  const endOf = new Map(rest.map((one, index) => [one, ends[index] as AnalysisEnd]))
  const together = all.filter(({ bookId }) => moved.has(bookId) && !alone.has(bookId))
  const movedEnds = together.length === 0 ? [] : await writeInOrder(dependencies, together)
  for (const [index, one] of together.entries()) endOf.set(one, movedEnds[index] as AnalysisEnd)
  return all.map((one) => endOf.get(one) ?? { kind: 'alone' })
}

/** The file at the path is not the analyzed version; the transaction is rolled back. */
class FileChanged extends Error {}

/** Writes one analysis: as that of the book that was moved here, if there is one; else as that of its row, whose own content may be elsewhere by now. */
export async function writeAlone(dependencies: Dependencies, one: AnalysisToWrite): Promise<AnalysisEnd> {
  try {
    const [end] = await writeInOrder(dependencies, [one])
    return end as AnalysisEnd
  } catch (error) {
    if (error instanceof FileChanged) return { kind: 'changed' }
    throw error
  }
}

/** Writes analyses one after the other in one transaction. @throws FileChanged */
async function writeInOrder(dependencies: Dependencies, all: readonly AnalysisToWrite[]): Promise<AnalysisEnd[]> {
  const done: Written[] = []
  const ends = await dependencies.database.transaction(async (trx) => {
    if (all.some((one) => changedFile(one).length > 0)) await lockMoves(trx)
    const found: AnalysisEnd[] = []
    for (const one of all) found.push(await writeChanged(dependencies, trx, { one, done }))
    return found
  })
  await finishWriting(
    dependencies,
    done.map(({ one }) => one),
    done.map(({ end }) => end),
  )
  return ends
}

interface Written {
  one: AnalysisToWrite
  end: AnalysisEnd
}

/** An analysis, and what was written before it in the same transaction. */
interface Writing {
  one: AnalysisToWrite
  done: Written[]
}

/** Decides to which row the file belongs. @throws FileChanged */
async function writeChanged(dependencies: Dependencies, trx: Knex.Transaction, { one: given, done }: Writing): Promise<AnalysisEnd> {
  if (changedFile(given).length === 0) return await writeOne(dependencies, trx, { one: given, done })
  const [book] = await findBooksToAnalyze(trx, [given.book.id])
  if (book && book.path !== given.book.path) return { kind: 'moved' }
  const one = book ? { ...given, book } : given
  const [file] = changedFile(one)
  const moved = file ? await writeMoved(dependencies, trx, { one, done, file }) : null
  if (moved !== null) return moved
  const replaced = file && isReplaced(file) ? file.content : null
  if (replaced && (await moveReplaced(dependencies, trx, { one, done, replaced }))) return { kind: 'moved' }
  if (replaced && one.book.displaced_from !== null) {
    const [fresh] = await findBooksToAnalyze(trx, [await loseDisplaced(trx, one.book)])
    return await writeOne(dependencies, trx, { one: { ...one, book: fresh as BookToAnalyze, bookId: (fresh as BookToAnalyze).id }, done })
  }
  const end = await writeOne(dependencies, trx, { one, done })
  if (file?.content && end.kind === 'written') {
    await restoreReplaced(trx, one.bookId, { fileHash: file.sha256, pagesHash: file.pagesHash })
    const isReadable = !one.analysis.problems.some(({ fatal }) => fatal)
    if (replaced) await recordReplaced(trx, one.bookId, replaced, isReadable ? one.analysis.pageCount : 0)
  }
  return end
}

async function writeOne(dependencies: Dependencies, trx: Knex.Transaction, { one, done }: Writing): Promise<AnalysisEnd> {
  const [end] = await write(dependencies, trx, { all: [one], patience: 'wait' })
  done.push({ one, end: end as AnalysisEnd })
  return end as AnalysisEnd
}

/** If the file is a book that was moved here, updates its row with the new path and the analysis, both or neither; otherwise null. */
async function writeMoved(
  dependencies: Dependencies,
  trx: Knex.Transaction,
  { one, done, file }: Writing & { file: FoundFile },
): Promise<AnalysisEnd | null> {
  const found = await listMoved(trx, [file])
  for (const moved of found.moved.get(file.id) ?? []) {
    // Its pages are at its own path as well.
    if (moved.isByPages && !isReplaced(file) && file.content) continue
    const relinked = await relinkMoved(trx, file, moved)
    if (!relinked) continue
    // The book's data came with its row, and so did the locks.
    const [known] = await findBooksToAnalyze(trx, [moved.id])
    const { described = true, cover_locked = false } = known ?? {}
    const book = { ...one.book, described, cover_locked }
    const end = await writeOne(dependencies, trx, { one: { ...one, book, bookId: moved.id, retryDue: false }, done })
    if (end.kind === 'changed') throw new FileChanged()
    // People may have read on in the content that it had meanwhile.
    if (moved.isReplaced && one.analysis.pageCount > 0) await cutPositions(trx, moved.id, one.analysis.pageCount)
    if (end.kind === 'written' && relinked.leftSeriesId !== null) {
      // It no longer contributes to the series that it left.
      if (described) await aggregateAfter(trx, [relinked.leftSeriesId])
      end.due.push(relinked.leftSeriesId)
    }
    if (file.content !== null && moved.place === 'gone') await followContent(trx, file.id)
    // Else the row of the file has another place now, where the file may be that of a third book.
    return file.content === null && moved.place === 'gone' ? end : { kind: 'moved' }
  }
  if (file.content === null) await protectCopy(trx, one.book, found.open.get(file.id) ?? [])
  return null
}

/** Until the scans of other libraries tell, a new file may be a book of theirs that was moved: it is hidden from the same people. */
async function protectCopy(trx: Knex.Transaction, { series_id: to }: BookToAnalyze, open: readonly MatchingBook[]): Promise<void> {
  const elsewhere = open.filter(({ isPending, seriesId }) => !isPending && seriesId !== to)
  await passProtection(
    trx,
    elsewhere.map(({ seriesId }) => ({ seriesId, to })),
    { isChange: false, isMove: true },
  )
}

/** If the content that the book had is in the file of another row by now, it goes there, and the analysis is that of the other row. @throws FileChanged */
async function moveReplaced(
  dependencies: Dependencies,
  trx: Knex.Transaction,
  { one, done, replaced }: Writing & { replaced: BookContent },
): Promise<boolean> {
  const claimed = await findClaimed(trx, { ...one.book, file_hash: replaced.fileHash, pages_hash: replaced.pagesHash })
  if (!claimed || !(await relinkReplaced(trx, one.book, claimed))) return false
  const [book] = await findBooksToAnalyze(trx, [claimed.id])
  if (!book) return false
  const end = await writeChanged(dependencies, trx, { one: { ...one, book, bookId: book.id }, done })
  if (end.kind === 'changed') throw new FileChanged()
  return true
}

/** Locks the rows before it writes the cover files, so that of two analyses the later one never has the cover of the other. */
async function write(
  dependencies: Dependencies,
  trx: Knex.Transaction,
  { all, patience }: { all: readonly AnalysisToWrite[]; patience: Patience },
): Promise<AnalysisEnd[]> {
  const compared = new Set(all.filter(isToCompare))
  const idsOf = (some: Iterable<AnalysisToWrite>) => [...some].map(({ bookId }) => bookId)
  // Before the books: a change of the series is followed by changes of its books, and the two would wait for each other.
  const series = await lockSeriesOf(trx, idsOf(compared), patience)
  const books = await lockBooks(trx, idsOf(all), patience)
  const others = idsOf(all).filter((id) => !books.has(id))
  const existing = patience === 'skip' && others.length > 0 ? await listKnownIds(trx, 'books', others) : new Set<string>()
  const isFree = (one: AnalysisToWrite) =>
    patience === 'wait' || !compared.has(one) || series.has((books.get(one.bookId) as LockedBook).seriesId)
  // Another row may have found its content in the file meanwhile.
  const isHere = (one: AnalysisToWrite) => books.get(one.bookId)?.path === one.book.path
  const free = all.filter((one) => isHere(one) && isFree(one))
  const inDoubt = free.filter((one) => isInDoubt(one, books.get(one.bookId) as LockedBook))
  const versions = await readVersions(
    inDoubt.map(({ book, known }) => ({ ...fileToAnalyze(book), known })),
    patience === 'skip' ? DISK_MS : null,
  )
  const isStill = (one: AnalysisToWrite) => !inDoubt.includes(one) || isSameVersion(versions.get(one.book.path) ?? NO_FILE, one.facts)
  const still = free.filter(isStill)
  const rows = await storeAnalyzed(dependencies, still)
  const analyzed = await recordAnalyzed(trx, rows)
  const recorded = await describeBooks(
    trx,
    still.filter((one) => compared.has(one)),
    analyzed,
  )
  await removeCovers(dependencies.dataFolder, idsOf(still.filter((_, index) => rows[index]?.cover === null)))
  return all.map((one): AnalysisEnd => {
    const written = recorded.get(one.bookId)
    if (written) return written
    if (!books.has(one.bookId)) return { kind: existing.has(one.bookId) ? 'busy' : 'deleted' }
    if (!isHere(one)) return { kind: 'moved' }
    if (!isFree(one)) return { kind: 'busy' }
    return { kind: versions.has(one.book.path) ? 'changed' : 'alone' }
  })
}
