import t from 'tap'
import { openGuests } from '#test/support/guests.ts'

t.setTimeout(240_000)

/** So much that even a busy machine watches the code long before its limit. */
const LONG = { cpuMs: 3_000, wallMs: 120_000 }

const BEFORE = `const kept = [], aMinute = 60_000
function spin() {
  let count = 0
  while (count >= 0) count += 1
}
function hoard() {
  for (;;) {
    kept.push(new Array(50_000).fill(kept.length))
    const until = Date.now() + 5
    while (Date.now() < until);
  }
}
function asks(ctx) {
  return ctx.storage.get('x')
}`
const FUNCTIONS = `spin: () => spin(), hoard: () => hoard(),
  asks: async (_, ctx) => { await null; await asks(ctx) },
  sleeps: () => new Promise((resolve) => { setTimeout(resolve, aMinute) }),
  stays: () => new Promise(() => {}),
  search: () => { for (;;) [].includes.call({ length: 2 ** 53 - 1 }, 1) },
  breaks: () => { for (;;) debugger },
  deep: () => { const again = (depth) => { let at = depth; return depth > 5_000 ? spin() : again(depth + 1) + at }; again(0) }`

t.test('code of a plugin that is stopped for its CPU time names its function and lines', async (t) => {
  const { fails, call } = openGuests(t).open(FUNCTIONS, {}, BEFORE)
  t.match(await fails('spin', null, LONG), {
    code: 'cpu',
    message: 'The code exceeded its CPU limit of 3000 ms. It was running spin.',
    places: [{ line: 4 }],
    shares: [{ line: 4 }],
  })
  t.equal(await call('echo', 1), 1)
})

t.test('the stack of an error reaches through the calls of a package to the code that called it', async (t) => {
  const parse = "function parse(depth) {\n  return depth === 0 ? JSON.parse('{') : [parse(depth - 1)]\n}"
  const { fails } = openGuests(t).open('reads: () => parse(40)', {}, parse)
  const { places } = await fails('reads')
  t.same([places[0]?.line, places[40]?.line, places.at(-1)?.line], [2, 2, 4])
})

t.test('code that is stopped for its memory names where it was, and what allocated', async (t) => {
  const { fails, call } = openGuests(t).open(FUNCTIONS, { memoryMbMax: 64 }, BEFORE)
  const error = await fails('hoard', null, { cpuMs: 100_000, wallMs: 120_000 })
  t.match(error, { code: 'memory', message: /limit of 64 MB\. It was running hoard\.$/ })
  t.ok(
    error.shares.every(({ line }) => line === 6),
    'by the first lines of functions; a busy machine may not count them in time',
  )
  const line = error.places[0]?.line ?? 0
  t.ok(line >= 7 && line <= 11, `line ${line}`)
  t.equal(await call('echo', 1), 1)
})

t.test('code that is stopped while it waits names what for, and where it began to', async (t) => {
  const { fails, call } = openGuests(t).open(FUNCTIONS, {}, BEFORE)
  const onRequest = () => new Promise(() => {})
  const budget = { cpuMs: 1_000, wallMs: 300 }
  const ask = (name: string) => fails(name, null, budget, { onRequest })
  const waits = [
    { name: 'asks', message: /limit of 300 ms\. It was waiting for storage\.get\.$/, places: [{ line: 14 }] },
    { name: 'sleeps', message: /It was waiting for a timer\.$/, places: [{ line: 18 }] },
    { name: 'stays', message: /It waited for neither a request nor a timer: one of its promises never ends\.$/, places: [] },
  ]
  for (const { name, message, places } of waits) {
    let error = await ask(name)
    // A runner that gets no processor for a quarter of a second is killed before it can say what it waited for.
    for (let tries = 1; tries < 5 && !message.test(error.message); tries++) error = await ask(name)
    t.match(error, { code: 'timeout', message, places }, name)
  }
  t.equal(await call('echo', 1), 1)
})

t.test('limits do not wait for places', async (t) => {
  const { fails, call } = openGuests(t).open(FUNCTIONS, {}, BEFORE)
  for (const name of ['search', 'breaks', 'deep', 'spin']) {
    const begun = performance.now()
    const { code } = await fails(name, null, { cpuMs: 100, wallMs: 100_000 })
    t.equal(code, 'cpu', name)
    t.ok(performance.now() - begun < 60_000, `${name} ends by its CPU time, long before its time limit`)
    t.equal(await call('echo', 1), 1)
  }
})

t.test('a long call that ends in time is answered, and its isolate serves the next', async (t) => {
  const { call } = openGuests(t).open(
    `work: (n) => { let sum = 0; while (sum >= 0 && n > 0) { const until = Date.now() + 10; while (Date.now() < until) sum += 1; n -= 1 } return made += 1 }`,
    {},
    'let made = 0',
  )
  // 600 ms of CPU time at most, half of the limit.
  for (let made = 1; made <= 3; made += 1) t.equal(await call('work', 60, { cpuMs: 1_200, wallMs: 60_000 }), made)
  for (let made = 4; made <= 6; made += 1) t.equal(await call('work', 60, { cpuMs: 800, wallMs: 60_000 }), made, 'watched')
})
