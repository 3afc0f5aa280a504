import type { Knex } from 'knex'
import {
  type AnalysisToWrite,
  describeBooks,
  finishWriting,
  isInDoubt,
  isToCompare,
  storeAnalyzed,
} from '#core/analysis/analysis-to-write.ts'
import {
  type AnalysisEnd,
  findBooksToAnalyze,
  type LockedBook,
  lockBooks,
  lockSeriesOf,
  type Patience,
  recordAnalyzed,
} from '#core/analysis/book-store.ts'
import { isSameVersion, NO_FILE, readVersions } from '#core/analysis/file-version.ts'
import { type Content, type FoundFile, findClaimed } from '#core/analysis/moved-book-query.ts'
import { listMoved, type MovedBook, relinkMoved, relinkReplaced } from '#core/analysis/relink-moved.ts'
import { recordReplaced, restoreReplaced } from '#core/analysis/replaced-content-store.ts'
import { removeCovers } from '#core/covers/book-cover-files.ts'
import { listKnownIds } from '#core/database/known-ids-query.ts'
import type { Announcer } from '#core/events/announcer.ts'
import type { Log } from '#core/foundation/log.ts'
import { aggregateAfter } from '#core/metadata/aggregate-series.ts'

/** How long a transaction of many books waits for the disks of their files; those that do not answer are written on their own. */
const DISK_MS = 500

interface Dependencies {
  database: Knex
  dataFolder: string
  log: Log
  announcer: Announcer
}

/** A file that is new, or has another content than before: it may be that of another book. What its row is about; null for a new one. */
function changedFile({ book, analysis: { file, pagesHash } }: AnalysisToWrite): (FoundFile & { content: Content | null })[] {
  if (file === null || file.sha256 === book.file_hash) return []
  const content = book.file_hash === null ? null : { fileHash: book.file_hash, pagesHash: book.pages_hash }
  return [{ ...book, sha256: file.sha256, pagesHash: pagesHash ?? null, content }]
}

/** Whether the file of a book has other pages now, as far as can be told. */
const isReplaced = ({ content, pagesHash }: { content: Content | null; pagesHash: string | null }): boolean =>
  content !== null && (pagesHash === null || pagesHash !== content.pagesHash)

/** Writes many analyses in one transaction, except those of moved and replaced books. */
export async function writeTogether(dependencies: Dependencies, all: readonly AnalysisToWrite[]): Promise<AnalysisEnd[]> {
  const { database } = dependencies
  const files = all.flatMap(changedFile)
  const moved = await listMoved(database, files)
  const alone = new Set([...moved.keys(), ...files.filter(isReplaced).map(({ id }) => id)])
  const rest = all.filter(({ bookId }) => !alone.has(bookId))
  const ends = rest.length === 0 ? [] : await database.transaction((trx) => write(dependencies, trx, { all: rest, patience: 'skip' }))
  await finishWriting(dependencies, rest, ends)
  const endOf = new Map(rest.map((one, index) => [one, ends[index] as AnalysisEnd]))
  return all.map((one) => endOf.get(one) ?? { kind: 'alone' })
}

/** Writes one analysis: as that of the book that was moved here, if there is one; else as that of its row, whose own content may be elsewhere by now. */
export async function writeAlone(dependencies: Dependencies, one: AnalysisToWrite): Promise<AnalysisEnd> {
  const { database } = dependencies
  const [file] = changedFile(one)
  if (file) {
    const end = await writeMoved(dependencies, one, file)
    if (end !== null) return end
  }
  const replaced = file && isReplaced(file) ? file.content : null
  if (replaced && (await moveReplaced(dependencies, one, replaced))) return { kind: 'moved' }
  const end = await database.transaction(async (trx) => {
    const written = await writeOne(dependencies, trx, one)
    if (file?.content && written.kind === 'written') await noteContent(trx, one, { file, replaced })
    return written
  })
  await finishWriting(dependencies, [one], [end])
  return end
}

async function noteContent(
  trx: Knex.Transaction,
  { bookId, analysis }: AnalysisToWrite,
  { file, replaced }: { file: FoundFile; replaced: Content | null },
): Promise<void> {
  await restoreReplaced(trx, bookId, { fileHash: file.sha256, pagesHash: file.pagesHash })
  const isReadable = !analysis.problems.some(({ fatal }) => fatal)
  if (replaced) await recordReplaced(trx, bookId, replaced, isReadable ? analysis.pageCount : 0)
}

async function writeOne(dependencies: Dependencies, trx: Knex.Transaction, one: AnalysisToWrite): Promise<AnalysisEnd> {
  const [end] = await write(dependencies, trx, { all: [one], patience: 'wait' })
  return end as AnalysisEnd
}

/** The file at the path is not the analyzed version; the transaction is rolled back. */
class FileChanged extends Error {}

/** If the file is a book that was moved here, updates its row with the new path and the analysis, both or neither; otherwise null. */
async function writeMoved(
  dependencies: Dependencies,
  one: AnalysisToWrite,
  file: FoundFile & { content: Content | null },
): Promise<AnalysisEnd | null> {
  const { database } = dependencies
  for (const moved of (await listMoved(database, [file])).get(file.id) ?? []) {
    // Its pages are at its own path as well.
    if (moved.isByPages && !isReplaced(file) && file.content) continue
    try {
      const end = await database.transaction((trx) => writeRelinked(dependencies, trx, { one, file, moved }))
      if (end === null) continue
      await finishWriting(dependencies, [one], [end])
      // The row of the file has another place now, where its file may be that of a third book.
      return file.content === null && moved.place === 'gone' ? end : { kind: 'moved' }
    } catch (error) {
      if (error instanceof FileChanged) return { kind: 'changed' }
      throw error
    }
  }
  return null
}

/** Null when another copy of the file was faster. @throws FileChanged */
async function writeRelinked(
  dependencies: Dependencies,
  trx: Knex.Transaction,
  { one, file, moved }: { one: AnalysisToWrite; file: FoundFile & { content: Content | null }; moved: MovedBook },
): Promise<AnalysisEnd | null> {
  const relinked = await relinkMoved(trx, file, moved)
  if (!relinked) return null
  // The book's data came with its row, and so did the locks.
  const [known] = await findBooksToAnalyze(trx, [moved.id])
  const { described = true, cover_locked = false } = known ?? {}
  const book = { ...one.book, described, cover_locked }
  const end = await writeOne(dependencies, trx, { ...one, book, bookId: moved.id, retryDue: false })
  if (end.kind === 'changed') throw new FileChanged()
  if (end.kind !== 'written' || relinked.leftSeriesId === null) return end
  // It no longer contributes to the series that it left.
  if (described) await aggregateAfter(trx, [relinked.leftSeriesId])
  return { ...end, due: [...end.due, relinked.leftSeriesId] }
}

/** If the content that the book had is in the file of another row by now, it goes there, and the analysis is that of the other row. */
async function moveReplaced(dependencies: Dependencies, one: AnalysisToWrite, { fileHash, pagesHash }: Content): Promise<boolean> {
  const { database } = dependencies
  const claimed = await findClaimed(database, { ...one.book, file_hash: fileHash, pages_hash: pagesHash })
  if (!claimed || !(await database.transaction((trx) => relinkReplaced(trx, one.book, claimed)))) return false
  const [book] = await findBooksToAnalyze(database, [claimed.id])
  if (book) await writeAlone(dependencies, { ...one, book, bookId: book.id })
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
    inDoubt.map(({ book, known }) => ({ path: book.path, known })),
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
