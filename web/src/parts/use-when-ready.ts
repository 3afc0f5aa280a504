import { useEffect, useState } from 'react'

interface Wish {
  /** Runs at once, or as soon as it can be. */
  ask: () => void
  giveUp: () => void
}

/** Does what was asked for once its answer is there: a key that is pressed faster than the server answers means what was typed, not what is still shown. */
export function useWhenReady(isReady: boolean, run: () => void): Wish {
  const [isAsked, setIsAsked] = useState(false)
  useEffect(() => {
    if (!isAsked || !isReady) return
    setIsAsked(false)
    run()
  })
  return { ask: () => setIsAsked(true), giveUp: () => setIsAsked(false) }
}
