import { performance } from 'node:perf_hooks'
import v8 from 'node:v8'

/**
 * A full collection of the 50 MB that live takes 40 ms: once in so long it is not felt, once a second it took a fifth of the pages that a busy
 * server sends.
 */
const LOOK_EVERY_MS = 5_000
/** Less than this is not worth a collection. */
const GROWTH_BYTES = 24 * 1024 * 1024
/** The share of what lived after the last collection by which the heap may grow. */
const GROWTH_SHARE = 0.5

/** A thread that computes less than this share of the time keeps nobody waiting with a collection, which is then worth it for less. */
const IDLE_SHARE = 0.02
const IDLE_GROWTH_BYTES = 4 * 1024 * 1024
/** Of looks with something to do: 20 s of work, as a scan is and a reader is not. */
const BUSY_LOOKS = 4
/** Of looks without, one after the other: after 40 s the threads of a scan have ended, and nobody waits. */
const REST_LOOKS = 8

/**
 * Has V8 collect its garbage while there is little of it. Left alone, it lets the main thread's heap grow to four times what lives
 * before it looks: a scan of 100,000 files then holds 100 MB of nothing. Its own switch for that (`--heap-growing-percent`) counts page
 * buffers too and halves the rate of pages. V8 keeps the pages that it has emptied, too, 20 to 30 MB after a scan: only a collection of the last
 * resort gives them back. That one takes a fifth of a second, once after work that is over. Does nothing where Node was started without `--expose-gc`.
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
    // V8 has collected by itself, or much was let go.
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
    const growth = isIdle ? IDLE_GROWTH_BYTES : Math.max(GROWTH_BYTES, lived * GROWTH_SHARE)
    if (!collecting && used >= lived + growth) run('regular')
  }
  setInterval(look, lookEveryMs).unref()
}
