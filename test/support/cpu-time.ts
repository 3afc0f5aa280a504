/**
 * Milliseconds of a core that this thread has taken so far. Tests measure with it what work costs: the clock also runs while others have the core, so
 * that a bound on it fails where a machine does much else.
 */
export function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** The same of the whole process: with its worker threads, its native threads and the collection of garbage. */
export function processCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

const TICK_MS = 5

/** Measures the longest that this thread computed without letting anybody else have a turn; what others on the machine do counts for nothing. */
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
 * How long work takes that other processes do, such as the database: the best of several times, because a busy machine makes each take longer by chance.
 * Ends with the first that took less than `soonMs`.
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
