import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { getBook } from '#core/catalog/book-query.ts'
import { Nullable, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { BookPatch } from '#core/metadata/book-metadata-schema.ts'
import { patchMetadata } from '#core/metadata/edit-metadata.ts'
import { getRecord } from '#core/metadata/visible-records-query.ts'

const endpoint = endpointOf<Pick<DataServices, 'database'>>()

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
    run: async ({ services: { database }, caller }, { params, body }) => {
      await patchMetadata(database, caller, { kind: 'book', ids: [params.bookId], patch: body })
      const { title, updatedAt } = await getBook(database, caller, params.bookId)
      // The record only has whole numbers; the answer shows the number that was entered, such as 2.5.
      const { values } = await getRecord(database, caller, 'book', params.bookId)
      return { id: params.bookId, title, number: values.number === undefined ? null : Number(values.number), updatedAt }
    },
  }),
]
