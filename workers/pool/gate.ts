/** Lets a fixed number of things happen at a time; the rest wait in order of arrival. */
export interface Gate {
  /**
   * Runs `work` when there is room; it may call `leave` to give its place to the next before it has ended. Rejects with the signal's
   * reason when that aborts while waiting.
   */
  pass<Result>(work: (leave: () => void) => Promise<Result>, signal?: AbortSignal): Promise<Result>
}

export function openGate(room: number): Gate {
  let free = room
  const waiting: { enter: () => void }[] = []

  function leave(): void {
    const next = waiting.shift()
    if (next) next.enter()
    else free++
  }

  function enter(signal: AbortSignal | undefined): Promise<void> {
    if (free > 0) {
      free--
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const place = {
        enter() {
          signal?.removeEventListener('abort', giveUp)
          resolve()
        },
      }
      function giveUp(): void {
        waiting.splice(waiting.indexOf(place), 1)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      waiting.push(place)
    })
  }

  return {
    async pass(work, signal) {
      signal?.throwIfAborted()
      await enter(signal)
      let inside = true
      const leaveOnce = () => {
        if (inside) leave()
        inside = false
      }
      try {
        return await work(leaveOnce)
      } finally {
        leaveOnce()
      }
    },
  }
}
