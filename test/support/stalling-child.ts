/** Opens a watchdog for its own process, then blocks it in the given way: `node stalling-child.ts <folder> <stallMs> <how>`. */

import { openWatchdog } from '#api/cli/watchdog.ts'
import { duringWork } from '#core/foundation/current-work.ts'

const [folder = '', stallMs = '', how] = process.argv.slice(2)
openWatchdog({ stallMs: Number(stallMs), folder, signal: 'SIGVTALRM' })

const HOW: Record<string, () => void> = {
  loop: function runsInALoop() {
    for (;;);
  },
  // As in a query, a picture or a compression: no JavaScript runs, and nothing can interrupt it.
  native: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
  pattern: () => /^(a|a)*$/.test(`${'a'.repeat(60)}b`),
  nothing: () => {},
}

await duringWork('request', 'GET /api/v1/idle 1', async () => {
  await duringWork('file', '/books/a.cbz (book 6f1f8a1e-0000-4000-8000-000000000001)', async () => {
    process.stdout.write('ready\n')
    // The watchdog has begun to watch.
    await new Promise((resolve) => setTimeout(resolve, 300))
    HOW[how ?? '']?.()
  })
})
// Long after the watchdog has judged.
setTimeout(() => process.stdout.write('ended\n'), 10_000)
