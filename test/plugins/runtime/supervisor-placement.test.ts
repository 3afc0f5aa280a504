import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { BUDGET, eventually, openGuests, pluginProgram, runnersOf } from '#test/support/guests.ts'

t.setTimeout(240_000)

const LONG = { cpuMs: 2_000, wallMs: 20_000 }
/** Uninterruptible: its runner must be killed. */
const KILLS = 'kills: () => Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)'
/** A call that waits for this ends only after its runner has died, and then at once. */
function waitForDeath(first: number) {
  let asked = 0
  return {
    asked: () => asked,
    onRequest: async (_kind: string, _payload: unknown, signal: AbortSignal) => {
      asked += 1
      if (asked <= first) await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return null
    },
  }
}

/** Waits until the server answers. */
const WAITS = 'waits: async (x, ctx) => { await ctx.sleep(1); return x }'
const HANGS = 'hangs: () => new Promise(() => {})'

t.test('the first call is answered before a spare process is started, which takes time of this thread', async (t) => {
  const { open, supervisor } = openGuests(t)
  const { call } = open('')
  let runnersThen = 0
  await call('echo', 1).then(() => {
    runnersThen = supervisor.state().runners
  })
  t.equal(runnersThen, 1)
  await eventually(() => supervisor.state().runners === 2, 'a spare')
})

t.test('grouped plugins share one process, and programs of the server have their own', async (t) => {
  const { open, supervisor } = openGuests(t, { isolation: 'grouped' })
  const guests = Array.from({ length: 5 }, (_, n) => open('', { place: `plugin ${n}` }))
  for (const [n, { call }] of guests.entries()) t.equal(await call('echo', n), n)
  await eventually(() => runnersOf().length === 2, 'the shared runner and a spare')
  const { plugin: _, ...own } = pluginProgram('', { place: 'own', sources: [{ name: 'own.js', code: 'register({ echo: (x) => x })' }] })
  t.equal((await supervisor.open(own).call('echo', '1', BUDGET)).text, '1')
  await eventually(() => runnersOf().length === 3, 'one more')
  const passing = open('', { place: 'passing', alone: true })
  t.equal(await passing.call('echo', 1), 1)
  passing.guest.close()
  await eventually(() => runnersOf().length === 3, 'the process of a single program ends with it')
})

t.test('a plugin that kills a shared process is identified, and calls of others are repeated', async (t) => {
  const { open } = openGuests(t, { isolation: 'grouped' })
  const guilty = open(KILLS, { place: 'guilty' })
  const [first, second] = [open(WAITS, { place: 'first' }), open(WAITS, { place: 'second' })]
  await Promise.all([guilty, first, second].map(({ call }) => call('echo', 1)))
  const [shared] = runnersOf()
  const { asked, onRequest } = waitForDeath(2)
  const waiting = [first, second].map(({ call }, n) => call('waits', n, LONG, { onRequest }))
  await eventually(() => asked() === 2, 'both calls to run')
  t.match(await guilty.fails('kills'), { code: /cpu|timeout|crash/ })
  t.same(await Promise.all(waiting), [0, 1], 'nobody else notices')
  t.equal(asked(), 4, 'each host call was repeated once, and only once')
  await eventually(() => !runnersOf().includes(shared as number), 'its process to end')
  await guilty.call('echo', 1)
  const innocent = await Promise.all([first, second].map(({ call }) => call('echo', 2)))
  t.same(innocent, [2, 2])
})

t.test('when the cause is unknown, each plugin runs alone: one is identified, and the others return', async (t) => {
  const { open, supervisor } = openGuests(t, { isolation: 'grouped' })
  const guests = [0, 1].map((n) =>
    open(`${WAITS}, asksAndHangs: async (x, ctx) => { await ctx.sleep(1); await new Promise(() => {}) }`, { place: `plugin ${n}` }),
  )
  await Promise.all(guests.map(({ call }) => call('echo', 1)))
  await eventually(() => runnersOf().length === 2, 'a spare')
  const { asked, onRequest } = waitForDeath(2)
  const waiting = guests.map(({ call }, n) => call('waits', n, LONG, { onRequest }))
  await eventually(() => asked() === 2, 'both calls to run')
  process.kill(runnersOf()[0] as number, 'SIGKILL')
  t.same(await Promise.all(waiting), [0, 1])
  t.equal(asked(), 4, 'both were repeated once')
  t.same(await Promise.all(guests.map(({ call }) => call('echo', 3))), [3, 3])
  // Then there is a spare, so that two runners are not that of both and one in which a plugin ran alone.
  await sleep(100)
  await eventually(() => supervisor.state().runners === 2, 'one runner for both, and a spare')

  // Again; this time one of them crashes once more when it runs alone.
  const [bad, good] = guests as [(typeof guests)[0], (typeof guests)[0]]
  const bads = waitForDeath(0)
  const hanging = bad.fails('asksAndHangs', null, LONG, bads)
  const again = waitForDeath(1)
  const fine = good.call('waits', 'fine', LONG, again)
  await eventually(() => again.asked() === 1 && bads.asked() === 1, 'both calls to run')
  process.kill(runnersOf()[0] as number, 'SIGKILL')
  t.equal(await fine, 'fine')
  await eventually(() => bads.asked() === 2, 'the other call runs again too')
  const alive = runnersOf()
  for (const pid of alive) process.kill(pid, 'SIGKILL')
  t.match(await hanging, { code: 'crash' }, 'a call is repeated only once')
  await eventually(() => !runnersOf().some((pid) => alive.includes(pid)), 'all to end')
  // After the pause between two starts.
  await sleep(100)
  t.equal(await good.call('echo', 4), 4)
})

t.test('everything works without compilers', async (t) => {
  const { open } = openGuests(t, { hardened: true })
  const { call, fails } = open(
    `search: async ({ query }, ctx) => ({ url: String(new URL('/x?q=' + encodeURIComponent(query), 'https://example.org')), hash: await ctx.crypto.digest('sha256', query) }),
    loop: () => { for (;;); }, regex: () => /^(a+)+$/.test('a'.repeat(40) + 'b'), wasm: () => typeof WebAssembly`,
  )
  t.same(await call('search', { query: 'ü' }, BUDGET, { onRequest: async () => 'h' }), { url: 'https://example.org/x?q=%C3%BC', hash: 'h' })
  t.equal(await call('wasm'), 'undefined')
  t.match(await fails('loop'), { code: /cpu|timeout/ })
  t.match(await fails('regex'), { code: /cpu|timeout/ })
  t.equal(await call('echo', 1), 1)
  t.match(readFileSync(`/proc/${runnersOf()[0]}/cmdline`, 'latin1'), /--jitless/)
})

t.test('old isolates are replaced without failing calls', async (t) => {
  const { open } = openGuests(t, { renewal: { callsMax: 50 } })
  const { call } = open(
    `setup() { ready += 1 }, count: async (x, ctx) => { count += 1; if (x === 'slowly') await ctx.sleep(300); return [count, ready] }`,
    {},
    'let count = 0; let ready = 0',
  )
  await call('setup')
  const counts: number[] = []
  const onRequest = async () => {
    // So long that all calls overlap.
    await sleep(300)
    return null
  }
  for (let times = 0; times < 48; times++) await call('count')
  const slow = call('count', 'slowly', LONG, { onRequest })
  t.same(await call('count'), [1, 1], 'another serves already')
  t.same(await slow, [49, 1], 'and a running call ends in its isolate')
  await Promise.all(
    Array.from({ length: 3 }, async () => {
      for (let times = 0; times < 60; times++) {
        const [count, ready] = (await call('count')) as [number, number]
        counts.push(count)
        if (ready !== 1) t.fail(`set up ${ready} times`)
      }
    }),
  )
  t.ok(Math.max(...counts) <= 50, `no isolate served more than ${Math.max(...counts)}`)
  t.ok(counts.filter((count) => count === 1).length >= 3, 'at least three isolates were replaced')

  const aged = openGuests(t, { renewal: { ageMsMax: 1_000 } }).open('count: () => ++count', {}, 'let count = 0')
  t.equal(await aged.call('count'), 1)
  // Older than the renewal allows. That calls before share an isolate is seen above: here a second one may come too late for it.
  await sleep(1_100)
  t.equal(await aged.call('count'), 1)
})

t.test('with more plugins than processes, all calls are handled in turn', async (t) => {
  const { open, supervisor } = openGuests(t)
  const guests = Array.from({ length: 8 }, (_, n) => open(HANGS, { place: `plugin ${n}` }))
  const hanging = guests.slice(0, 6).map(({ fails }) => fails('hangs', null, { cpuMs: 100, wallMs: 1_500 }))
  const waiting = guests.slice(6).map(({ call }, n) => call('echo', n))
  await eventually(() => supervisor.state().waiting > 0, 'somebody waits')
  let most = 0
  const counting = setInterval(() => {
    most = Math.max(most, supervisor.state().runners)
  }, 20)
  t.same(await Promise.all(waiting), [0, 1])
  t.same(new Set((await Promise.all(hanging)).map(({ code }) => code)), new Set(['timeout']))
  clearInterval(counting)
  t.ok(most <= 9, `${most} processes at most: six, a spare, and those that are about to go`)
  t.equal(supervisor.state().waiting, 0)
})
