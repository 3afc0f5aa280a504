import Type from 'typebox'
import { endpointOf } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { getBook } from '#core/catalog/book-query.ts'
import { LENIENT, Noun, Nullable, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { queueAnalyses } from '#core/ingest/queue-analyses.ts'
import { getBookRecord } from '#core/metadata/book-metadata-query.ts'
import {
  BookLocks,
  BookLocksPatch,
  BookMetadata,
  BookMetadataPatch,
  BookPatch,
  bookMetadataOf,
  shownLocks,
} from '#core/metadata/book-metadata-record.ts'
import { listUnknownTitles, lockBooks, patchBooks, replaceBook } from '#core/metadata/edit-book-metadata.ts'

type Services = Needs<'database' | 'tasks'>
const endpoint = endpointOf<Services>()

/** A page of a large list; each book is a row locked until all are written. */
const BULK_BOOKS_MAX = 500
/** Summaries of 40,000 characters, people and 64 KB of custom metadata fit with room to spare. */
const BODY_BYTES_MAX = 512 * 1024

const BookId = Type.Object({ bookId: Uuid })
const bookIds = Type.Array(Uuid, { minItems: 1, maxItems: BULK_BOOKS_MAX, description: 'All of them are changed, or none.' })

const BulkOutcome = Noun('BulkMetadataOutcome')({
  message: Type.String(),
  updatedCount: Type.Integer({ minimum: 0 }),
  items: Type.Array(
    Type.Object({
      id: Uuid,
      outcomes: Type.Array(Type.Object({ field: Type.String(), result: Type.String({ description: 'set, cleared or unchanged.' }) })),
    }),
  ),
})

export const bookMetadataRoutes = [
  endpoint({
    method: 'PATCH',
    path: '/api/v1/books/bulk/metadata',
    summary: 'Change the metadata of many books alike',
    tag: 'books',
    allow: { who: 'books-write' },
    body: Type.Object({ bookIds, ...BookMetadataPatch.properties }, { additionalProperties: false }),
    bodyBytesMax: BODY_BYTES_MAX,
    reply: BulkOutcome,
    run: async (call, { body }) => {
      const { bookIds, ...patch } = body
      const items = await patchBooks(call.services.database, call.caller, { bookIds, patch })
      const updatedCount = items.filter(({ outcomes }) => outcomes.some(({ result }) => result === 'set' || result === 'cleared')).length
      return { message: `Changed ${updatedCount} of ${items.length} books.`, updatedCount, items }
    },
  }),
  endpoint({
    method: 'PUT',
    path: '/api/v1/books/bulk/metadata/locks',
    summary: 'Lock or unlock fields of many books',
    tag: 'books',
    allow: { who: 'books-write' },
    body: Type.Object({ bookIds, ...BookLocksPatch.properties }, LENIENT),
    reply: BulkOutcome,
    run: async (call, { body }) => {
      const { bookIds, ...locks } = body
      const items = await lockBooks(call.services.database, call.caller, { bookIds, locks })
      return { message: `Changed the locks of ${items.length} books.`, updatedCount: items.length, items }
    },
  }),
  endpoint({
    method: 'PATCH',
    path: '/api/v1/books/:bookId',
    summary: 'Change title, sort title or number of a book',
    tag: 'books',
    allow: { who: 'books-write' },
    params: BookId,
    body: BookPatch,
    reply: Type.Object({ id: Uuid, title: Type.String(), number: Nullable(Type.Number()), updatedAt: Timestamp }),
    run: async (call, { params, body }) => {
      const { database } = call.services
      const caller = call.caller
      await patchBooks(database, caller, { bookIds: [params.bookId], patch: body })
      if (body.title === null) {
        // Files that were read when their title was not kept are read again, for it to stand soon.
        for (const { id, libraryId } of await listUnknownTitles(database, [params.bookId]))
          await queueAnalyses(call.services.tasks, libraryId, [id], { deep: true })
      }
      const { title, updatedAt } = await getBook(database, caller, params.bookId)
      // The record has whole numbers alone; whoever enters 2.5 shall see that it was taken.
      const { values } = await getBookRecord(database, caller, params.bookId)
      return { id: params.bookId, title, number: values.number === undefined ? null : Number(values.number), updatedAt }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/books/:bookId/metadata',
    summary: 'Metadata of a book',
    tag: 'books',
    allow: { who: 'books-read' },
    params: BookId,
    query: Type.Object({ sources: Type.Optional(Type.Boolean({ description: 'Also who gave each field its value.' })) }),
    reply: BookMetadata,
    run: async (call, { params, query }) => {
      const held = await getBookRecord(call.services.database, call.caller, params.bookId)
      return bookMetadataOf(params.bookId, held, query.sources === true)
    },
  }),
  endpoint({
    method: 'PATCH',
    path: '/api/v1/books/:bookId/metadata',
    summary: 'Change some metadata of a book: absent keeps, null clears, a value is set and locked',
    tag: 'books',
    allow: { who: 'books-write' },
    params: BookId,
    body: BookMetadataPatch,
    bodyBytesMax: BODY_BYTES_MAX,
    reply: BookMetadata,
    run: async (call, { params, body }) => {
      const { database } = call.services
      const caller = call.caller
      await patchBooks(database, caller, { bookIds: [params.bookId], patch: body })
      return bookMetadataOf(params.bookId, await getBookRecord(database, caller, params.bookId), false)
    },
  }),
  endpoint({
    method: 'PUT',
    path: '/api/v1/books/:bookId/metadata',
    summary: 'Replace the metadata of a book: what is absent is cleared',
    tag: 'books',
    allow: { who: 'books-write' },
    params: BookId,
    body: BookMetadataPatch,
    bodyBytesMax: BODY_BYTES_MAX,
    reply: BookMetadata,
    run: async (call, { params, body }) => {
      const { database } = call.services
      const caller = call.caller
      await replaceBook(database, caller, { bookId: params.bookId, metadata: body })
      return bookMetadataOf(params.bookId, await getBookRecord(database, caller, params.bookId), false)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/books/:bookId/metadata/locks',
    summary: 'Which fields of a book machines may not change',
    tag: 'books',
    allow: { who: 'books-read' },
    params: BookId,
    reply: BookLocks,
    run: async (call, { params }) => shownLocks(await getBookRecord(call.services.database, call.caller, params.bookId)),
  }),
  endpoint({
    method: 'PUT',
    path: '/api/v1/books/:bookId/metadata/locks',
    summary: 'Lock or unlock fields of a book; those not named stay',
    tag: 'books',
    allow: { who: 'books-write' },
    params: BookId,
    body: BookLocksPatch,
    reply: BookLocks,
    run: async (call, { params, body }) => {
      const { database } = call.services
      const caller = call.caller
      await lockBooks(database, caller, { bookIds: [params.bookId], locks: body })
      return shownLocks(await getBookRecord(database, caller, params.bookId))
    },
  }),
]
