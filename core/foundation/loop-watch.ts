import { takeLongestWork } from '#core/foundation/current-work.ts'
import type { Log } from '#core/foundation/log.ts'

/** A timer this late was delayed by work that users notice, because all requests had to wait. */
const STALL_MS = 200
/** How often to check; a check costs a microsecond. A stall shorter than the limit plus this interval may go unnoticed. */
const LOOK_MS = 50
/** A server with repeated stalls logs one line in this time, with their number: otherwise they would fill the log on a slow machine. */
const LOG_EVERY_MS = 60_000

/** How often the event loop stalled since the server started. */
export interface StallCounts {
  /** Stalls above 200 ms. */
  count: number
  worstMs: number
  /** The work that ran during the worst stall, such as `request GET /api/v1/books …`; null when there was no stall, or no work was recorded. */
  worstWork: string | null
  worstAt: Date | null
}

interface LoopWatch {
  counts(): StallCounts
  close(): void
}

/** Monitors the event loop of this thread: logs which work ran when it stalled, and counts. */
export function openLoopWatch({ log, now = () => performance.now() }: { log: Log; now?: () => number }): LoopWatch {
  const counts: StallCounts = { count: 0, worstMs: 0, worstWork: null, worstAt: null }
  let lookedAt = now()
  let loggedAt = Number.NEGATIVE_INFINITY
  let unlogged = 0

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
      unlogged += 1
      return
    }
    const before = unlogged > 0 ? `; ${unlogged} earlier ${unlogged === 1 ? 'stall was' : 'stalls were'} not logged` : ''
    log.warn({}, `The event loop was blocked for ${stallMs} ms${work ? ` by ${work}` : ''}${before}`)
    loggedAt = at
    unlogged = 0
  }
  const timer = setInterval(look, LOOK_MS).unref()
  return { counts: () => ({ ...counts }), close: () => clearInterval(timer) }
}
