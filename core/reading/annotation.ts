import type { Static } from 'typebox'
import Type from 'typebox'
import { Noun, Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { Locator } from '#core/reading/progression.ts'

/** A note is a paragraph or two; all of a book then take some 20 MB at most. */
const NOTE_LENGTH_MAX = 4_000

const members = {
  kind: OneOf(['bookmark', 'highlight']),
  locator: Locator,
  color: Nullable(Type.String({ maxLength: 40, description: 'Any name or value that the client understands.' })),
  note: Nullable(Type.String({ maxLength: NOTE_LENGTH_MAX })),
}

/** A bookmark or highlight of a user in a book. */
export const Annotation = Noun('Annotation')({
  id: Uuid,
  bookId: Uuid,
  ...members,
  bookFileHash: Nullable(
    Type.String({
      description: 'Of the file to which the locator belongs. If the book has another one now, only the quoted text can be found.',
    }),
  ),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type Annotation = Static<typeof Annotation>

export const AnnotationEdit = Type.Object(
  { ...members, color: Type.Optional(members.color), note: Type.Optional(members.note) },
  { additionalProperties: false, title: 'AnnotationEdit' },
)
export type AnnotationEdit = Static<typeof AnnotationEdit>
