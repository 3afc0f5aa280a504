import type { ContentServices } from '#api/areas/content.ts'
import type { DataServices } from '#api/areas/data.ts'
import { endpointOf, madeAt } from '#api/http/endpoint.ts'
import { shelfRoutes } from '#api/rest/catalog/shelves.ts'
import { importReadingList, READING_LIST_BYTES_MAX } from '#core/shelves/import-reading-list.ts'
import { ReadListImport } from '#core/shelves/shelf.ts'

type Services = Pick<ContentServices, 'readReadingList'> & Pick<DataServices, 'database'>
const endpoint = endpointOf<Services>()

export const readListRoutes = [
  endpoint({
    name: 'importReadList',
    method: 'POST',
    path: '/api/v1/read-lists/import',
    summary: 'Create a read list from a CBL file',
    tag: 'read-lists',
    allow: { who: 'books-write' },
    status: 201,
    upload: { description: 'A reading list in CBL format.' },
    bodyBytesMax: READING_LIST_BYTES_MAX + 65_536,
    reply: ReadListImport,
    run: async (call, { upload }) => {
      const { shelf, ...outcome } = await importReadingList(call.services, call.caller, upload)
      const { count: bookCount, ...readList } = shelf
      return { readList: madeAt(call, '/api/v1/read-lists', { ...readList, bookCount }), ...outcome }
    },
  }),
  ...shelfRoutes('read_list'),
]
