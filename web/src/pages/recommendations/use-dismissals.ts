import { useCallback, useEffect, useRef, useState } from 'react'
import { dismissRecommendation } from '#api/plugins.ts'
import { sayFailure } from '#parts/above/toasts.tsx'

/** How long a person can take it back: the server dismisses for good. */
const UNDO_MS = 10_000

export interface Dismissals {
  /** Those that are dismissed unless somebody takes it back. */
  waiting: ReadonlySet<string>
  dismiss: (externalId: string) => void
  undo: (externalId: string) => void
}

/** Dismisses recommendations after a time in which it can be taken back; at once when the page is left. */
export function useDismissals(pluginId: string): Dismissals {
  const [waiting, setWaiting] = useState<ReadonlySet<string>>(new Set())
  const timers = useRef(new Map<string, number>())
  const forget = useCallback((externalId: string) => {
    clearTimeout(timers.current.get(externalId))
    timers.current.delete(externalId)
    setWaiting((before) => new Set([...before].filter((each) => each !== externalId)))
  }, [])
  useEffect(() => {
    const known = timers.current
    const sendAll = () => {
      for (const [externalId, timer] of known) {
        clearTimeout(timer)
        void dismissRecommendation(pluginId, externalId).catch(sayFailure)
      }
      known.clear()
    }
    addEventListener('pagehide', sendAll)
    return () => {
      removeEventListener('pagehide', sendAll)
      sendAll()
    }
  }, [pluginId])
  const dismiss = (externalId: string) => {
    setWaiting((before) => new Set([...before, externalId]))
    const send = () => {
      timers.current.delete(externalId)
      // It stays hidden until the list without it is there.
      dismissRecommendation(pluginId, externalId)
        .catch(sayFailure)
        .finally(() => forget(externalId))
    }
    timers.current.set(externalId, window.setTimeout(send, UNDO_MS))
  }
  return { waiting, dismiss, undo: forget }
}
