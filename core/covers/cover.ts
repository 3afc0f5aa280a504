import { join } from 'node:path'
import type { Static } from 'typebox'
import Type from 'typebox'
import type { DescribedCover, Cover as Picture } from '#core/fields/analysis.ts'
import { Noun, Timestamp, Uuid } from '#core/foundation/schema.ts'

/** Each is two files on the disk, and a user chooses among them by eye. */
export const COVERS_PER_OWNER_MAX = 50

const members = {
  id: Uuid,
  /** `custom`: uploaded by a user; `book:<id>`: taken from a book; `plugin:<name>`: found by a plugin. */
  source: Type.String(),
  /** Address of the picture. */
  path: Type.String(),
  isSelected: Type.Boolean(),
  width: Type.Integer({ minimum: 1 }),
  height: Type.Integer({ minimum: 1 }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
}

/** A cover of a book besides the one in its file. */
export const BookCover = Noun('BookCover')({ bookId: Uuid, ...members })
export type BookCover = Static<typeof BookCover>

/** A cover of a series besides that of its first book. */
export const SeriesCover = Noun('SeriesCover')({ seriesId: Uuid, ...members })
export type SeriesCover = Static<typeof SeriesCover>

/** Who gave a cover: a user uploaded or selected it, or a plugin found it and no user has selected it since. */
export type CoverGiver = 'user' | 'plugin'

/** The table of each kind of record that has covers. */
export const COVER_OWNERS = { book: 'books', series: 'series', collection: 'collections', read_list: 'read_lists' } as const

/** The record that a cover belongs to. */
export interface CoverOwner {
  kind: keyof typeof COVER_OWNERS
  id: string
}

/** A book or a series; core/shelves/shelf-cover.ts knows who sees the others. */
export type RecordOwner = CoverOwner & { kind: 'book' | 'series' }

/** A cover in its two sizes; or why it was refused: its format is not accepted, or it cannot be decoded. */
export type DrawnCover = { large: Picture; small: DescribedCover } | { refused: 'kind' | 'damaged' }
export type DrawCover = (bytes: Uint8Array) => Promise<DrawnCover>

/** What is stored of the cover from a file. */
export interface StoredCover extends Omit<DescribedCover, 'jpeg' | 'page'> {
  /** Of its picture. */
  hash: string
  page: number | null
}

export const storedCoverOf = ({ width, height, color, page }: DescribedCover, hash: string): StoredCover => ({
  hash,
  width,
  height,
  color,
  page: page ?? null,
})

/** The path of the cover from a book's file: two digits of its id spread the files over 256 folders. */
export function coverPath(dataFolder: string, bookId: string): string {
  return join(dataFolder, 'thumbnails', 'books', bookId.slice(0, 2), `${bookId}.jpg`)
}

/** The folder of all covers of one owner. */
export function coversFolder(dataFolder: string, owner: CoverOwner): string {
  return join(dataFolder, 'covers', owner.kind, owner.id.slice(0, 2), owner.id)
}

/** The path of one size of a cover. */
export function chosenCoverPath(dataFolder: string, owner: CoverOwner, cover: { id: string; size: 'large' | 'small' }): string {
  return join(coversFolder(dataFolder, owner), `${cover.id}-${cover.size}.jpg`)
}
