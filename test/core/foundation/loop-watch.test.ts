import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { duringWork, takeLongestWork } from '#core/foundation/current-work.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openLoopWatch } from '#core/foundation/loop-watch.ts'

function standStill(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

t.test('a stall is logged with the work that ran, and counted', async (t) => {
  const lines: { fields: object; message: string }[] = []
  const watch = openLoopWatch({ log: { ...silentLog, warn: (fields, message) => lines.push({ fields, message }) } })
  t.teardown(() => watch.close())
  // What ran before is not meant. No look comes before the stall: it might log one of the machine, and then no other for a minute.
  takeLongestWork()
  await duringWork('request', 'GET /api/v1/books 1', async () => standStill(400))
  await duringWork('task', 'scan_library 2', async () => standStill(10))
  // After its next look.
  await sleep(150)
  // The machine may have been busy with something else.
  t.ok(watch.counts().count >= 1)
  t.ok(watch.counts().worstMs >= 300, 'its length, less one check interval')
  t.ok(watch.counts().worstAt instanceof Date)
  t.ok(lines.length >= 1)
  t.match(
    lines.find(({ message }) => message.includes('books'))?.message,
    /^The event loop was blocked for \d+ ms by request GET \/api\/v1\/books 1$/,
  )
})

t.test('many stalls are logged once a minute, with the number of those not logged', async (t) => {
  const lines: string[] = []
  let at = 0
  const watch = openLoopWatch({ log: { ...silentLog, warn: (_, message) => lines.push(message) }, now: () => (at += 18_000) })
  t.teardown(() => watch.close())
  while (watch.counts().count < 5) await sleep(20)
  t.match(lines.slice(0, 2), [
    /^The event loop was blocked for 17950 ms(?! .*not logged)/,
    /^The event loop was blocked for 17950 ms.*; 3 earlier stalls were not logged$/,
  ])
  t.match(watch.counts(), { worstMs: 17_950 })
})
