/**
 * CPU time of this thread in milliseconds. Tests measure the cost of work with it: wall time also passes while other processes use the core, so
 * a limit on wall time fails on a busy machine.
 */
export function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** CPU time of the whole process, including worker threads, native threads and garbage collection. */
export function processCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

const TICK_MS = 5

/** Measures the longest CPU time for which this thread did not yield to the event loop; other processes do not count. */
export function watchTurns(): { longestMs(): number; close(): void } {
  let longest = 0
  let last = threadCpuMs()
  const look = () => {
    const now = threadCpuMs()
    longest = Math.max(longest, now - last)
    last = now
  }
  const timer = setInterval(look, TICK_MS)
  return {
    longestMs: () => longest,
    close: () => {
      clearInterval(timer)
      look()
    },
  }
}

/**
 * Measures work in this thread several times, as {@link watchTurns} does, and returns the time whose longest turn was the smallest part of it: a garbage
 * collection counts as a turn too.
 */
export async function calmestTurns(work: () => PromiseLike<unknown>, tries = 3): Promise<{ longestMs: number; tookMs: number }> {
  const found: { longestMs: number; tookMs: number }[] = []
  for (let run = 0; run < tries; run++) {
    const turns = watchTurns()
    const begun = threadCpuMs()
    await work()
    const tookMs = threadCpuMs() - begun
    turns.close()
    found.push({ longestMs: turns.longestMs(), tookMs })
  }
  return found.reduce((best, one) => (one.longestMs / one.tookMs < best.longestMs / best.tookMs ? one : best))
}

/**
 * The duration of work in other processes, such as the database: the shortest of several runs, because a busy machine delays some of them.
 * Ends with the first run that took less than `soonMs`.
 */
export async function quickestMs(soonMs: number, work: () => PromiseLike<unknown>, triesMax = 5): Promise<number> {
  let quickest = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < triesMax && quickest >= soonMs; tries++) {
    const begun = performance.now()
    await work()
    quickest = Math.min(quickest, performance.now() - begun)
  }
  return quickest
}

/** The CPU time of work in this process, in milliseconds: the least of several runs, because other work of the process counts too. */
export async function leastCpuMs(work: () => PromiseLike<unknown>, tries = 3): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < tries; run++) {
    const begun = processCpuMs()
    await work()
    least = Math.min(least, processCpuMs() - begun)
  }
  return least
}
