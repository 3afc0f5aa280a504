import { useEffect, useRef, useSyncExternalStore } from 'react'
import { onReturn } from '#api/events.ts'
import type { Problem } from '#api/problem.ts'
import { queries } from '#api/queries.ts'
import { meQuery, sessionEnd } from '#api/session.ts'

/** Pages and chapters are not asked for as records are: the dialog of the ended session opens when a record says that it ended. */
export function noteSignedOut(problem: Problem): void {
  if (problem.isSignedOut) void queries.invalidateQueries({ queryKey: meQuery.queryKey })
}

/** Tries again when the server is back, or the user has signed in again. */
export function useReturn(retry: () => void): void {
  const latest = useRef(retry)
  latest.current = retry
  const hasEnded = useSyncExternalStore(sessionEnd.subscribe, sessionEnd.read)
  const wasEnded = useRef(hasEnded)
  useEffect(() => {
    if (wasEnded.current && !hasEnded) latest.current()
    wasEnded.current = hasEnded
  }, [hasEnded])
  useEffect(() => onReturn(() => latest.current()), [])
}
