import Type from 'typebox'
import { type Call, endpointOf } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { metadataRoutes } from '#api/rest/catalog/metadata-kind.ts'
import { queueAnalyses } from '#core/analysis/analyze-book.ts'
import { getBook } from '#core/catalog/book-query.ts'
import { Nullable, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { getBookRecord } from '#core/metadata/book-metadata-query.ts'
import {
  BookLocks,
  BookLocksPatch,
  BookMetadata,
  BookMetadataPatch,
  BookPatch,
  bookLocksOf,
  bookMetadataOf,
} from '#core/metadata/book-metadata-record.ts'
import { listUnknownTitles, lockBooks, patchBooks, replaceBook } from '#core/metadata/edit-book-metadata.ts'

type Services = Needs<'database' | 'tasks'>
const endpoint = endpointOf<Services>()

/** One page of a large list; each book is a row that stays locked until all are written. */
const BULK_BOOKS_MAX = 500

type Patch = Parameters<typeof patchBooks>[2]['patch']
type Locks = Parameters<typeof lockBooks>[2]['locks']
type Metadata = Parameters<typeof replaceBook>[2]['metadata']
type ServiceCall = Pick<Call<Services>, 'services' | 'caller'>

const recordOf = ({ services, caller }: ServiceCall, bookId: string) => getBookRecord(services.database, caller, bookId)

export const bookMetadataRoutes = [
  ...metadataRoutes<Services>({
    ...{ many: 'books', one: 'book', bulkMax: BULK_BOOKS_MAX, readSummary: 'Get the metadata of a book' },
    ...{ Patch: BookMetadataPatch, LocksPatch: BookLocksPatch, Locks: BookLocks, Read: BookMetadata, Changed: BookMetadata },
    patch: ({ services, caller }, bookIds, patch: Patch) => patchBooks(services.database, caller, { bookIds, patch }),
    replace: ({ services, caller }, bookId, metadata: Metadata) => replaceBook(services.database, caller, { bookId, metadata }),
    lock: ({ services, caller }, bookIds, locks: Locks) => lockBooks(services.database, caller, { bookIds, locks }),
    read: async (call, bookId, sources) => bookMetadataOf(bookId, await recordOf(call, bookId), sources),
    readChanged: async (call, bookId) => bookMetadataOf(bookId, await recordOf(call, bookId), false),
    readLocks: async (call, bookId) => bookLocksOf(await recordOf(call, bookId)),
  }),
  endpoint({
    method: 'PATCH',
    path: '/api/v1/books/:bookId',
    summary: 'Change title, sort title or number of a book',
    tag: 'books',
    allow: { who: 'books-write' },
    params: Type.Object({ bookId: Uuid }),
    body: BookPatch,
    reply: Type.Object({ id: Uuid, title: Type.String(), number: Nullable(Type.Number()), updatedAt: Timestamp }),
    run: async (call, { params, body }) => {
      const { database } = call.services
      const caller = call.caller
      await patchBooks(database, caller, { bookIds: [params.bookId], patch: body })
      if (body.title === null) {
        // If the analysis did not store the title of the file, analyze again, so that it appears soon.
        for (const { id, libraryId } of await listUnknownTitles(database, [params.bookId]))
          await queueAnalyses(call.services.tasks, libraryId, [id], { deep: true })
      }
      const { title, updatedAt } = await getBook(database, caller, params.bookId)
      // The record only has whole numbers; the answer shows the number that was entered, such as 2.5.
      const { values } = await getBookRecord(database, caller, params.bookId)
      return { id: params.bookId, title, number: values.number === undefined ? null : Number(values.number), updatedAt }
    },
  }),
]
