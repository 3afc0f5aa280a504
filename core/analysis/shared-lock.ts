/** A lock that many callers may share or one may hold exclusively. Waiting callers are served in the order of arrival, so that none waits forever. */
interface SharedLock {
  /** Runs `work` concurrently with other sharers. Rejects with the signal's reason when the signal aborts while waiting. */
  shared<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result>
  /** Runs `work` alone, after all other work has ended. Rejects in the same way. */
  exclusive<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result>
}

interface Waiting {
  exclusive: boolean
  enter: () => void
}

export function openSharedLock(): SharedLock {
  let sharing = 0
  let taken = false
  const waiting: Waiting[] = []

  function admit(): void {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      if (taken || (next.exclusive && sharing > 0)) return
      waiting.shift()
      if (next.exclusive) taken = true
      else sharing += 1
      next.enter()
    }
  }

  async function run<Result>(exclusive: boolean, work: () => Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
    signal?.throwIfAborted()
    await new Promise<void>((resolve, reject) => {
      const place: Waiting = {
        exclusive,
        enter() {
          signal?.removeEventListener('abort', giveUp)
          resolve()
        },
      }
      function giveUp(): void {
        waiting.splice(waiting.indexOf(place), 1)
        reject(signal?.reason)
        // The callers behind this one may have waited for it alone.
        admit()
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      waiting.push(place)
      admit()
    })
    try {
      return await work()
    } finally {
      if (exclusive) taken = false
      else sharing -= 1
      admit()
    }
  }

  return { shared: (work, signal) => run(false, work, signal), exclusive: (work, signal) => run(true, work, signal) }
}
