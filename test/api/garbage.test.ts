import { execFileSync } from 'node:child_process'
import t from 'tap'
import { NODE_FLAGS } from '#api/node-tuning.mjs'

/**
 * Lets go of some 40 MB that have lived long enough to be called old, and then allocates nothing more: V8 by itself has no reason to collect it.
 * Says whether somebody else does within the seconds that are given.
 */
const LITTER = `
const [, module, mode, seconds, count] = process.argv
if (mode === 'watched') (await import(module)).watchGarbage({ lookEveryMs: 50 })
let kept = Array.from({ length: Number(count) }, (_, index) => ({ index, text: 'x' + index }))
gc({ type: 'minor' })
gc({ type: 'minor' })
const full = process.memoryUsage().heapUsed
kept = null
const until = Date.now() + seconds * 1_000
const isCollected = () => process.memoryUsage().heapUsed < full - 3_000_000
while (!isCollected() && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 50))
console.log(isCollected() ? 'collected' : 'kept')
`

t.test('garbage does not pile up', (t) => {
  const module = new URL('../../api/garbage.ts', import.meta.url).href
  const fate = (mode: string, seconds: number, count = 400_000) =>
    execFileSync(
      process.execPath,
      [...NODE_FLAGS, '--input-type=module', '-e', LITTER, '--', module, mode, String(seconds), String(count)],
      {
        encoding: 'utf8',
      },
    ).trim()
  t.equal(fate('watched', 20), 'collected')
  // Some 6 MB.
  t.equal(fate('watched', 20, 60_000), 'collected', 'a thread with nothing to do gives back less too')
  t.equal(fate('alone', 2), 'kept', 'which V8 would have left')
  t.end()
})
