import { secondsOf } from '#api/komga/values.ts'
import { refuse } from '#core/foundation/errors.ts'
import { findPublication, getProgression, type PlaceDependencies, type PlaceRequest, recordProgression } from '#core/reading/places.ts'
import { pathsOfHref } from '#core/reading/positions.ts'
import { getReading } from '#core/reading/progress-query.ts'
import type { Locator, Progression } from '#core/reading/progression.ts'
import { encodePath } from '#core/reading/web-publication.ts'

/** How places in texts are kept, whichever interface they come by: relative to the manifest of our own interface. */
const KEPT = 'resource/'

/** Where a reader is, as apps of Komga read it; null when nothing is known. @throws not_found */
export async function getKomgaProgression(parts: PlaceDependencies, ask: PlaceRequest): Promise<Progression | null> {
  const found = await getProgression(parts, ask)
  if (found === null) return null
  const { modified, locator, ...rest } = found
  return { ...rest, modified: secondsOf(modified), locator: { ...locator, href: hrefOf(locator) } }
}

/** Pages and files keep their address; of a text the path in its archive stands alone. */
function hrefOf({ href, type }: Locator): string {
  if (href.startsWith(KEPT)) return href.slice(KEPT.length)
  if (!href.includes(`/${KEPT}`) || type.startsWith('image/')) return href
  return encodePath(pathsOfHref(href)[0] as string)
}

/**
 * Writes where a reader is. The part of a text is kept under the address that it has in our own interface, so that both tell one place.
 * @throws not_found, invalid_value for a part that the text has not, conflict for what is not later than the last progression
 */
export async function recordKomgaProgression(parts: PlaceDependencies, ask: PlaceRequest, progression: Progression): Promise<void> {
  const href = await keptHref(parts, ask, progression.locator.href)
  await recordProgression(parts, ask, { ...progression, locator: { ...progression.locator, href } }, { mustBeLater: true })
}

async function keptHref(parts: PlaceDependencies, ask: PlaceRequest, href: string): Promise<string> {
  const { extent } = await getReading(parts.database, ask.caller, ask.bookId)
  if (!extent.isText || !extent.analyzed) return href
  const paths = pathsOfHref(href)
  const publication = await findPublication(parts, ask)
  // What cannot be read at the moment is believed.
  const path = publication === null ? paths[0] : paths.find((one) => publication.spine.some((item) => item.path === one))
  if (path === undefined)
    refuse('invalid_value', 'The locator names no part of the text of this book.', {
      details: [{ path: '/locator/href', message: 'must be the path of a part of the text' }],
    })
  return KEPT + encodePath(path)
}
