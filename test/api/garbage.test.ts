import { execFileSync } from 'node:child_process'
import t from 'tap'
import { NODE_FLAGS } from '#api/node-tuning.mjs'

/** Makes 300 MB of garbage that has lived long enough to be called old, in six seconds, and says how large the heap became, in MB. */
const LITTER = `
const { watchGarbage } = await import(process.argv[1])
if (process.argv[2] === 'watched') watchGarbage({ lookEveryMs: 1000 })
let kept = []
let most = 0
for (let step = 0; step < 60; step++) {
  kept = [...kept.slice(-3), Array.from({ length: 40_000 }, (_, index) => ({ step, index, text: 'x' + index }))]
  await new Promise((resolve) => setTimeout(resolve, 100))
  most = Math.max(most, process.memoryUsage().heapTotal)
}
console.log(Math.round(most / 1024 / 1024))
`

t.test('garbage does not pile up', async (t) => {
  const module = new URL('../../api/garbage.ts', import.meta.url).href
  const heapMb = (mode: string) =>
    Number(execFileSync(process.execPath, [...NODE_FLAGS, '--input-type=module', '-e', LITTER, '--', module, mode], { encoding: 'utf8' }))
  const [alone, watched] = [heapMb('alone'), heapMb('watched')]
  t.ok(watched < alone * 0.8, `${watched} MB instead of ${alone} MB`)
})
