import { takeLongestWork } from '#core/foundation/current-work.ts'
import type { Log } from '#core/foundation/log.ts'

/** A timer that comes so late was kept waiting by something that a person would notice: everybody waited. */
const STALL_MS = 200
/** As often it is looked; a look costs a microsecond. What stands for less than the limit and this is not seen. */
const LOOK_MS = 50
/** A server that stands again and again says so once in this time, and how often it was: on a slow machine nothing else could be found in the log. */
const LOG_EVERY_MS = 60_000

/** How often the event loop stood still since the server started. */
export interface StallCounts {
  /** Stalls above 200 ms. */
  count: number
  worstMs: number
  /** What was at work in the worst, such as `request GET /api/v1/books …`; null when there was none, or nothing had said so. */
  worstWork: string | null
  worstAt: Date | null
}

export interface LoopWatch {
  counts(): StallCounts
  close(): void
}

/** Watches the event loop of this thread: logs what was at work when it stood still, and counts. */
export function openLoopWatch({ log, now = () => performance.now() }: { log: Log; now?: () => number }): LoopWatch {
  const counts: StallCounts = { count: 0, worstMs: 0, worstWork: null, worstAt: null }
  let lookedAt = now()
  let loggedAt = Number.NEGATIVE_INFINITY
  let unsaid = 0

  const look = () => {
    const at = now()
    const stallMs = Math.round(at - lookedAt - LOOK_MS)
    lookedAt = at
    const longest = takeLongestWork()
    if (stallMs < STALL_MS) return
    const work = longest && `${longest.kind} ${longest.name}`
    counts.count += 1
    if (stallMs > counts.worstMs) Object.assign(counts, { worstMs: stallMs, worstWork: work, worstAt: new Date() })
    if (at - loggedAt < LOG_EVERY_MS) {
      unsaid += 1
      return
    }
    const before = unsaid > 0 ? `, and ${unsaid} ${unsaid === 1 ? 'time' : 'times'} before that was not told` : ''
    log.warn({}, `The server stood still for ${stallMs} ms${work ? ` over ${work}` : ''}${before}`)
    loggedAt = at
    unsaid = 0
  }
  const timer = setInterval(look, LOOK_MS).unref()
  return { counts: () => ({ ...counts }), close: () => clearInterval(timer) }
}
