import { api, ask } from '#api/client.ts'
import { queries } from '#api/queries.ts'
import type { components } from '#api/schema.d.ts'
import { readTextSettings, type TextSettings } from './epub/text-settings.ts'
import { type PageSettings, readPageSettings } from './pages/page-settings.ts'
import type { Book, BookPage, Manifest, Progression } from './records.ts'
import { sendUnsent } from './send-unsent.ts'
import { loadLevels } from './shared/kept-settings.ts'
import type { Levels } from './shared/levels.ts'

/** A book with all that its reader needs before the first page shows. */
export type OpenedBook =
  | { kind: 'pages'; book: Book; pages: readonly BookPage[]; levels: Levels<PageSettings> }
  | { kind: 'text'; book: Book; manifest: Manifest; progression: Progression | null; levels: Levels<TextSettings> }

/** Where the title of a book is found as soon as it is known. */
export const titleKey = (bookId: string) => ['reading', bookId, 'title']

/** Loads a book for reading. @throws Problem */
export async function openBook(bookId: string, signal: AbortSignal): Promise<OpenedBook> {
  const path = { bookId }
  await sendUnsent(bookId)
  const answer = await ask(api.GET('/api/v1/books/{bookId}', { params: { path }, signal }))
  // Without `full` the answer has two members, the record and its metadata.
  const { book } = answer as components['schemas']['BookDetail']
  queries.setQueryData(titleKey(bookId), book.title)
  const of = { bookId, seriesId: book.seriesId, signal }
  const manifest = book.fileFormat === 'epub' ? await loadManifest(bookId, signal) : null
  if (manifest && !isOfPages(manifest)) {
    const [progression, levels] = await Promise.all([
      ask(api.GET('/api/v1/books/{bookId}/progression', { params: { path }, signal })),
      loadLevels<TextSettings>('text', { ...of, read: readTextSettings }),
    ])
    return { kind: 'text', book, manifest, progression: progression ?? null, levels }
  }
  const [pages, levels] = await Promise.all([
    ask(api.GET('/api/v1/books/{bookId}/pages', { params: { path }, signal })),
    loadLevels<PageSettings>('pages', { ...of, read: readPageSettings }),
  ])
  return { kind: 'pages', book, pages, levels }
}

const loadManifest = (bookId: string, signal: AbortSignal): Promise<Manifest> =>
  ask(api.GET('/api/v1/books/{bookId}/manifest', { params: { path: { bookId } }, signal }))

/** A comic in an EPUB: the server offers its pictures as pages. Drawings are documents, and no pages. */
const isOfPages = ({ readingOrder }: Manifest): boolean => readingOrder.every(({ type = '' }) => /^image\/(?!svg)/.test(type))
