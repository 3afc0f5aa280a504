import { performance } from 'node:perf_hooks'
import v8 from 'node:v8'

/**
 * A full collection of 50 MB of live objects takes 40 ms: at this interval it is not noticeable, whereas once a second it reduced the rate of pages
 * of a busy server by a fifth.
 */
const LOOK_EVERY_MS = 5_000
/** Less than this is not worth a collection. */
const GROWTH_BYTES = 24 * 1024 * 1024
/** How much the heap may grow, as a share of its size after the last collection. */
const GROWTH_SHARE = 0.5
/**
 * Of more live objects, a collection stops the thread for over 60 ms, and for several times as long while its helper threads wait for a processor: a
 * thread with work to do leaves it to V8, which marks in small steps. A scan has 65 to 70 MB, and its collections save 100 MB.
 */
const LIVE_BYTES = 72 * 1024 * 1024

/** A thread that is busy for less than this share of the time delays nobody, so that a smaller growth is worth a collection. */
const IDLE_SHARE = 0.02
const IDLE_GROWTH_BYTES = 4 * 1024 * 1024
/** Checks with work to do: 20 s of work mean a scan and not a user who reads. */
const BUSY_LOOKS = 4
/** Consecutive checks without work: after 40 s the threads of a scan have ended. */
const REST_LOOKS = 8

/**
 * Lets V8 collect garbage early. On its own, V8 lets the heap of the main thread grow to four times the live size: a scan of 100,000 files then
 * wastes 100 MB. V8's own option (`--heap-growing-percent`) counts page buffers too and halves the rate of pages. V8 also keeps 20 to 30 MB of
 * empty pages after a scan, which only a last-resort collection releases; that takes a fifth of a second and runs once after work. Without both, the
 * server had 441 MB a minute after a scan of 30,000 files instead of 230; pages alone, whose buffers are pooled, would not need them. Does nothing if
 * Node was started without `--expose-gc`.
 */
export function watchGarbage({ lookEveryMs = LOOK_EVERY_MS } = {}): void {
  const collect = globalThis.gc
  if (!collect) return
  let lived = v8.getHeapStatistics().used_heap_size
  let collecting = false
  let measured = performance.eventLoopUtilization()
  let busyLooks = 0
  let idleLooks = 0
  const run = (flavor: 'regular' | 'last-resort') => {
    collecting = true
    void collect({ type: 'major', execution: 'async', flavor }).finally(() => {
      collecting = false
      lived = v8.getHeapStatistics().used_heap_size
    })
  }
  const look = () => {
    const used = v8.getHeapStatistics().used_heap_size
    // V8 has collected by itself, or much memory was released.
    lived = Math.min(lived, used)
    const now = performance.eventLoopUtilization()
    const isIdle = performance.eventLoopUtilization(now, measured).utilization < IDLE_SHARE
    measured = now
    if (!isIdle) busyLooks += 1
    idleLooks = isIdle ? idleLooks + 1 : 0
    if (!collecting && busyLooks >= BUSY_LOOKS && idleLooks >= REST_LOOKS) {
      busyLooks = 0
      return run('last-resort')
    }
    if (!isIdle && lived > LIVE_BYTES) return
    const growth = isIdle ? IDLE_GROWTH_BYTES : Math.max(GROWTH_BYTES, lived * GROWTH_SHARE)
    if (!collecting && used >= lived + growth) run('regular')
  }
  setInterval(look, lookEveryMs).unref()
}
