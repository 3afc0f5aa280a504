/**
 * Loaded into the server before its program (`node --import`): measures how long its event loop stands still, and tells whoever started it.
 * It measures inside, because from outside a stall looks like a slow answer.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Shorter stalls than two looks do not matter here. */
const RESOLUTION_MS = 2
/** After the last work, until the delay of that turn has been counted. */
const SETTLE_MS = 10

const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
delay.enable()
process.on('message', (message) => {
  if (message === 'reset') {
    delay.reset()
    process.send?.({ probe: 'reset', worstMs: 0 })
  } else if (message === 'read') {
    setTimeout(() => process.send?.({ probe: 'read', worstMs: delay.max / 1e6 }), SETTLE_MS)
  }
})
// Else the channel would keep the server from ending.
process.channel?.unref()
