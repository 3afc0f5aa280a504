import Type, { type Static, type TObject, type TSchema } from 'typebox'
import type { ContentServices } from '#api/areas/content.ts'
import type { DataServices } from '#api/areas/data.ts'
import type { StreamReply } from '#api/http/reply.ts'
import { KomgaBook } from '#api/komga/book-view.ts'
import { answerBookIds, answerBooks, answerSeries, answerSeriesIds, type KomgaCall } from '#api/komga/lists.ts'
import { type KomgaPageRequest, type komgaPage, komgaPageQuery, readWindow, type Window } from '#api/komga/page-object.ts'
import { bookFilterQuery, readBookFilter, readSeriesFilter, seriesFilterQuery } from '#api/komga/query-filter.ts'
import { KomgaSeries } from '#api/komga/series-view.ts'
import { KomgaCollection, KomgaReadList, listVisibleMembers } from '#api/komga/shelf-view.ts'
import { readKomgaBookSort, readKomgaSeriesSort } from '#api/komga/sort.ts'
import { bookThumbnail, seriesThumbnail } from '#api/views/thumbnail.ts'
import { listIdsOfBooks } from '#core/catalog/book-query.ts'
import { listIdsOfSeries } from '#core/catalog/series-query.ts'
import { NameText, Nullable, Uuid } from '#core/foundation/schema.ts'
import { SHELF_MEMBERS_MAX, type Shelf, type ShelfKind } from '#core/shelves/shelf.ts'

export type ShelfServices = Pick<ContentServices, 'seriesDownloads'> & Pick<DataServices, 'database' | 'settings'>
type ShelfCall = KomgaCall<ShelfServices>

const open = { additionalProperties: true, maxProperties: 100 } as const
const optional = <const T extends Parameters<typeof Type.Optional>[0]>(schema: T) => Type.Optional(Nullable(schema))
const Name = NameText({ minLength: 1, maxLength: 200 })
/** Komga has no empty ones. */
const MemberIds = Type.Array(Uuid, { minItems: 1, maxItems: SHELF_MEMBERS_MAX, uniqueItems: true })
const Summary = optional(Type.String({ maxLength: 10_000 }))
const ordered = optional(Type.Boolean())

const seriesQuery = Type.Object({ ...komgaPageQuery, ...seriesFilterQuery })
const bookQuery = Type.Object({ ...komgaPageQuery, ...bookFilterQuery })

/** How collections and read lists differ. */
export interface KomgaShelfKind {
  kind: ShelfKind
  noun: string
  /** Last part of the path of their list. */
  path: 'collections' | 'readlists'
  idName: 'collectionId' | 'readListId'
  /** The members of a shelf, in paths and in sentences. */
  members: 'series' | 'books'
  member: 'series' | 'book'
  memberIdName: 'seriesId' | 'bookId'
  memberIdsName: 'seriesIds' | 'bookIds'
  read: 'series-read' | 'books-read'
  write: 'series-write' | 'books-write'
  Reply: TSchema
  New: TObject
  Edit: TObject
  /** Whether a new shelf is ordered if the request does not set it. */
  orderedByDefault: boolean
  membersQuery: TObject
  Member: TSchema
  listMembers(call: KomgaCall, shelf: Shelf, query: object): Promise<ReturnType<typeof komgaPage<unknown>>>
  thumbnail(call: ShelfCall, memberId: string, query: { placeholder?: boolean }): Promise<StreamReply>
}

/** A page of those members of a shelf that match, in the order of the shelf. */
async function answerInOrder<Page>(
  call: KomgaCall,
  { kind, shelf, request, matching }: { kind: ShelfKind; shelf: Shelf; request: KomgaPageRequest; matching: readonly string[] },
  answer: (call: KomgaCall, window: Window, found: { ids: readonly string[]; total: number }) => Promise<Page>,
): Promise<Page> {
  const window = readWindow(request)
  const matchingIds = new Set(matching)
  const ids = (await listVisibleMembers(call, kind, shelf.id)).filter((id) => matchingIds.has(id))
  return await answer(call, window, { ids: ids.slice(window.offset, window.offset + window.limit), total: ids.length })
}

const allMembers = { offset: 0, limit: SHELF_MEMBERS_MAX }

export const COLLECTION: KomgaShelfKind = {
  kind: 'collection',
  noun: 'collection',
  path: 'collections',
  idName: 'collectionId',
  read: 'series-read',
  write: 'series-write',
  members: 'series',
  member: 'series',
  memberIdName: 'seriesId',
  memberIdsName: 'seriesIds',
  Reply: KomgaCollection,
  New: Type.Object({ name: Name, ordered, seriesIds: MemberIds }, open),
  Edit: Type.Object({ name: optional(Name), ordered, seriesIds: optional(MemberIds) }, open),
  orderedByDefault: false,
  membersQuery: seriesQuery,
  Member: KomgaSeries,
  async listMembers(call, shelf, query: Static<typeof seriesQuery>) {
    const filter = readSeriesFilter(query, call.caller, [{ collectionId: { operator: 'is', value: shelf.id } }])
    const sort = readKomgaSeriesSort(query.sort)
    if (sort !== null || !shelf.ordered) return await answerSeries(call, query, { filter, sort })
    const { ids: matching } = await listIdsOfSeries(call.services.database, call.caller, { filter, sort: null, ...allMembers })
    return await answerInOrder(call, { kind: 'collection', shelf, request: query, matching }, answerSeriesIds)
  },
  thumbnail: seriesThumbnail,
}

export const READ_LIST: KomgaShelfKind = {
  kind: 'read_list',
  noun: 'read list',
  path: 'readlists',
  idName: 'readListId',
  read: 'books-read',
  write: 'books-write',
  members: 'books',
  member: 'book',
  memberIdName: 'bookId',
  memberIdsName: 'bookIds',
  Reply: KomgaReadList,
  New: Type.Object({ name: Name, summary: Summary, ordered, bookIds: MemberIds }, open),
  Edit: Type.Object({ name: optional(Name), summary: Summary, ordered, bookIds: optional(MemberIds) }, open),
  orderedByDefault: true,
  membersQuery: bookQuery,
  Member: KomgaBook,
  async listMembers(call, shelf, query: Static<typeof bookQuery>) {
    const filter = readBookFilter(query, call.caller, [{ readListId: { operator: 'is', value: shelf.id } }])
    const sort = readKomgaBookSort(query.sort) ?? (shelf.ordered ? null : ({ field: 'released', direction: 'asc' } as const))
    if (sort !== null) return await answerBooks(call, query, { filter, sort })
    const byTitle = { field: 'title', direction: 'asc' } as const
    const { ids: matching } = await listIdsOfBooks(call.services.database, call.caller, { filter, sort: byTitle, ...allMembers })
    return await answerInOrder(call, { kind: 'read_list', shelf, request: query, matching }, answerBookIds)
  },
  thumbnail: bookThumbnail,
}

/** The visible books of a read list in its order: an unordered one is read by the dates of release. */
export async function readingOrderOf(call: KomgaCall, shelf: Shelf): Promise<string[]> {
  if (shelf.ordered) return await listVisibleMembers(call, 'read_list', shelf.id)
  const filter = readBookFilter({}, call.caller, [{ readListId: { operator: 'is', value: shelf.id } }])
  const sort = { field: 'released', direction: 'asc' } as const
  return (await listIdsOfBooks(call.services.database, call.caller, { filter, sort, ...allMembers })).ids
}
