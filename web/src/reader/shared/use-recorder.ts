import { useEffect, useRef, useState } from 'react'
import { onReturn } from '#api/events.ts'
import { findUserId } from '#api/session.ts'
import { type Answer, type BasedOn, type Place, ProgressRecorder } from './progress-recorder.ts'
import { keepUnsent } from './unsent.ts'

/** What the reader says about recording. */
export interface Recording<Elsewhere> {
  /** The place of another device that waits for an answer. */
  conflict: Elsewhere | null
  settle(choice: 'mine' | 'theirs'): void
  isWaiting: boolean
  refused: string | null
}

interface Options<Sent, Elsewhere> {
  bookId: string
  /** `updatedAt` of the place that reading began from. */
  basedOn: string | null
  isIncognito: boolean
  /** Null until there is a place. The first is where reading begins, and is not recorded: opening a book is no turn. */
  place: Place<Sent> | null
  /** See {@link ProgressRecorder}. */
  onLeaving: Sent | null
  isSamePlace(elsewhere: Elsewhere, sent: Sent): boolean
  send(sent: Sent, request: { basedOn: BasedOn; keepalive: boolean }): Promise<Answer<Elsewhere>>
}

/** Records the place as it changes, when the page is left, and when the connection is back. */
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
    const made = new ProgressRecorder<Sent, Elsewhere>({
      basedOn,
      isIncognito: latest.current.isIncognito,
      onLeaving: latest.current.onLeaving,
      isSamePlace: latest.current.isSamePlace,
      send: (sent, request) => latest.current.send(sent, request),
      isSameUser: () => findUserId() === userId,
      keep: (unsent) => keepUnsent({ userId, bookId }, unsent && { ...unsent, basedOn: unsent.basedOn ?? null }),
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
    }
  }, [bookId, basedOn])
  useEffect(() => recorder.current?.setIncognito(isIncognito), [isIncognito])
  const first = useRef<Place<Sent>>(null)
  useEffect(() => {
    first.current ??= place
    if (place && place !== first.current) recorder.current?.moved(place)
  }, [place])
  const settle = (choice: 'mine' | 'theirs') => {
    if (conflict) recorder.current?.settle(choice, conflict.updatedAt)
    setConflict(null)
  }
  return { conflict, settle, isWaiting, refused }
}
