import { clearedBy, uniqueByType } from '#core/analysis/analysis-problems.ts'
import type { AnalyzedBook, BookToAnalyze, Recorded } from '#core/analysis/book-store.ts'
import { type FileVersion, isSameVersion } from '#core/analysis/file-version.ts'
import { hasMetadata } from '#core/analysis/record-embedded.ts'
import { writeCovers } from '#core/covers/cover-store.ts'
import type { NewAnnouncement } from '#core/events/event.ts'
import { bookEvent, coverEvent } from '#core/events/event-store.ts'
import type { Analysis, Problem } from '#core/fields/analysis.ts'
import { chooseTitle } from '#core/fields/book-title.ts'
import type { Log } from '#core/foundation/log.ts'
import { storable } from '#core/foundation/storable-text.ts'

/** An analysis that is to be written to the row of a book. */
export interface AnalysisToWrite {
  /** The row of the file. */
  book: BookToAnalyze
  /** The row to write: that of the file, unless the file is a moved book. */
  bookId: string
  /** Of the file, after the analysis. */
  facts: FileVersion
  /** Of the row, before it. */
  known: FileVersion
  analysis: Analysis
  /** Makes every scan retry. */
  retryDue: boolean
  /** Whether it is written only while the file is the analyzed version. */
  isStill: boolean
}

/** The version of the file that was read, which was still at its path afterwards; null if it could not be read as a whole. */
export const versionRead = ({ file, problems }: Analysis): FileVersion | null =>
  file === null || problems.some(({ fatal }) => fatal) ? null : { bytes: String(file.bytes), mtimeNs: file.mtimeNs }

/** Equals no version. */
export const NO_FILE: FileVersion = { bytes: '', mtimeNs: '' }

/**
 * Whether the file may be another version than the analyzed one by now, so that it is looked at once more. Not if it was read as a whole and is the version
 * that the row has, now as before the analysis: no analysis of a newer version was written in between, and if there is one, the next scan finds it.
 */
export const isInDoubt = ({ isStill, analysis, facts, known }: AnalysisToWrite, row: FileVersion): boolean =>
  isStill && !(versionRead(analysis) !== null && isSameVersion(facts, known) && isSameVersion(row, known))

/** The fatal problem of a file that could not be read at all. */
export const unreadProblem = ({ file, problems }: Analysis): Problem | undefined =>
  file === null ? problems.find(({ fatal }) => fatal) : undefined

/** The same file would need as much time or memory again: retrying with every scan would only cost that again. */
export const hasReachedLimit = ({ details = {} }: Problem) => 'deadlineMs' in details || 'memoryMbMax' in details

/** Whether the row's hash is that of the current file. A pending book has the hash of the version before its change. */
export const isKnownContent = (book: BookToAnalyze, facts: FileVersion, known: FileVersion) =>
  book.file_hash !== null && book.state !== 'pending' && isSameVersion(facts, known)

/**
 * Books without any metadata, most of a large library, need no comparison. A file whose metadata cannot be read now does not say that there is
 * none: the recorded data stays.
 */
export function isToCompare({ book, analysis: { embedded, problems } }: AnalysisToWrite): boolean {
  if (problems.some(({ fatal }) => fatal)) return false
  if (hasMetadata(embedded, book.book_strategy)) return true
  return book.described && !problems.some(({ type }) => type === 'metadata')
}

/** The columns of analyses of different books; their covers are then in the data folder. */
export async function storeAnalyzed(to: { dataFolder: string; log: Log }, all: readonly AnalysisToWrite[]): Promise<AnalyzedBook[]> {
  const drawn = all.flatMap(({ book, bookId, analysis: { cover } }) => (cover && !book.cover_locked ? [{ bookId, jpeg: cover.jpeg }] : []))
  const written = await writeCovers(to.dataFolder, drawn)
  const covers = new Map(drawn.map(({ bookId }, index) => [bookId, written[index] as string | Error]))
  return all.map((one) => rowOf(to.log, one, covers.get(one.bookId) ?? null))
}

function rowOf(log: Log, what: AnalysisToWrite, cover: string | Error | null): AnalyzedBook {
  const { book, bookId, facts, analysis, retryDue } = what
  const problems = uniqueByType(analysis.problems)
  if (cover instanceof Error) {
    log.error({ err: cover, bookId }, 'Could not write a cover')
    const reason = (cover as NodeJS.ErrnoException).code ?? String(cover)
    if (!problems.some((problem) => problem.type === 'thumbnail')) {
      problems.push({ type: 'thumbnail', message: `The server could not store the cover in the data folder (${reason}).`, fatal: false })
    }
  }
  const coverHash = cover instanceof Error ? null : cover
  return {
    bookId,
    ...facts,
    retryDue,
    sha256: analysis.file?.sha256 ?? null,
    readerHash: analysis.file?.readerHash ?? null,
    format: analysis.format,
    pageSource: analysis.pageSource,
    pageCount: analysis.pageCount,
    pages: analysis.pages,
    title: storable(chooseTitle({ strategy: book.book_strategy, fileName: book.file_name, embedded: analysis.embedded.title })),
    coverHash: book.cover_locked ? 'keep' : coverHash,
    state: problems.some((problem) => problem.fatal) ? 'failed' : 'analyzed',
    problems,
    cleared: clearedBy(analysis),
  }
}

export function announcementsOf(
  book: BookToAnalyze,
  bookId: string,
  { seriesId, changed }: Pick<Recorded, 'seriesId' | 'changed'>,
): NewAnnouncement[] {
  if (changed.length === 0) return []
  const place = { id: bookId, series_id: seriesId, library_id: book.library_id }
  const announcements: NewAnnouncement[] = [{ event: { ...bookEvent('book_updated', place), fields: changed } }]
  return changed.includes('cover') ? [...announcements, coverEvent('book', place)] : announcements
}
