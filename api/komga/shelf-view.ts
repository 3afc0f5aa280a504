import type { Static } from 'typebox'
import Type from 'typebox'
import type { KomgaCall } from '#api/komga/lists.ts'
import { secondsOf } from '#api/komga/values.ts'
import type { Shelf, ShelfKind } from '#core/shelves/shelf.ts'
import { listMemberIds } from '#core/shelves/shelf-query.ts'

const members = {
  id: Type.String(),
  name: Type.String(),
  ordered: Type.Boolean(),
  createdDate: Type.String(),
  lastModifiedDate: Type.String(),
  filtered: Type.Boolean({ description: 'Always false: the answer does not reveal whether members are hidden.' }),
}
export const KomgaCollection = Type.Object({ ...members, seriesIds: Type.Array(Type.String()) }, { title: 'KomgaCollection' })
export const KomgaReadList = Type.Object(
  { ...members, summary: Type.String(), bookIds: Type.Array(Type.String()) },
  { title: 'KomgaReadList' },
)
type KomgaShelf = Static<typeof KomgaCollection> | Static<typeof KomgaReadList>

/** The ids of the members that the caller may see, in the order of the shelf. */
export async function listVisibleMembers(call: KomgaCall, kind: ShelfKind, shelfId: string): Promise<string[]> {
  return (await listMemberIds(call.services.database, call.caller, kind, [shelfId])).get(shelfId) ?? []
}

/** Collections or read lists as Komga shows them, with the members that the caller may see. */
export async function komgaShelves(call: KomgaCall, kind: ShelfKind, shelves: readonly Shelf[]): Promise<KomgaShelf[]> {
  const shelfIds = shelves.map(({ id }) => id)
  const memberIds = await listMemberIds(call.services.database, call.caller, kind, shelfIds)
  return shelves.map((shelf) => {
    const visible = memberIds.get(shelf.id) ?? []
    return {
      id: shelf.id,
      name: shelf.name,
      ordered: shelf.ordered,
      createdDate: secondsOf(shelf.createdAt),
      lastModifiedDate: secondsOf(shelf.updatedAt),
      filtered: false,
      ...(kind === 'collection' ? { seriesIds: visible } : { summary: shelf.summary ?? '', bookIds: visible }),
    }
  })
}
