import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { WorkServices } from '#api/areas/work.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { listDuplicates } from '#core/catalog/duplicate-query.ts'
import { dismissDuplicates, scanDuplicates } from '#core/catalog/duplicates.ts'
import { Timestamp, Uuid } from '#core/foundation/schema.ts'

type Services = Pick<DataServices, 'database'> & Pick<WorkServices, 'tasks'>
const endpoint = endpointOf<Services>()

/** The answer has a few hundred kilobytes; further groups appear when these are dismissed or deleted. */
const GROUPS_MAX = 1_000
const Count = Type.Integer({ minimum: 0 })
const tag = 'duplicates'

const DuplicateGroup = Type.Object(
  {
    id: Uuid,
    fileHash: Type.String({ description: 'SHA-256 of the file.' }),
    bookIds: Type.Array(Uuid, { description: 'The first 500, oldest first.' }),
    duplicateCount: Type.Integer({ minimum: 2, description: 'Those that the caller may see.' }),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { title: 'DuplicateGroup' },
)
/** As a group of equal files. */
const SamePagesGroup = Type.Object({ id: Uuid, pagesHash: Type.String(), bookIds: Type.Array(Uuid), duplicateCount: Count })

export const duplicateRoutes = [
  endpoint({
    name: 'listDuplicates',
    method: 'GET',
    path: '/api/v1/duplicates',
    summary: 'List books with identical files or pages as of the last search',
    tag,
    allow: { who: 'books-read' },
    query: Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: GROUPS_MAX, description: `Number of groups; default ${GROUPS_MAX}.` })),
      offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 })),
    }),
    reply: Type.Object({
      duplicates: Type.Array(DuplicateGroup),
      totalDuplicateBooks: Count,
      totalGroups: Count,
      samePages: Type.Array(SamePagesGroup),
      totalSamePages: Count,
    }),
    run: async (call, { query }) => {
      const window = { offset: query.offset ?? 0, limit: query.limit ?? GROUPS_MAX }
      const list = async (same: 'content' | 'pages') => await listDuplicates(call.services.database, call.caller, same, window)
      const [found, pages] = [await list('content'), await list('pages')]
      return {
        duplicates: found.groups.map(({ hash, ...more }) => ({ ...more, fileHash: hash })),
        totalDuplicateBooks: found.totalBooks,
        totalGroups: found.totalGroups,
        samePages: pages.groups.map(({ id, hash, bookIds, duplicateCount }) => ({ id, pagesHash: hash, bookIds, duplicateCount })),
        totalSamePages: pages.totalGroups,
      }
    },
  }),
  endpoint({
    name: 'scanDuplicates',
    method: 'POST',
    path: '/api/v1/duplicates/scan',
    summary: 'Search for books with identical files or pages',
    tag,
    allow: { who: 'books-write' },
    status: 202,
    reply: Type.Object({ message: Type.String(), taskId: Uuid }),
    run: async ({ services }) => await scanDuplicates(services),
  }),
  endpoint({
    name: 'deleteDuplicate',
    method: 'DELETE',
    path: '/api/v1/duplicates/:duplicateId',
    summary: 'Dismiss a group until it gets another book; does not change the books',
    tag,
    allow: { who: 'books-write' },
    status: 204,
    params: Type.Object({ duplicateId: Uuid }),
    run: (call, { params }) => dismissDuplicates(call.services.database, call.caller, params.duplicateId),
  }),
]
