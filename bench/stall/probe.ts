/**
 * Loaded into the server before its program (`node --import`): measures how long its event loop is blocked, and reports to the parent process.
 * It measures inside, because from outside a blocked loop looks like a slow response. It reports the elapsed time and the computing time of the
 * thread: on a machine with other load, only the latter describes the server. It reports the longest garbage collection separately, with its kind.
 */
import { constants, PerformanceObserver } from 'node:perf_hooks'

/** The interval of the timer; shorter blocks than two of them do not matter here. */
const RESOLUTION_MS = 2
/** The wait after the last work, until the delay of that turn is counted. */
const SETTLE_MS = 10

const cpuMs = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

const NOTHING = { worstMs: 0, worstCpuMs: 0, worstGarbageMs: 0, garbage: '' }
const KINDS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'full',
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'young',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'step',
}

/** The kind of a collection; `forced` if our own code asked for it. */
function kindOf(detail: unknown): string {
  const { kind = 0, flags = 0 } = (detail ?? {}) as { kind?: number; flags?: number }
  return `${KINDS[kind] ?? 'other'}${(flags & constants.NODE_PERFORMANCE_GC_FLAGS_FORCED) === 0 ? '' : ' forced'}`
}

/** The declarations lack the detail of an entry. */
interface GarbageEntry {
  duration: number
  detail?: unknown
}

let worst = NOTHING
let before = { at: performance.now(), cpuMs: cpuMs() }

setInterval(() => {
  const now = { at: performance.now(), cpuMs: cpuMs() }
  worst = {
    ...worst,
    worstMs: Math.max(worst.worstMs, now.at - before.at - RESOLUTION_MS),
    worstCpuMs: Math.max(worst.worstCpuMs, now.cpuMs - before.cpuMs),
  }
  before = now
}, RESOLUTION_MS).unref()

new PerformanceObserver((list) => {
  for (const entry of list.getEntries() as GarbageEntry[])
    if (entry.duration > worst.worstGarbageMs) worst = { ...worst, worstGarbageMs: entry.duration, garbage: kindOf(entry.detail) }
}).observe({ entryTypes: ['gc'] })

process.on('message', (message) => {
  if (message === 'reset') {
    worst = NOTHING
    process.send?.({ probe: 'reset', ...worst })
  } else if (message === 'read') {
    setTimeout(() => process.send?.({ probe: 'read', ...worst, rssMb: process.memoryUsage.rss() / 1e6 }), SETTLE_MS)
  }
})
// Otherwise the channel would keep the server running.
process.channel?.unref()
