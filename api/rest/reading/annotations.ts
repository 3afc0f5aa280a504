import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { Paginated, pageQuery, pageWindow, paginate } from '#api/http/pagination.ts'
import { Uuid } from '#core/foundation/schema.ts'
import { Annotation, AnnotationEdit } from '#core/reading/annotation.ts'
import { ANNOTATIONS_MAX, deleteAnnotations, listAnnotations, saveAnnotation } from '#core/reading/annotation-store.ts'

type Services = Pick<DataServices, 'database'>
const endpoint = endpointOf<Services>()

const BookId = Type.Object({ bookId: Uuid })
const AnnotationId = Type.Object({ bookId: Uuid, annotationId: Uuid })

export const annotationRoutes = [
  endpoint({
    name: 'listMyAnnotations',
    method: 'GET',
    path: '/api/v1/books/:bookId/annotations',
    summary: 'List my bookmarks and highlights in a book, in the order of the book',
    tag: 'progress',
    allow: { who: 'progress-read' },
    params: BookId,
    query: Type.Object(pageQuery),
    reply: Paginated(Annotation),
    run: async (call, { params: { bookId }, query }) =>
      paginate(call, query, await listAnnotations(call.services.database, call.caller, { bookId, ...pageWindow(query) })),
  }),
  endpoint({
    name: 'putMyAnnotation',
    method: 'PUT',
    path: '/api/v1/books/:bookId/annotations/:annotationId',
    summary: `Add a bookmark or highlight with an id of your choice, or replace it; at most ${ANNOTATIONS_MAX} in a book`,
    tag: 'progress',
    allow: { who: 'progress-write', also: ['progress-read'] },
    params: AnnotationId,
    body: AnnotationEdit,
    reply: Annotation,
    run: (call, { params: { bookId, annotationId: id }, body: edit }) =>
      saveAnnotation(call.services.database, call.caller, { bookId, id, edit }),
  }),
  endpoint({
    name: 'deleteMyAnnotation',
    method: 'DELETE',
    path: '/api/v1/books/:bookId/annotations/:annotationId',
    summary: 'Delete a bookmark or highlight',
    tag: 'progress',
    allow: { who: 'progress-write' },
    params: AnnotationId,
    status: 204,
    run: (call, { params: { bookId, annotationId: id } }) => deleteAnnotations(call.services.database, call.caller, { bookId, id }),
  }),
  endpoint({
    name: 'deleteMyAnnotations',
    method: 'DELETE',
    path: '/api/v1/books/:bookId/annotations',
    summary: 'Delete all my bookmarks and highlights in a book',
    tag: 'progress',
    allow: { who: 'progress-write' },
    params: BookId,
    status: 204,
    run: (call, { params: { bookId } }) => deleteAnnotations(call.services.database, call.caller, { bookId }),
  }),
]
