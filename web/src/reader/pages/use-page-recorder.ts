import { useMemo, useRef } from 'react'
import { type Recording, useRecorder } from '../shared/use-recorder.ts'
import { type PageElsewhere, type SentPage, sendPage } from './page-progress.ts'
import type { OpenedPages, PageView } from './use-page-view.ts'

/** Records the page that shows. */
export function usePageRecorder({ book, pages }: OpenedPages, view: PageView, isIncognito: boolean): Recording<PageElsewhere> {
  const { page } = view
  // Leafing back from the end, as in double pages, keeps the book finished for as long as the reader is open.
  const wasAtEnd = useRef(false)
  wasAtEnd.current ||= page === pages.length && pages.length > 1
  const place = useMemo(() => ({ sent: { page, isCompleted: wasAtEnd.current } satisfies SentPage, isStart: page === 1 }), [page])
  return useRecorder({
    bookId: book.id,
    basedOn: book.readProgress?.updatedAt ?? null,
    isIncognito,
    place,
    onLeaving: pages.length === 1 && !book.readProgress?.completed ? { page: 1, isCompleted: true } : null,
    isSamePlace: (elsewhere: PageElsewhere, sent: SentPage) => elsewhere.page === sent.page,
    send: (sent: SentPage, request) => sendPage(book.id, sent, request),
  })
}
