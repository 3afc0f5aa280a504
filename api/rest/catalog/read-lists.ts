import { endpointOf, madeAt } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { shelfRoutes, shelfView } from '#api/rest/catalog/shelves.ts'
import { importReadingList, READING_LIST_BYTES_MAX } from '#core/shelves/import-reading-list.ts'
import { ReadListImport } from '#core/shelves/shelf.ts'

type Services = Needs<'database' | 'readReadingList'>
const endpoint = endpointOf<Services>()

export const readListRoutes = [
  endpoint({
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
      return { readList: madeAt(call, '/api/v1/read-lists', shelfView('bookCount', shelf)) as never, ...outcome }
    },
  }),
  ...shelfRoutes('read_list'),
]
