import type { Static, TObject } from 'typebox'
import Type from 'typebox'
import { NullableShownCover } from '#core/covers/current-cover.ts'
import { NameText, Noun, Nullable, Timestamp, Uuid } from '#core/foundation/schema.ts'

/** A collection is a shelf of series, a read list one of books; everybody sees them, without the members that are hidden from them. */
export type ShelfKind = 'collection' | 'read_list'

/** The longest reading orders that people keep have about 3,000 books; each change writes the position of every member. */
export const SHELF_MEMBERS_MAX = 5_000

const Name = NameText({ minLength: 1, maxLength: 200 })
const Summary = Nullable(Type.String({ maxLength: 10_000 }))
const Ids = Type.Array(Uuid, { maxItems: SHELF_MEMBERS_MAX, uniqueItems: true })

const members = {
  id: Uuid,
  name: Type.String(),
  summary: Nullable(Type.String()),
  /** True: in the order that its users chose. False: series by title, books by release date. */
  ordered: Type.Boolean(),
  /** Of the first member that the caller may see. */
  cover: NullableShownCover,
  createdAt: Timestamp,
  updatedAt: Timestamp,
}
const edit = { name: Type.Optional(Name), summary: Type.Optional(Summary), ordered: Type.Optional(Type.Boolean()) }

/** Counts only members that the caller may see. */
export const Collection = Type.Object({ ...members, seriesCount: Type.Integer({ minimum: 0 }) }, { title: 'Collection' })
export const ReadList = Type.Object({ ...members, bookCount: Type.Integer({ minimum: 0 }) }, { title: 'ReadList' })
export const ShelfEdit = Type.Object(edit, { title: 'ShelfEdit' })
export type ShelfEdit = Static<typeof ShelfEdit>
export const SeriesIds = Noun('SeriesIds')({ seriesIds: Ids })
export const BookIds = Noun('BookIds')({ bookIds: Ids })
export const NewCollection = Type.Object({ ...edit, name: Name, seriesIds: Type.Optional(Ids) }, { title: 'NewCollection' })
export const NewReadList = Type.Object({ ...edit, name: Name, bookIds: Type.Optional(Ids) }, { title: 'NewReadList' })

/** Either kind of shelf; `count` counts the members that the caller may see. */
export type Shelf = Static<TObject<typeof members>> & { count: number }

/** The result of importing a reading list. */
export const ReadListImport = Type.Object(
  {
    readList: ReadList,
    /** Entries for which a book was found. */
    matched: Type.Integer({ minimum: 0 }),
    unmatched: Type.Array(Type.Object({ series: Type.String(), number: Type.String(), volume: Type.String(), year: Type.String() })),
  },
  { title: 'ReadListImport' },
)
