import Type from 'typebox'
import type { Needs } from '#api/http/services.ts'
import { komgaEndpointOf } from '#api/komga/route.ts'
import { getShelf } from '#api/komga/shelf-routes.ts'
import { refuse } from '#core/foundation/errors.ts'
import { FreeJson, Uuid } from '#core/foundation/schema.ts'
import type { ShelfKind } from '#core/shelves/shelf.ts'

type Services = Needs<'database'>
const komgaEndpoint = komgaEndpointOf<Services>()

const SHELVES = [
  { kind: 'collection', path: 'collections', id: 'collectionId', noun: 'collection', read: 'series-read', write: 'series-write' },
  { kind: 'read_list', path: 'readlists', id: 'readListId', noun: 'read list', read: 'books-read', write: 'books-write' },
] as const satisfies readonly { kind: ShelfKind; [member: string]: string }[]

const idOf = (given: object): string => Object.values(given)[0] as string

/** Collections and read lists are shown by the cover of their first, and have none of their own. */
export const komgaShelfThumbnailRoutes = SHELVES.flatMap(({ kind, path, id, noun, read, write }) => [
  komgaEndpoint({
    method: 'GET',
    path: `/api/v1/${path}/:${id}/thumbnails`,
    summary: `Covers that somebody gave a ${noun}: always empty`,
    who: read,
    params: Type.Object({ [id]: Uuid }),
    reply: Type.Array(FreeJson),
    run: async (call, { params }) => {
      await getShelf(call, kind, idOf(params))
      return []
    },
  }),
  komgaEndpoint({
    method: 'POST',
    path: `/api/v1/${path}/:${id}/thumbnails`,
    summary: `Refused: the cover of a ${noun} is that of its first`,
    who: write,
    params: Type.Object({ [id]: Uuid }),
    status: 204,
    run: async (call, { params }) => {
      await getShelf(call, kind, idOf(params))
      refuse(
        'invalid_value',
        `A ${noun} has no cover of its own: it is shown by that of its first. Give that one another cover, or put another one first.`,
      )
    },
  }),
])
