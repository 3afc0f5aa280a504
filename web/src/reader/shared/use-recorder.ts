import { useEffect, useRef, useState } from 'react'
import { onReturn } from '#api/events.ts'
import { findUserId } from '#api/session.ts'
import { type Answer, type BasedOn, type Place, ProgressRecorder } from './progress-recorder.ts'
import { holdUnsent, keepUnsent } from './unsent.ts'

/** What the reader says about recording. */
export interface Recording<Elsewhere> {
  /** The place of another device that waits for an answer. */
  conflict: Elsewhere | null
  settle(choice: 'mine' | 'theirs'): void
  /** Has the book marked as unread by `mark`, and sends nothing of what was read before. */
  forget(mark: () => Promise<unknown>): Promise<void>
  isWaiting: boolean
  refused: string | null
}

interface Options<Sent, Elsewhere> {
  bookId: string
  /** `updatedAt` of the place that reading began from. */
  basedOn: string | null
  /** That place. */
  from: Sent | null
  isIncognito: boolean
  /** Where the last turn led, another object for each; null before the first. Opening a book is no turn, nor is what another layout of it shows. */
  place: Place<Sent> | null
  /** See {@link ProgressRecorder}. */
  onLeaving: Sent | null
  isSamePlace(elsewhere: Elsewhere, sent: Sent): boolean
  send(sent: Sent, request: { basedOn: BasedOn; keepalive: boolean }): Promise<Answer<Elsewhere>>
}

/** Records the place after each turn, when the page is left, and when the connection is back. */
export function useRecorder<Sent, Elsewhere extends { updatedAt: string }>(options: Options<Sent, Elsewhere>): Recording<Elsewhere> {
  const { bookId, basedOn, isIncognito, place } = options
  const [conflict, setConflict] = useState<Elsewhere | null>(null)
  const [isWaiting, setIsWaiting] = useState(false)
  const [refused, setRefused] = useState<string | null>(null)
  const recorder = useRef<ProgressRecorder<Sent, Elsewhere>>(null)
  const latest = useRef(options)
  latest.current = options
  useEffect(() => {
    const userId = findUserId()
    const of = { userId, bookId }
    const release = holdUnsent(of)
    const made = new ProgressRecorder<Sent, Elsewhere>({
      basedOn,
      from: latest.current.from,
      isIncognito: latest.current.isIncognito,
      onLeaving: latest.current.onLeaving,
      isSamePlace: latest.current.isSamePlace,
      send: (sent, request) => latest.current.send(sent, request),
      isSameUser: () => findUserId() === userId,
      keep: (unsent) => keepUnsent(of, unsent && { ...unsent, basedOn: unsent.basedOn ?? null }),
      onConflict: setConflict,
      onRefused: setRefused,
      onWaiting: setIsWaiting,
    })
    recorder.current = made
    const ending = new AbortController()
    const { signal } = ending
    addEventListener('pagehide', () => made.leave(), { signal })
    document.addEventListener('visibilitychange', () => document.visibilityState === 'hidden' && made.flush(true), { signal })
    const ignoreReturns = onReturn(() => made.flush())
    return () => {
      ending.abort()
      ignoreReturns()
      made.leave()
      release()
    }
  }, [bookId, basedOn])
  useEffect(() => recorder.current?.setIncognito(isIncognito), [isIncognito])
  useEffect(() => {
    if (place) recorder.current?.moved(place)
  }, [place])
  const settle = (choice: 'mine' | 'theirs') => {
    if (conflict) recorder.current?.settle(choice, conflict.updatedAt)
    setConflict(null)
  }
  const forget = async (mark: () => Promise<unknown>) => {
    await (recorder.current?.forget(mark) ?? mark())
  }
  return { conflict, settle, forget, isWaiting, refused }
}
