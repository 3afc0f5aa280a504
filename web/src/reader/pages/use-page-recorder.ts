import { useMemo } from 'react'
import { type Recording, useRecorder } from '../shared/use-recorder.ts'
import { type PageElsewhere, sendPage } from './page-progress.ts'
import type { SentPage } from './page-turns.ts'
import type { OpenedPages, PageView } from './use-page-view.ts'

/** Records where the person turns to. */
export function usePageRecorder({ book, pages }: OpenedPages, view: PageView, isIncognito: boolean): Recording<PageElsewhere> {
  const { lastTurn, forgetTurns } = view
  const place = useMemo(() => lastTurn && { sent: lastTurn, isStart: lastTurn.page === 1 && !lastTurn.isCompleted }, [lastTurn])
  const { readProgress } = book
  const recording = useRecorder({
    bookId: book.id,
    basedOn: readProgress?.updatedAt ?? null,
    from: readProgress && { page: readProgress.currentPage, isCompleted: readProgress.completed },
    isIncognito,
    place,
    onLeaving: pages.length === 1 && !readProgress?.completed ? { page: 1, isCompleted: true } : null,
    isSamePlace: (elsewhere: PageElsewhere, sent: SentPage) => elsewhere.page === sent.page,
    send: (sent: SentPage, request) => sendPage(book.id, sent, request),
  })
  return { ...recording, forget: (mark) => recording.forget(mark).then(forgetTurns) }
}
