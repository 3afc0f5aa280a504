import { api, ask } from '#api/client.ts'
import type { components } from '#api/schema.d.ts'

export type Annotation = components['schemas']['Annotation']
export type AnnotationLocator = Annotation['locator']

/** The server keeps at most 2,000 in a book. */
const PAGE_SIZE = 500

/** My bookmarks and highlights in a book, in the order of the book. */
export async function listAnnotations(bookId: string, signal: AbortSignal): Promise<Annotation[]> {
  const found: Annotation[] = []
  for (let page = 1; ; page++) {
    const answer = await ask(
      api.GET('/api/v1/books/{bookId}/annotations', { params: { path: { bookId }, query: { page, pageSize: PAGE_SIZE } }, signal }),
    )
    found.push(...answer.data)
    if (found.length >= answer.total || answer.data.length === 0) return found
  }
}

/** What is marked in a book. */
type AnnotationEdit = components['schemas']['AnnotationEdit']

/** Adds a bookmark or a highlight, or replaces the one of an id. */
export async function putAnnotation(bookId: string, body: AnnotationEdit, annotationId = newId()): Promise<Annotation> {
  const path = { bookId, annotationId }
  return await ask(api.PUT('/api/v1/books/{bookId}/annotations/{annotationId}', { params: { path }, body }))
}

export async function deleteAnnotation(bookId: string, annotationId: string): Promise<void> {
  await ask(api.DELETE('/api/v1/books/{bookId}/annotations/{annotationId}', { params: { path: { bookId, annotationId } } }))
}

/** A random UUID. Browsers give `randomUUID` to secure addresses only. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
