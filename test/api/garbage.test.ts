import { execFileSync } from 'node:child_process'
import t from 'tap'
import { NODE_FLAGS } from '#api/node-tuning.mjs'
import { onlyCost } from '#test/support/lane-size.ts'

/** What a program prints that is run with the watch of garbage as its first argument, as the server is started. */
const outputOf = (program: string, ...args: (string | number)[]): string => {
  const module = new URL('../../api/garbage.ts', import.meta.url).href
  const words = ['--input-type=module', '-e', program, '--', module, ...args.map(String)]
  return execFileSync(process.execPath, [...NODE_FLAGS, ...words], { encoding: 'utf8' }).trim()
}

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

t.test('garbage does not pile up', onlyCost, (t) => {
  const fate = (mode: string, seconds: number, count = 400_000) => outputOf(LITTER, mode, seconds, count)
  t.equal(fate('watched', 20), 'collected')
  // Some 6 MB.
  t.equal(fate('watched', 20, 60_000), 'collected', 'a thread with nothing to do gives back less too')
  t.equal(fate('alone', 2), 'kept', 'which V8 would have left')
  t.end()
})

/** Works for longer than a reader turns a page, and rests; says which collections there were. */
const WORK_AND_REST = `
const [, module, busyMs] = process.argv
const collect = globalThis.gc
const flavors = []
globalThis.gc = (options) => {
  flavors.push(options.flavor)
  return collect(options)
}
;(await import(module)).watchGarbage({ lookEveryMs: 100 })
const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
for (const times of [1, 2]) {
  for (const until = Date.now() + Number(busyMs); Date.now() < until; await rest(1)) for (const turn = Date.now() + 20; Date.now() < turn; );
  for (const until = Date.now() + 20_000; Date.now() < until && flavors.filter((one) => one === 'last-resort').length < times; ) await rest(100)
}
await rest(2_000)
console.log(flavors.filter((one) => one === 'last-resort').length)
`

t.test('after work that is over everything is given back, once', onlyCost, (t) => {
  t.equal(outputOf(WORK_AND_REST, 1_500), '2', 'after each of two times')
  t.end()
})

/** Allocates and rests with many live objects; says how many collections there were until it rested, and afterwards. */
const LARGE = `
const [, module, count] = process.argv
const collect = globalThis.gc
const kept = Array.from({ length: Number(count) }, (_, index) => ({ index, text: 'x' + index }))
collect({ type: 'major' })
let collections = 0
globalThis.gc = (options) => {
  collections += 1
  return collect(options)
}
;(await import(module)).watchGarbage({ lookEveryMs: 100 })
const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
let garbage = []
for (const until = Date.now() + 1_500; Date.now() < until; await rest(1)) {
  garbage.push(Array.from({ length: 50_000 }, (_, index) => ({ index, text: 'y' + index })))
  if (garbage.length > 15) garbage = []
}
const busy = collections
garbage = []
for (const until = Date.now() + 20_000; Date.now() < until && collections === busy; ) await rest(100)
console.log(busy, collections > busy, kept.length)
`

t.test('a busy thread with many live objects is not stopped for a whole collection', onlyCost, (t) => {
  t.equal(outputOf(LARGE, 1_800_000), '0 true 1800000', 'only once it rests')
  t.match(outputOf(LARGE, 1_000), /^[1-9]/, 'few live objects are collected while it works')
  t.end()
})
