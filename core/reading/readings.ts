import type { Static } from 'typebox'
import Type from 'typebox'
import { described, Noun, Nullable, Timestamp, Uuid } from '#core/foundation/schema.ts'

export const Day = Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', maxLength: 10, description: 'Such as 2026-01-31.' })
const Page = Type.Integer({ minimum: 1 })

/** What a user has read of a book on one day, as a part of one reading of it. */
export const DayOfReading = Noun('DayOfReading')({
  day: Day,
  readingId: described(Uuid, 'The same for all days on which the book was read once.'),
  bookId: Uuid,
  firstPage: Page,
  lastPage: Page,
  pageCount: Type.Integer({ minimum: 0, description: 'Of the book now; 0 when unknown.' }),
  seconds: Type.Integer({ minimum: 0, description: 'Between the first and last position recorded in each sitting.' }),
  lastAt: Timestamp,
  app: Nullable(Type.String({ description: 'Name of the device or API key that recorded the last position; null when unknown.' })),
  begunAt: described(Timestamp, 'When the reading began, on this day or an earlier one.'),
  finishedAt: Nullable(described(Timestamp, 'When the reading was finished.')),
})
export type DayOfReading = Static<typeof DayOfReading>
