import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { WorkServices } from '#api/areas/work.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { queueAnalyses } from '#core/analysis/analyze-book.ts'
import { getBook } from '#core/catalog/book-query.ts'
import { Nullable, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { BookPatch } from '#core/metadata/book-metadata-schema.ts'
import { listUnknownTitles, patchBooks } from '#core/metadata/edit-book-metadata.ts'
import { getRecord } from '#core/metadata/visible-records-query.ts'

type Services = Pick<DataServices, 'database'> & Pick<WorkServices, 'tasks'>
const endpoint = endpointOf<Services>()

export const bookMetadataRoutes = [
  endpoint({
    name: 'patchBook',
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
      const { values } = await getRecord(database, caller, 'book', params.bookId)
      return { id: params.bookId, title, number: values.number === undefined ? null : Number(values.number), updatedAt }
    },
  }),
]
