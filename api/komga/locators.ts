import { secondsOf } from '#api/komga/values.ts'
import { refuse } from '#core/foundation/errors.ts'
import { pathsOfHref } from '#core/reading/positions.ts'
import { getReading } from '#core/reading/progress-query.ts'
import type { Locator, Progression } from '#core/reading/progression.ts'
import { encodePath } from '#core/reading/publication.ts'
import {
  findPublication,
  getProgression,
  type PositionDependencies,
  type PositionRequest,
  recordProgression,
} from '#core/reading/reading-position.ts'

/** Every API stores locators in texts in this form: relative to the manifest of our own API. */
const STORED = 'resource/'

/** The reading progress of the caller with the hrefs that apps of Komga expect; null without progress. @throws not_found */
export async function getKomgaProgression(parts: PositionDependencies, request: PositionRequest): Promise<Progression | null> {
  const found = await getProgression(parts, request)
  if (found === null) return null
  const { modified, locator, ...rest } = found
  return { ...rest, modified: secondsOf(modified), locator: { ...locator, href: hrefOf(locator) } }
}

/** Pages and files keep their href; a chapter of a text is named by its path in the archive alone. */
function hrefOf({ href, type }: Locator): string {
  if (href.startsWith(STORED)) return href.slice(STORED.length)
  if (!href.includes(`/${STORED}`) || type.startsWith('image/')) return href
  return encodePath(pathsOfHref(href)[0] as string)
}

/**
 * Stores the reading progress of the caller. The href is stored as our own API writes it, so that both APIs return the same locator.
 * @throws not_found, invalid_value for a chapter that the text does not have, conflict unless it is later than the stored progression
 */
export async function recordKomgaProgression(
  parts: PositionDependencies,
  request: PositionRequest,
  progression: Progression,
): Promise<void> {
  const href = await storedHref(parts, request, progression.locator.href)
  await recordProgression(parts, request, { ...progression, locator: { ...progression.locator, href } }, { mustBeLater: true })
}

async function storedHref(parts: PositionDependencies, request: PositionRequest, href: string): Promise<string> {
  const { extent } = await getReading(parts.database, request.caller, request.bookId)
  if (!extent.isText || !extent.analyzed) return href
  const paths = pathsOfHref(href)
  const publication = await findPublication(parts, request)
  // If the file cannot be read at the moment, the path is not checked.
  const path = publication === null ? paths[0] : paths.find((one) => publication.spine.some((item) => item.path === one))
  if (path === undefined)
    refuse('invalid_value', 'The locator names no chapter of this book.', {
      details: [{ path: '/locator/href', message: 'must be the path of a chapter in the archive' }],
    })
  return STORED + encodePath(path)
}
