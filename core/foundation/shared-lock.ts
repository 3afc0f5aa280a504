/** A lock that many share or one has alone. Who waits is served in the order of arrival, so that nobody waits for ever. */
export interface SharedLock {
  /** Runs `work` beside others that share. Rejects with the signal's reason when that aborts while waiting. */
  shared<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result>
  /** Runs `work` when everything else has ended, and nothing beside it. Rejects likewise. */
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
        // Whoever stood behind may have waited for this one alone.
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
