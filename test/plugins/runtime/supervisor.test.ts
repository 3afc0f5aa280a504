import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'
import type { Program } from '#plugins/runtime/program.ts'
import { Supervisor, type SupervisorOptions } from '#plugins/runtime/supervisor.ts'
import { eventually, runnersOf } from '#test/support/guests.ts'
import { onlyFull } from '#test/support/lane-size.ts'

t.setTimeout(240_000)

const NO_METHODS = { methods: [], hostCalls: 0, inFlight: 0, logLines: 0, logLength: 0 }
const BUDGET = { cpuMs: 100, wallMs: 10_000 }

/** A program with the functions in the text. */
const programOf = (functions: string, change: Partial<Program> = {}): Program => ({
  name: 'a test',
  place: 'test',
  sources: [{ name: 'test.js', code: `register({ echo: (x) => x, ${functions} })` }],
  memoryMbMax: 32,
  load: { cpuMs: 500, wallMs: 60_000 },
  resultLengthMax: 100_000,
  concurrency: 1,
  queueMax: 4,
  restMs: 0,
  ...change,
})

function open(t: Test, functions: string, change: Partial<Program> = {}, options: Partial<SupervisorOptions> = {}) {
  const supervisor = new Supervisor({ log: silentLog, ...options })
  t.teardown(() => supervisor.close())
  const guest = supervisor.open(programOf(functions, change))
  const call = async (name: string, value: unknown = null, budget = BUDGET) =>
    JSON.parse((await guest.call(name, JSON.stringify(value), budget)).text) as unknown
  const fails = async (name: string, budget = BUDGET) => {
    const outcome = await call(name, null, budget).catch((error: unknown) => error)
    if (!(outcome instanceof GuestError)) throw new Error(`${name} answered ${JSON.stringify(outcome)}`)
    return outcome
  }
  return { supervisor, guest, call, fails }
}

t.test('values are transferred in both directions', async (t) => {
  const { call, fails } = open(
    t,
    `later: async (x) => { await null; return { x } }, nothing: () => undefined, thrown: () => { throw new TypeError('no') },
    oddly: () => { throw null }, coded: () => { throw Object.assign(new Error('slow down'), { code: 'rate_limited' }) },
    symbol: () => { throw Symbol('x') }, cyclic: () => { const a = {}; a.a = a; return a }, big: () => 'x'.repeat(100_001), bigint: () => 1n`,
  )
  const values = [1, 'text', null, true, [1, [2]], { a: { b: 'ü😀' } }, { ['__proto__']: { polluted: true } }]
  for (const value of values) t.same(await call('echo', value), value)
  t.same(await call('later', 5), { x: 5 })
  t.equal(await call('nothing'), null)
  t.match(await fails('thrown'), { code: 'thrown', message: 'no', own: null })
  t.match(await fails('coded'), { code: 'thrown', message: 'slow down', own: 'rate_limited' })
  t.match(await fails('oddly'), { code: 'thrown' })
  t.match(await fails('symbol'), { code: 'thrown' })
  t.match(await fails('cyclic'), { code: 'invalid_result' })
  t.match(await fails('bigint'), { code: 'invalid_result' })
  t.match(await fails('big'), { code: 'invalid_result', message: /100000/ })
  t.match(await fails('missing'), { code: 'not_implemented' })
  t.match(await call('echo', 'x'.repeat(10_000_000)).catch((error: unknown) => error), { code: 'invalid_argument' })
  t.equal(await call('echo', 1), 1, 'the isolate still works')
})

t.test('a runner that is killed, suspended or exceeds its memory costs one call', async (t) => {
  const { call, fails, supervisor } = open(
    t,
    // It never answers: before its memory is checked, it could.
    `swell: () => { globalThis.kept = Array.from({ length: 40 }, () => new Uint8Array(4e6).fill(1)); return new Promise(() => {}) },
    hang: () => new Promise(() => {})`,
    { memoryMbMax: 256 },
    { residentMbMax: 120 },
  )
  await call('echo', 1)
  const [first] = runnersOf()
  const hanging = fails('hang', { cpuMs: 100, wallMs: 10_000 })
  await sleep(50)
  process.kill(first as number, 'SIGKILL')
  t.match(await hanging, { code: 'crash' })
  t.equal(await call('echo', 2), 2, 'the spare serves the next call')

  const stopped = fails('hang', { cpuMs: 100, wallMs: 60_000 })
  await sleep(50)
  for (const pid of runnersOf()) process.kill(pid, 'SIGSTOP')
  t.match(await stopped, { code: 'timeout' }, 'an unresponsive runner is terminated')
  for (const pid of runnersOf()) {
    try {
      process.kill(pid, 'SIGCONT')
    } catch (error) {
      // It was terminated since it was listed.
      t.match(error, { code: 'ESRCH' })
    }
  }
  t.equal(await call('echo', 3), 3)
  t.match(await fails('swell', { cpuMs: 5_000, wallMs: 10_000 }), { code: /memory|crash/ })
  t.equal(await call('echo', 4), 4)
  t.ok(supervisor.state().residentBytes > 0)
})

t.test('a runner contains nothing valuable', async (t) => {
  const { call } = open(
    t,
    `globals: () => Object.getOwnPropertyNames(globalThis),
    reach: () => { const of = (f) => { try { return String(f()) } catch (error) { return error.name } }
      return [of(() => (() => {}).constructor('return process')()), of(() => globalThis.constructor.constructor('return require')()), of(() => new WebAssembly.Module()),
        of(() => new SharedArrayBuffer(8)), of(() => new ArrayBuffer(8, { maxByteLength: 16 })), of(() => new (new ArrayBuffer(8).constructor)(8, { maxByteLength: 16 })),
        of(() => new ArrayBuffer(8).resize(4)), of(() => Reflect.construct(ArrayBuffer, [8, { maxByteLength: 16 }], Array).byteLength)] },
    imports: async () => { try { await import('node:fs'); return 'imported' } catch (error) { return 'refused' } },
    stack: () => { try { null.x } catch (error) { return error.stack } }`,
  )
  const globals = (await call('globals')) as string[]
  for (const name of [
    'process',
    'require',
    'fetch',
    'setTimeout',
    'console',
    'WebAssembly',
    'SharedArrayBuffer',
    'Atomics',
    'post',
    'Buffer',
  ])
    t.notOk(globals.includes(name), name)
  const reached = (await call('reach')) as string[]
  for (const name of reached.slice(0, 7)) t.match(name, /Error$/, name)
  t.equal(await call('imports'), 'refused')
  t.notMatch(String(await call('stack')), /runner|node_modules|work\//, 'stacks contain no path of this machine')
  const [pid] = runnersOf()
  t.equal(readFileSync(`/proc/${pid}/environ`, 'latin1'), '', 'the environment is empty')
  const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  t.match(command, /--permission\0--allow-addons/)
  t.notMatch(command, /allow-(child-process|worker|fs-write|net|inspector)/)
  const cache = Object.keys(createRequire(import.meta.url).cache)
  t.same(
    cache.filter((path) => path.includes('isolated-vm')),
    [],
    'this process has not loaded the addon',
  )
})

t.test('prototype pollution affects neither the channel nor the next answer', async (t) => {
  const { call } = open(
    t,
    `spoil: () => { for (const name of ['reference', 'copy', 'promise', 'then', 'code', 'kind', 'id', 'toJSON'])
        Object.defineProperty(Object.prototype, name, { configurable: true, get() { return undefined }, set() {} })
      Promise.prototype.then = () => { throw new Error('mine') }
      JSON.stringify = () => '"forged"'; JSON.parse = () => 'forged'; Reflect.apply = () => 'forged'; String.prototype.slice = () => 'forged'
      return 'spoilt' }, later: async () => 7, throws: () => { throw new Error('as it is') }`,
  )
  t.equal(await call('spoil'), 'spoilt')
  t.same(await call('echo', { a: [1] }), { a: [1] })
  t.equal(await call('later'), 7)
  await t.rejects(call('throws'), { code: 'thrown', message: 'as it is' })
})

t.test('queues are limited, programs that do not start report why, and close ends running calls', async (t) => {
  const { guest, call, fails } = open(t, `hang: () => new Promise(() => {})`)
  await call('echo', 1)
  const waiting = Array.from({ length: 6 }, () =>
    guest.call('hang', 'null', { cpuMs: 50, wallMs: 3_000 }).catch((error: GuestError) => error.code),
  )
  t.equal(await Promise.race(waiting), 'busy', 'one runs, four wait, the sixth is refused')
  guest.close()
  t.same((await Promise.all(waiting)).toSorted(), ['busy', 'closed', 'closed', 'closed', 'closed', 'closed'])
  t.match(await fails('echo'), { code: 'closed' })

  for (const [code, expected] of [
    ['not javascript', 'load'],
    ['throw new Error("at the start")', 'load'],
    ['for (;;);', 'cpu'],
    ['register({}); register({})', 'load'],
  ] as const) {
    const broken = open(t, '', { sources: [{ name: 'broken.js', code }] })
    t.match(await broken.fails('echo'), { code: expected }, code)
  }
})

t.test('idle runners end, and close leaves none', async (t) => {
  const { call, supervisor } = open(t, '', {}, { idleMs: 200 })
  await call('echo', 1)
  await eventually(() => supervisor.state().runners === 0, 'the idle runners to end')
  t.equal(await call('echo', 2), 2, 'a new runner starts when one is needed')
  supervisor.close()
  await eventually(() => supervisor.state().runners === 0, 'the closed runners to end')
})

t.test('code that continues after its answer is terminated', async (t) => {
  const { call, guest } = open(t, `zombie: () => { Promise.resolve().then(() => { for (;;); }); return 'answered' }`)
  // Much for the call itself: its answer may wait for the processor while the code runs on.
  t.equal(await call('zombie', null, { cpuMs: 5_000, wallMs: 20_000 }), 'answered')
  // Longer than the CPU time that the code may take.
  await sleep(400)
  const begun = performance.now()
  const next = () => guest.call('echo', '1', { cpuMs: 100, wallMs: 60_000 })
  // On a busy machine the code may still run, and take the next call with it.
  t.equal(JSON.parse((await next().catch(next)).text), 1)
  t.ok(performance.now() - begun < 30_000, 'no call waits for it')
})

t.test('many places share few runners', onlyFull, async (t) => {
  const supervisor = new Supervisor({ log: silentLog })
  t.teardown(() => supervisor.close())
  const guests = Array.from({ length: 9 }, (_, index) => supervisor.open(programOf('', { place: `place ${index}`, plugin: NO_METHODS })))
  for (const round of [1, 2]) {
    for (const [index, guest] of guests.entries())
      t.equal((await guest.call('echo', `${index}`, BUDGET)).text, `${index}`, `round ${round}`)
  }
  await eventually(() => supervisor.state().runners <= 7, 'the others to end')
  t.ok(supervisor.state().runners <= 7, 'six and a spare')
})
