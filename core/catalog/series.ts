import { join } from 'node:path'
import type { Static } from 'typebox'
import Type from 'typebox'
import { FILE_PATH_NOTE } from '#core/account/path-view.ts'
import { NullableShownCover } from '#core/covers/current-cover.ts'
import { Noun, Nullable, Timestamp, Uuid } from '#core/foundation/schema.ts'

const Count = Type.Integer({ minimum: 0 })

/** A series in lists and records. Counts omit books with a missing file. */
export const Series = Noun('Series')({
  id: Uuid,
  libraryId: Uuid,
  libraryName: Type.String(),
  title: Type.String(),
  titleSort: Nullable(Type.String()),
  summary: Nullable(Type.String()),
  publisher: Nullable(Type.String()),
  year: Nullable(Type.Integer()),
  language: Nullable(Type.String({ description: 'BCP 47 tag of the language of its books; null when it is unknown.' })),
  path: Nullable(Type.String({ description: `Folder of the series, or the file itself of a one-shot. ${FILE_PATH_NOTE}` })),
  bookCount: Count,
  unreadCount: Nullable(Count),
  localMaxVolume: Nullable(Type.Integer({ description: 'Highest volume number among the books.' })),
  localMaxChapter: Nullable(Type.Number({ description: 'Highest chapter number among the books.' })),
  volumesOwned: Nullable(Type.Integer({ minimum: 0, description: 'How many distinct volumes the books contain.' })),
  cover: NullableShownCover,
  hasCustomCover: Type.Boolean({ description: 'Whether a user selected a cover; otherwise the first book provides it.' }),
  selectedCoverSource: Nullable(Type.String({ description: 'Source of the selected cover: `custom`, `book:<id>` or `plugin:<name>`.' })),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type Series = Static<typeof Series>

/** The path of a series on disk; the table stores it relative to the library. */
export function seriesFolder(series: { libraryPath: string; seriesPath: string }): string {
  return join(series.libraryPath, series.seriesPath)
}
