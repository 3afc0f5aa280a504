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

/**
 * Has V8 collect its garbage while there is little of it. Left alone, it lets the main thread's heap grow to four times what lives
 * before it looks: a scan of 100,000 files then holds 100 MB of nothing. Its own switch for that (`--heap-growing-percent`) counts page
 * buffers too and halves the rate of pages. Does nothing where Node was started without `--expose-gc`.
 */
export function watchGarbage({ lookEveryMs = LOOK_EVERY_MS } = {}): void {
  const collect = globalThis.gc
  if (!collect) return
  let lived = v8.getHeapStatistics().used_heap_size
  let collecting = false
  let measured = performance.eventLoopUtilization()
  const look = () => {
    const used = v8.getHeapStatistics().used_heap_size
    // V8 has collected by itself, or much was let go.
    lived = Math.min(lived, used)
    const now = performance.eventLoopUtilization()
    const isIdle = performance.eventLoopUtilization(now, measured).utilization < IDLE_SHARE
    measured = now
    const growth = isIdle ? IDLE_GROWTH_BYTES : Math.max(GROWTH_BYTES, lived * GROWTH_SHARE)
    if (collecting || used < lived + growth) return
    collecting = true
    void collect({ type: 'major', execution: 'async' }).finally(() => {
      collecting = false
      lived = v8.getHeapStatistics().used_heap_size
    })
  }
  setInterval(look, lookEveryMs).unref()
}
