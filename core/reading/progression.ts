import type { Static } from 'typebox'
import Type from 'typebox'
import { type Extent, type PositionRow, pageFrom, type ReadPosition, readPositionOf, TEXT_COMPLETE_FROM } from '#core/catalog/progress.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Timestamp } from '#core/foundation/schema.ts'

const Fraction = Type.Number({ minimum: 0, maximum: 1 })

/** Addresses inside a book are short; the text before and after is a sentence. */
const HREF_LENGTH_MAX = 4_000
const QUOTE_LENGTH_MAX = 1_000
/** Clients send a handful of members. */
const MEMBERS_MAX = 100

/** A position in a publication, as Readium clients write it. Unknown members are stored for the client that sent them. */
export const Locator = Type.Object(
  {
    href: Type.String({ maxLength: HREF_LENGTH_MAX }),
    type: Type.String({ maxLength: 200 }),
    title: Type.Optional(Type.String({ maxLength: QUOTE_LENGTH_MAX })),
    locations: Type.Optional(
      Type.Object(
        {
          fragments: Type.Optional(Type.Array(Type.String({ maxLength: HREF_LENGTH_MAX }), { maxItems: 20 })),
          position: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647 })),
          progression: Type.Optional(Fraction),
          totalProgression: Type.Optional(Fraction),
        },
        { additionalProperties: true, maxProperties: MEMBERS_MAX },
      ),
    ),
    text: Type.Optional(
      Type.Object(
        {
          after: Type.Optional(Type.String({ maxLength: QUOTE_LENGTH_MAX })),
          before: Type.Optional(Type.String({ maxLength: QUOTE_LENGTH_MAX })),
          highlight: Type.Optional(Type.String({ maxLength: QUOTE_LENGTH_MAX })),
        },
        { additionalProperties: true, maxProperties: MEMBERS_MAX },
      ),
    ),
  },
  { additionalProperties: true, maxProperties: MEMBERS_MAX, title: 'Locator' },
)
export type Locator = Static<typeof Locator>

/** `application/vnd.readium.progression+json`. */
export const Progression = Type.Object(
  {
    modified: Timestamp,
    device: Type.Object(
      { id: Type.String({ maxLength: 500 }), name: Type.String({ maxLength: 500 }) },
      { additionalProperties: true, maxProperties: MEMBERS_MAX },
    ),
    locator: Locator,
  },
  { additionalProperties: false, title: 'Progression' },
)
export type Progression = Static<typeof Progression>

/**
 * The page of a locator. @throws invalid_value when it matches no position of the book
 * @param known the position from the book's own list, for a locator with only a progression within a part of the book
 */
export function positionOfLocator(extent: Extent, locator: Locator, known: number | null = null): ReadPosition {
  const { position, totalProgression } = locator.locations ?? {}
  if (position !== undefined && extent.analyzed && extent.pageCount > 0 && position > extent.pageCount)
    refuse('invalid_value', `The position ${position} is after the last one, ${extent.pageCount}.`, {
      details: [{ path: '/locator/locations/position', message: `must be at most ${extent.pageCount}` }],
    })
  // A position inside a chapter, without a position in the book: the user has at least begun the book.
  const { pageCount } = extent
  const counted = totalProgression === undefined ? Math.max(1, Math.min(known ?? 1, pageCount)) : pageFrom(totalProgression, pageCount)
  const currentPage = position ?? counted
  const end = extent.isText ? TEXT_COMPLETE_FROM : 1
  const reachesEnd = totalProgression === undefined ? undefined : extent.analyzed && totalProgression >= end
  const completed = position === undefined ? (reachesEnd ?? false) : reachesEnd || undefined
  return readPositionOf(extent, { currentPage, progressPercentage: totalProgression, completed })
}

/**
 * The last progression that a client sent, or, when the position came from another source, one made from the page. Null without progress.
 * @param locatorOf returns the locator of a page
 */
export async function progressionOf(
  { progress, extent }: { extent: Extent; progress: PositionRow | null },
  locatorOf: (position: number) => Promise<Locator>,
): Promise<Progression | null> {
  if (!progress) return null
  const { locator: stored, progression_at: storedAt, updated_at: updatedAt } = progress
  if (stored) return { modified: new Date(storedAt ?? updatedAt).toISOString(), ...(stored as Omit<Progression, 'modified'>) }
  const position = progress.current_page
  const locator = await locatorOf(position)
  const totalProgression = progress.percentage ?? (extent.pageCount > 0 ? Math.min(1, position / extent.pageCount) : undefined)
  return {
    modified: new Date(updatedAt).toISOString(),
    device: { id: 'carrel', name: 'Carrel' },
    locator: { ...locator, locations: { ...locator.locations, position, ...(totalProgression !== undefined && { totalProgression }) } },
  }
}
