import type { Caller } from '#core/account/caller.ts'
import {
  type Extent,
  type PositionRow,
  pageFrom,
  pageUpTo,
  type ReadPosition,
  readPositionOf,
  TEXT_COMPLETE_FROM,
} from '#core/catalog/progress.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { OpenPublication } from '#core/reading/packed-publication.ts'
import { countPositions, partAt } from '#core/reading/positions.ts'
import { listCopies, type Reading } from '#core/reading/progress-query.ts'
import { saveProgress } from '#core/reading/progress-store.ts'
import type { Publication } from '#core/reading/publication.ts'
import { findPublication, type PositionDependencies } from '#core/reading/reading-position.ts'

/** A position in a file as e-readers exchange it. */
interface DocumentPosition {
  /** For a paged file the number of the page, otherwise a path to an element of the text. */
  progress: string
  /** Part of the file, from 0 to 1. */
  percentage: number
  device: string
  deviceId: string
}

/** The beginning of a part of an EPUB in the format of CREngine. @param number in the reading order, from 1 */
const partName = (number: number): string => `/body/DocFragment[${number}].0`

/** CREngine names the parts of an EPUB by their position in the reading order, from 1. */
const TEXT_PART = /^\/body\/DocFragment(?:\[(\d{1,6})\])?/

/**
 * Records the position of an e-reader in a file, for every copy of the file that the caller may see: to the user they are one book.
 * @param document the partial MD5 of the file @returns the recorded time, milliseconds since the epoch
 * @throws not_found when no existing book has this file
 */
export async function recordDocumentPosition(
  dependencies: PositionDependencies,
  caller: Caller,
  document: string,
  reported: DocumentPosition,
): Promise<number> {
  const copies = await getCopies(dependencies, caller, document)
  const publication = await publicationOf(dependencies, caller, copies)
  const syncPlace = { progress: reported.progress, device: reported.device, deviceId: reported.deviceId }
  const rows = await dependencies.database.transaction(async (trx) => {
    const saved: (PositionRow | null)[] = []
    for (const { bookId, extent } of copies) {
      const position = positionOfDocument(extent, reported, publication)
      const record = {
        userId: caller.userId,
        bookId,
        position,
        reportedPercentage: reported.percentage,
        pageCount: extent.pageCount,
        syncPlace,
        from: { app: reported.device },
      }
      saved.push((await saveProgress(trx, record)) as PositionRow | null)
    }
    return saved
  })
  return Math.max(...rows.map((row) => new Date(row?.updated_at ?? 0).getTime()))
}

/** The latest position of a user in any copy of a file, from any client; null when none is recorded. @throws not_found as above */
export async function getDocumentPosition(
  dependencies: PositionDependencies,
  caller: Caller,
  document: string,
): Promise<(DocumentPosition & { at: number }) | null> {
  const copies = await getCopies(dependencies, caller, document)
  const read = copies.filter(({ progress }) => progress !== null)
  const time = ({ progress }: Reading) => new Date(progress?.updated_at ?? 0).getTime()
  const newest = read.toSorted((a, b) => time(b) - time(a))[0]
  if (!newest?.progress) return null
  const { progress: row, extent } = newest
  const reported = row.sync_place
  const progress = reported?.progress ?? (await progressTextOf(dependencies, caller, newest))
  if (progress === null) return null
  const own = (row.locator as { device?: { id?: string; name?: string } } | null)?.device
  return {
    progress,
    percentage: row.percentage ?? (extent.pageCount > 0 ? Math.min(1, row.current_page / extent.pageCount) : 0),
    device: reported?.device ?? own?.name ?? 'Carrel',
    deviceId: reported?.deviceId ?? own?.id ?? 'carrel',
    at: time(newest),
  }
}

async function getCopies(dependencies: PositionDependencies, caller: Caller, document: string): Promise<Reading[]> {
  const copies = await listCopies(dependencies.database, caller, document.toLowerCase())
  if (copies.length === 0) refuse('not_found', 'No book on this server has this file, or you may not see it.')
  return copies
}

/** The publication is the same for every copy; null for a file without parts. */
async function publicationOf(
  dependencies: PositionDependencies,
  caller: Caller,
  copies: readonly Reading[],
): Promise<OpenPublication | null> {
  for (const { bookId, extent } of copies) {
    const publication = extent.isText && extent.analyzed ? await findPublication(dependencies, { caller, bookId }) : null
    if (publication !== null) return publication
  }
  return null
}

/** Converts the position of an e-reader to ours: e-readers lay out texts in their own way, so only the part and the percentage are meaningful. */
export function positionOfDocument(
  extent: Extent,
  { progress, percentage }: Pick<DocumentPosition, 'progress' | 'percentage'>,
  publication: Pick<OpenPublication, 'spine' | 'references'> | null,
): ReadPosition {
  const { pageCount, isText } = extent
  if (!isText) {
    const page = pageNamed(progress)
    const isPage = page >= 1 && (pageCount === 0 || page <= pageCount)
    return readPositionOf(extent, { currentPage: isPage ? page : pageUpTo(percentage, pageCount), progressPercentage: percentage })
  }
  const completed = extent.analyzed && percentage >= TEXT_COMPLETE_FROM ? true : undefined
  const currentPage = withinPart(pageFrom(percentage, pageCount), progress, publication)
  return readPositionOf(extent, { currentPage, progressPercentage: percentage, completed })
}

/** The page that an e-reader names: in an EPUB made of pictures each part is a page. 0 if it names none. */
function pageNamed(progress: string): number {
  if (/^\d{1,9}$/.test(progress)) return Number(progress)
  const part = TEXT_PART.exec(progress)
  return part ? Number(part[1] ?? 1) : 0
}

/** The nearest position in the named part, if any. */
function withinPart(position: number, progress: string, publication: Pick<OpenPublication, 'spine' | 'references'> | null): number {
  const match = TEXT_PART.exec(progress)
  if (!match || publication === null) return position
  const number = Number(match[1] ?? 1) - 1
  const index = publication.references?.[number] ?? number
  const item = publication.spine[index]
  if (!item) return position
  const first = countPositions({ spine: publication.spine.slice(0, index) }) + 1
  return Math.min(Math.max(position, first), first + item.positions - 1)
}

/** The first reference to a part. */
const referenceTo = ({ references }: Publication, index: number): number => references?.indexOf(index) ?? index

/** Our position in the e-reader's format: a page, or the beginning of a part of the text. Null if the text cannot be read now. */
async function progressTextOf(
  dependencies: PositionDependencies,
  caller: Caller,
  { bookId, format, extent, progress }: Reading,
): Promise<string | null> {
  const page = progress?.current_page ?? 1
  // E-readers lay out every EPUB as a text; an EPUB made of pictures has one in each part.
  if (!extent.isText) return format === 'epub' ? partName(page) : String(page)
  const publication = await findPublication(dependencies, { caller, bookId })
  return publication === null ? null : partName(referenceTo(publication, partAt(publication, page)?.index ?? 0) + 1)
}
