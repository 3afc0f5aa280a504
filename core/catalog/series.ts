import { join } from 'node:path'
import type { Static } from 'typebox'
import Type from 'typebox'
import { FILE_PATH_NOTE } from '#core/account/path-view.ts'
import { Noun, Nullable, Timestamp, Uuid } from '#core/foundation/schema.ts'

const Count = Type.Integer({ minimum: 0 })

/** A series as lists and records show it. Counts leave out books whose file has gone. */
export const Series = Noun('Series')({
  id: Uuid,
  libraryId: Uuid,
  libraryName: Type.String(),
  title: Type.String(),
  titleSort: Nullable(Type.String()),
  summary: Nullable(Type.String()),
  publisher: Nullable(Type.String()),
  year: Nullable(Type.Integer()),
  path: Nullable(Type.String({ description: `Folder of the series, or the file itself of a one-shot. ${FILE_PATH_NOTE}` })),
  bookCount: Count,
  unreadCount: Nullable(Count),
  localMaxVolume: Nullable(Type.Integer({ description: 'Highest volume number among the books.' })),
  localMaxChapter: Nullable(Type.Number({ description: 'Highest chapter number among the books.' })),
  volumesOwned: Nullable(Type.Integer({ minimum: 0, description: 'How many different volumes the books make up.' })),
  hasCustomCover: Type.Boolean({ description: 'Whether somebody chose a cover; otherwise that of the first book stands for the series.' }),
  selectedCoverSource: Nullable(
    Type.String({ description: 'Where the chosen cover came from: `custom`, `book:<id>` or `plugin:<name>`.' }),
  ),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type Series = Static<typeof Series>

/** Where a series lies on disk; the table keeps it relative to the library. */
export function seriesFolder(place: { libraryPath: string; seriesPath: string }): string {
  return join(place.libraryPath, place.seriesPath)
}
