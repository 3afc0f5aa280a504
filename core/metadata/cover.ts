import { join } from 'node:path'
import type { Static } from 'typebox'
import Type from 'typebox'
import { Timestamp, Uuid } from '#core/foundation/schema.ts'
import type { Cover as Picture } from '#core/metadata/analysis.ts'

/** What a cover may be uploaded as: an uncompressed scan of a page is larger, but nobody's cover is. */
export const COVER_BYTES_MAX = 20 * 1_048_576
/** Each is two files on the disk; and a person chooses among them by eye. */
export const COVERS_PER_OWNER_MAX = 50

const members = {
  id: Uuid,
  /** `custom`: given by a person; `book:<id>`: taken from a book; `plugin:<name>`: found by a plugin. */
  source: Type.String(),
  /** Address of the picture. */
  path: Type.String(),
  isSelected: Type.Boolean(),
  width: Type.Integer({ minimum: 1 }),
  height: Type.Integer({ minimum: 1 }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
}

/** A cover of a book besides the one its file brings. */
export const BookCover = Type.Object({ bookId: Uuid, ...members }, { title: 'BookCover' })
export type BookCover = Static<typeof BookCover>

/** A cover of a series besides that of its first book. */
export const SeriesCover = Type.Object({ seriesId: Uuid, ...members }, { title: 'SeriesCover' })
export type SeriesCover = Static<typeof SeriesCover>

/** Who gave a cover: a person uploaded or chose it, or a plugin found it and nobody has chosen it since. */
export type CoverGiver = 'user' | 'plugin'

/** Whose cover. */
export interface CoverOwner {
  kind: 'book' | 'series'
  id: string
}

/** A cover in its two sizes; or why it cannot be one: of no kind that is taken, or not to be decoded. */
export type DrawnCover = { large: Picture; small: Picture } | { refused: 'kind' | 'damaged' }
export type DrawCover = (bytes: Uint8Array) => Promise<DrawnCover>

/** Where the cover that the file of a book brings is kept: two digits of its id spread the files over 256 folders. */
export function coverPath(dataFolder: string, bookId: string): string {
  return join(dataFolder, 'thumbnails', 'books', bookId.slice(0, 2), `${bookId}.jpg`)
}

/** The folder with all covers of one owner. */
export function coversFolder(dataFolder: string, owner: CoverOwner): string {
  return join(dataFolder, 'covers', owner.kind, owner.id.slice(0, 2), owner.id)
}

/** Where one size of a cover is kept. */
export function chosenCoverPath(dataFolder: string, owner: CoverOwner, cover: { id: string; size: 'large' | 'small' }): string {
  return join(coversFolder(dataFolder, owner), `${cover.id}-${cover.size}.jpg`)
}
