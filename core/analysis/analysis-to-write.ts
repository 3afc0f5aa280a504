import type { Knex } from 'knex'
import { clearedBy } from '#core/analysis/analysis-problems.ts'
import type { AnalysisEnd, AnalyzedBook, WrittenAnalysis } from '#core/analysis/book-store.ts'
import type { BookToAnalyze } from '#core/analysis/book-to-analyze-store.ts'
import { type FileVersion, isSameVersion } from '#core/analysis/file-version.ts'
import { hasMetadata, recordEmbedded } from '#core/analysis/record-embedded.ts'
import { removeCovers, writeCovers } from '#core/covers/book-cover-files.ts'
import { storedCoverOf } from '#core/covers/cover.ts'
import type { Announcer } from '#core/events/announcer.ts'
import type { NewAnnouncement } from '#core/events/event.ts'
import { bookEvent, coverEvent } from '#core/events/event-store.ts'
import { type Analysis, type Problem, uniqueByType } from '#core/fields/analysis.ts'
import { chooseTitle } from '#core/fields/book-title.ts'
import type { Log } from '#core/foundation/log.ts'
import { storable } from '#core/foundation/storable-text.ts'
import { aggregateAfter, aggregateSettled, raiseAgeRatings } from '#core/metadata/aggregate-series.ts'

/** Waking disks, returning network shares and temporarily missing descriptors: a retry within seconds is worthwhile. */
const PASSING_CODES = new Set<unknown>(['EIO', 'ESTALE', 'ETIMEDOUT', 'EMFILE', 'ENFILE'])
/** The queue's number of attempts; the last failure is recorded. */
const TRIES_MAX = 4

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

/**
 * Whether the file may be another version than the analyzed one by now, so that it is looked at once more. Not if it was read as a whole and is the version
 * that the row has, now as before the analysis: no analysis of a newer version was written in between, and if there is one, the next scan finds it.
 */
export const isInDoubt = ({ isStill, analysis, facts, known }: AnalysisToWrite, row: FileVersion): boolean =>
  isStill && !(versionRead(analysis) !== null && isSameVersion(facts, known) && isSameVersion(row, known))

/** @throws when the disk failed and the queue has a try left */
export function refuseToGiveUp(analysis: Analysis, attempt: number): void {
  if (analysis.file !== null || attempt >= TRIES_MAX) return
  const passing = analysis.problems.find(({ details }) => PASSING_CODES.has(details?.code))
  if (passing) throw new Error(passing.message)
}

/** The fatal problem of a file that could not be read at all. */
export const unreadProblem = ({ file, problems }: Analysis): Problem | undefined =>
  file === null ? problems.find(({ fatal }) => fatal) : undefined

/** The same file would need as much time or memory again: retrying with every scan would only cost that again. */
export const hasReachedLimit = ({ details = {} }: Problem) => 'deadlineMs' in details || 'memoryMbMax' in details

/** Whether the row's hash is that of the current file. A pending book has the hash of the version before its change. */
export const isKnownContent = (book: BookToAnalyze, facts: FileVersion, known: FileVersion) =>
  book.file_hash !== null && book.state !== 'pending' && isSameVersion(facts, known)

/**
 * The problem of a file whose content has changed although its size and time have not, as a failing disk does it. Its hash, pages and cover stay until
 * somebody accepts the new content.
 */
export function findRot(
  book: BookToAnalyze,
  { facts, known, analysis }: Pick<AnalysisToWrite, 'facts' | 'known' | 'analysis'>,
): Problem | undefined {
  const found = analysis.file?.sha256
  if (found === undefined || found === book.file_hash || !isKnownContent(book, facts, known)) return undefined
  const message =
    'The content of this file has changed, but its size and date have not: its disk may be failing, or a program kept the date. Put the file back from a backup, or accept its new content.'
  return { type: 'other', message, details: { integrity: true, expected: book.file_hash, found }, fatal: false }
}

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
  const stored = analysis.cover && typeof cover === 'string' ? storedCoverOf(analysis.cover, cover) : null
  return {
    bookId,
    ...facts,
    retryDue,
    sha256: analysis.file?.sha256 ?? null,
    readerHash: analysis.file?.readerHash ?? null,
    pagesHash: analysis.pagesHash ?? null,
    format: analysis.format,
    pageSource: analysis.pageSource,
    pageCount: analysis.pageCount,
    pages: analysis.pages,
    title: storable(
      chooseTitle({
        strategy: book.book_strategy,
        fileName: book.file_name,
        embedded: analysis.embedded.title,
        placed: book.layout_values?.strategyTitle ?? book.layout_values?.title,
      }),
    ),
    cover: book.cover_locked ? 'keep' : stored,
    state: problems.some((problem) => problem.fatal) ? 'failed' : 'analyzed',
    problems,
    cleared: clearedBy(analysis),
  }
}

/**
 * Writes the metadata of analyzed files, and aggregates their series. Runs within the transaction that has written the analyses.
 * @param written what was written, by book
 * @returns the same with what the metadata has changed
 */
export async function describeBooks(
  trx: Knex.Transaction,
  all: readonly AnalysisToWrite[],
  written: ReadonlyMap<string, WrittenAnalysis>,
): Promise<Map<string, WrittenAnalysis>> {
  const present = all.filter(({ bookId }) => written.has(bookId))
  const changed = await recordEmbedded(
    trx,
    present.map(({ book, bookId, analysis: { embedded } }) => ({
      bookId,
      embedded,
      fileName: book.file_name,
      bookStrategy: book.book_strategy,
      numberStrategy: book.number_strategy,
      placed: { layoutValues: book.layout_values, isSide: book.side },
    })),
  )
  // A moved book now contributes to another series.
  const contributing = present.filter(({ bookId, book }) => changed.has(bookId) || bookId !== book.id)
  const seriesOf = ({ bookId }: AnalysisToWrite) => written.get(bookId)?.seriesId as string
  const due = await aggregateAfter(trx, contributing.map(seriesOf))
  const isRated = (one: AnalysisToWrite) => one.analysis.embedded.series?.fields?.ageRating !== undefined
  const rated = contributing.filter((one) => due.has(seriesOf(one)) && isRated(one))
  await raiseAgeRatings(
    trx,
    rated.map(({ bookId }) => bookId),
  )
  const described = contributing.map((one): [string, WrittenAnalysis] => {
    const before = written.get(one.bookId) as WrittenAnalysis
    const seriesIds = due.has(before.seriesId) ? [before.seriesId] : []
    return [one.bookId, { ...before, changed: [...before.changed, ...(changed.get(one.bookId) ?? [])], due: seriesIds }]
  })
  return new Map([...written, ...described])
}

/** After the commit. */
export async function finishWriting(
  { database, announcer, dataFolder }: { database: Knex; announcer: Announcer; dataFolder: string },
  all: readonly AnalysisToWrite[],
  ends: readonly AnalysisEnd[],
): Promise<void> {
  const written = all.flatMap(({ book }, index) => {
    const end = ends[index]
    return end?.kind === 'written' ? [{ book, end }] : []
  })
  announcer.soon(written.flatMap(({ book, end }) => announcementsOf(book, end)))
  await aggregateSettled(database, [...new Set(written.flatMap(({ end }) => end.due))])
  const deleted = all.filter((_, index) => ends[index]?.kind === 'deleted')
  await removeCovers(
    dataFolder,
    deleted.map(({ bookId }) => bookId),
  )
}

export function announcementsOf(
  book: BookToAnalyze,
  { bookId, seriesId, changed }: Pick<WrittenAnalysis, 'bookId' | 'seriesId' | 'changed'>,
): NewAnnouncement[] {
  if (changed.length === 0) return []
  const ids = { id: bookId, series_id: seriesId, library_id: book.library_id }
  const announcements: NewAnnouncement[] = [{ event: { ...bookEvent('book_updated', ids), fields: changed } }]
  return changed.includes('cover') ? [...announcements, coverEvent('book', ids)] : announcements
}
