/**
 * Loaded into the server before its program (`node --import`): measures how long its event loop stands still, and tells whoever started it.
 * It measures inside, because from outside a stall looks like a slow answer. Beside the time that passed it tells the time that the thread computed:
 * on a machine that does other things too, only that one says something of the server. The longest collection of garbage is told apart.
 */
import { PerformanceObserver } from 'node:perf_hooks'

/** Shorter stalls than two looks do not matter here. */
const RESOLUTION_MS = 2
/** After the last work, until the delay of that turn has been counted. */
const SETTLE_MS = 10

const cpuMs = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

let worst = { worstMs: 0, worstCpuMs: 0, worstGarbageMs: 0 }
let before = { at: performance.now(), cpuMs: cpuMs() }

setInterval(() => {
  const now = { at: performance.now(), cpuMs: cpuMs() }
  worst = {
    worstMs: Math.max(worst.worstMs, now.at - before.at - RESOLUTION_MS),
    worstCpuMs: Math.max(worst.worstCpuMs, now.cpuMs - before.cpuMs),
    worstGarbageMs: worst.worstGarbageMs,
  }
  before = now
}, RESOLUTION_MS).unref()

new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) worst.worstGarbageMs = Math.max(worst.worstGarbageMs, duration)
}).observe({ entryTypes: ['gc'] })

process.on('message', (message) => {
  if (message === 'reset') {
    worst = { worstMs: 0, worstCpuMs: 0, worstGarbageMs: 0 }
    process.send?.({ probe: 'reset', ...worst })
  } else if (message === 'read') {
    setTimeout(() => process.send?.({ probe: 'read', ...worst, rssMb: process.memoryUsage.rss() / 1e6 }), SETTLE_MS)
  }
})
// Else the channel would keep the server from ending.
process.channel?.unref()
