import type { Static } from 'typebox'
import Type from 'typebox'
import { refuse } from '#core/errors.ts'
import { type Extent, type Place, type ProgressRow, placeOf } from '#core/progress/progress.ts'
import { Timestamp } from '#core/schema.ts'

const Fraction = Type.Number({ minimum: 0, maximum: 1 })

/** Addresses inside a book are short; a text before and after is a sentence. */
const HREF_LENGTH_MAX = 4_000
const QUOTE_LENGTH_MAX = 1_000
/** Readers send a handful of members. */
const MEMBERS_MAX = 100

/** A place in a publication, as Readium readers write it. Members that are not known here are kept for the reader that sent them. */
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
  { additionalProperties: true, maxProperties: MEMBERS_MAX },
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
  { additionalProperties: false },
)
export type Progression = Static<typeof Progression>

/** The page on which a locator stands. @throws invalid_value when it names none of the book's places */
export function placeOfLocator(extent: Extent, locator: Locator): Place {
  const { position, totalProgression } = locator.locations ?? {}
  if (position !== undefined && extent.analyzed && extent.pageCount > 0 && position > extent.pageCount)
    refuse('invalid_value', `The position ${position} lies behind the last of ${extent.pageCount}.`, {
      details: [{ path: '/locator/locations/position', message: `must be at most ${extent.pageCount}` }],
    })
  // A place inside a chapter, without a place in the book: at least the reader has begun.
  const counted = totalProgression === undefined ? 1 : Math.floor(totalProgression * extent.pageCount) + 1
  const currentPage = position ?? Math.max(1, Math.min(counted, extent.pageCount))
  const reachesEnd = totalProgression === undefined ? undefined : extent.analyzed && totalProgression >= 1
  const completed = position === undefined ? (reachesEnd ?? false) : reachesEnd || undefined
  return placeOf(extent, { currentPage, progressPercentage: totalProgression, completed })
}

/** What a reader sent last, or, when the place came from elsewhere, one made from the page. Null without progress. */
export function progressionOf(reading: {
  extent: Extent
  progress: (ProgressRow & { locator: unknown }) | null
  mediaType: string
}): Progression | null {
  const { progress, extent } = reading
  if (!progress) return null
  const modified = new Date(progress.updated_at).toISOString()
  if (progress.locator) return { modified, ...(progress.locator as Omit<Progression, 'modified'>) }
  const position = progress.current_page
  const totalProgression = progress.percentage ?? (extent.pageCount > 0 ? Math.min(1, position / extent.pageCount) : undefined)
  return {
    modified,
    device: { id: 'carrel', name: 'Carrel' },
    locator: {
      href: `pages/${position}`,
      type: reading.mediaType,
      locations: { position, ...(totalProgression !== undefined && { totalProgression }) },
    },
  }
}
