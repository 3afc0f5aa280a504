import type { Caller } from '#core/account/caller.ts'
import { type ProgressRow, progressOf, readPositionOf } from '#core/catalog/progress.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import { readInstant } from '#core/foundation/instant.ts'
import { refuseMember } from '#core/metadata/patch-rules.ts'
import type { ReadingDependencies } from '#core/reading/manifest.ts'
import { locateText, pathsOfHref, positionWithin } from '#core/reading/positions.ts'
import { getReading, type Reading } from '#core/reading/progress-query.ts'
import { saveProgress } from '#core/reading/progress-store.ts'
import { type Locator, type Progression, positionOfLocator, progressionOf } from '#core/reading/progression.ts'
import { type PublicationAddresses, relativeAddresses } from '#core/reading/web-publication.ts'

/** The position of a user in a book: pages and progressions describe the same position. */
export type PositionDependencies = Pick<ReadingDependencies, 'database' | 'publications'>

export interface PositionRequest {
  caller: Caller
  bookId: string
}

interface ReportedPage {
  currentPage: number
  progressPercentage?: number | null | undefined
  completed?: boolean | null | undefined
}

/** ISO 8601 time of the record from which the client started, null for none. Undefined: whatever is recorded is replaced. */
type BasedOn = string | null | undefined

/**
 * Records the page of a user.
 * @throws not_found, invalid_value for a page that the book does not have, conflict for a later record of another position than `basedOn`
 */
export async function recordPage(
  dependencies: PositionDependencies,
  { caller, bookId }: PositionRequest,
  { basedOn, ...reported }: ReportedPage & { basedOn?: BasedOn },
): Promise<ProgressRow> {
  const { database } = dependencies
  const reading = await getReading(database, caller, bookId)
  const { extent } = reading
  if (extent.analyzed && extent.pageCount > 0 && reported.currentPage > extent.pageCount)
    refuseMember('/currentPage', `is ${reported.currentPage}, but the book has ${extent.pageCount} pages`)
  const row = await saveProgress(database, {
    userId: caller.userId,
    bookId: reading.bookId,
    pageCount: extent.pageCount,
    position: readPositionOf(extent, reported),
    reportedPercentage: reported.progressPercentage,
    from: { apiKeyId: caller.narrowedBy },
    basedOn: readBasedOn(basedOn),
  })
  return row ?? (await refuseLater(dependencies, { caller, bookId }))
}

function readBasedOn(basedOn: BasedOn): Date | null | undefined {
  return typeof basedOn === 'string' ? (readInstant(basedOn) ?? refuseMember('/basedOn', 'is not a time of the years 1 to 9999')) : basedOn
}

/** The recorded position is in the details, for the client to show. */
async function refuseLater(dependencies: PositionDependencies, request: PositionRequest): Promise<never> {
  const { progress } = await getReading(dependencies.database, request.caller, request.bookId)
  // Without the permission to read it, the client learns only that there is one.
  const details = progress && { progress: progressOf(progress), progression: await getProgression(dependencies, request) }
  refuse('conflict', 'Another position was recorded after the one that you started from. Ask the user which one counts.', {
    ...(details && { details }),
  })
}

/** The position of a user as a Readium progression; null when none is recorded. @throws not_found */
export async function getProgression(
  dependencies: PositionDependencies,
  { caller, bookId }: PositionRequest,
  addresses: PublicationAddresses = relativeAddresses('manifest'),
): Promise<Progression | null> {
  const reading = await getReading(dependencies.database, caller, bookId)
  return await progressionOf(reading, (position) => locate(dependencies, { caller, reading, addresses }, position))
}

/**
 * Records the position of a user from a Readium progression.
 * @param options.mustBeLater also refuses one with the same time as the last
 * @param options.basedOn then it is compared with all records, not by time with the last progression
 * @throws not_found, invalid_value, conflict for one that is older than the last progression; pages recorded in between do not matter
 */
export async function recordProgression(
  dependencies: PositionDependencies,
  { caller, bookId }: PositionRequest,
  progression: Progression,
  options: { mustBeLater?: boolean; basedOn?: BasedOn } = {},
): Promise<ProgressRow> {
  const reading = await getReading(dependencies.database, caller, bookId)
  const { extent } = reading
  const known = await findPosition(dependencies, { caller, reading }, progression.locator)
  const { modified, ...position } = progression
  const at = readInstant(modified) ?? refuseMember('/modified', 'is not a time of the years 1 to 9999, such as 2026-01-02T10:00:00Z')
  const row = await saveProgress(dependencies.database, {
    userId: caller.userId,
    bookId: reading.bookId,
    pageCount: extent.pageCount,
    position: positionOfLocator(extent, progression.locator, known),
    reportedPercentage: progression.locator.locations?.totalProgression,
    progression: { locator: position, at: at.toISOString(), mustBeLater: options.mustBeLater ?? false },
    from: { app: progression.device.name, apiKeyId: caller.narrowedBy },
    basedOn: readBasedOn(options.basedOn),
  })
  if (row === null && options.basedOn !== undefined) await refuseLater(dependencies, { caller, bookId })
  return row ?? refuse('conflict', 'A later progression is stored already; get it first, then send your position.')
}

/**
 * The position for a locator that contains only a progression within a part of the text; null if it contains more, or if the text cannot be read now.
 * @throws invalid_value when it names no part: the user would be moved back to the beginning
 */
async function findPosition(
  dependencies: PositionDependencies,
  at: { caller: Caller; reading: Reading },
  locator: Locator,
): Promise<number | null> {
  const { position, totalProgression, progression = 0 } = locator.locations ?? {}
  const { bookId, extent } = at.reading
  if (position !== undefined || totalProgression !== undefined || !extent.analyzed || !extent.isText) return null
  const publication = await findPublication(dependencies, { caller: at.caller, bookId })
  if (publication === null) return null
  for (const item of pathsOfHref(locator.href)) {
    const found = positionWithin(publication, { item, progression })
    if (found !== null) return found
  }
  return refuseMember('/locator/href', 'names no part of the text, and the locator has no position in the whole')
}

async function locate(
  dependencies: PositionDependencies,
  at: { caller: Caller; reading: Reading; addresses: PublicationAddresses },
  position: number,
): Promise<Locator> {
  const { reading, addresses } = at
  if (reading.format === 'pdf') return { href: addresses.file, type: 'application/pdf', locations: { fragments: [`page=${position}`] } }
  if (!reading.extent.isText) return { href: addresses.page(position), type: 'image/jpeg' }
  const publication = reading.extent.analyzed ? await findPublication(dependencies, { caller: at.caller, bookId: reading.bookId }) : null
  return publication === null ? { href: addresses.manifest, type: 'application/xhtml+xml' } : locateText(publication, position, addresses)
}

/** Null if the file cannot be read now: the recorded position of a user is available all the same. */
export async function findPublication(dependencies: PositionDependencies, request: PositionRequest) {
  try {
    return (await dependencies.publications.get(request)).publication
  } catch (error) {
    if (error instanceof AppError && error.code !== 'internal') return null
    throw error
  }
}
