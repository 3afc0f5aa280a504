import { execFileSync } from 'node:child_process'
import t from 'tap'
import { NODE_FLAGS } from '#api/node-tuning.mjs'

/**
 * Lets go of some 40 MB that have lived long enough to be called old, and then allocates nothing more: V8 by itself has no reason to collect it.
 * Says whether somebody else does within the seconds that are given.
 */
const LITTER = `
const [, module, mode, seconds] = process.argv
if (mode === 'watched') (await import(module)).watchGarbage({ lookEveryMs: 50 })
let kept = Array.from({ length: 400_000 }, (_, index) => ({ index, text: 'x' + index }))
gc({ type: 'minor' })
gc({ type: 'minor' })
const full = process.memoryUsage().heapUsed
kept = null
const until = Date.now() + seconds * 1_000
const isCollected = () => process.memoryUsage().heapUsed < full / 2
while (!isCollected() && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 50))
console.log(isCollected() ? 'collected' : 'kept')
`

t.test('garbage does not pile up', (t) => {
  const module = new URL('../../api/garbage.ts', import.meta.url).href
  const fate = (mode: string, seconds: number) =>
    execFileSync(process.execPath, [...NODE_FLAGS, '--input-type=module', '-e', LITTER, '--', module, mode, String(seconds)], {
      encoding: 'utf8',
    }).trim()
  t.equal(fate('watched', 20), 'collected')
  t.equal(fate('alone', 2), 'kept', 'which V8 would have left')
  t.end()
})
