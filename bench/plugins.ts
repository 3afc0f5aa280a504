/**
 * How fast plugins are called in their isolates, compared with a child process that speaks JSON-RPC over its pipes, as in other servers.
 * `npm run bench:plugins`
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '#bench/load.ts'
import { INSTALLED, measureLists } from '#bench/plugin-lists.ts'
import { verdict } from '#bench/verdict.ts'
import { silentLog } from '#core/foundation/log.ts'
import type { Program } from '#plugins/runtime/program.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'

const ROUNDS = 5
const CALLS = 800
const LARGE_CALLS = 60
const IN_FLIGHT = 16
const PLUGINS = 20
/**
 * Of a call: times that of a child which does nothing but run its function in an isolate. An isolate that can be stopped has a thread of its own, and
 * passing a call to it and back takes more than the rest of a child's call; docs/benchmarks.md has the parts.
 * Of loading and recovery: of the time in which a child starts and answers. A third of recovery is the kernel's end of the killed process.
 */
const BARS = { call: 2, load: 0.3, recovery: 0.5, memoryMb: 150, listMs: 50 }

const BUDGET = { cpuMs: 500, wallMs: 20_000 }
const MORE = JSON.stringify({ callId: 'x', plugin: { id: 'org.example.bench', version: '1.0.0' }, config: {}, userConfig: {} })
/** Code of about 100 KB around one function that returns its input. */
const CODE = `${Array.from({ length: 1_000 }, (_, n) => `function f${n}(a, b) { const c = a + b * ${n}; return { c, d: [c, c + 1], text: 'some words number ${n}' } }`).join('\n')}
export default { metadata: { series: { get: (value) => ({ got: value }) } } }`

const programOf = (name: string, place: string): Program => ({
  name,
  place,
  sources: [{ name: 'main.js', code: CODE, module: true }],
  memoryMbMax: 64,
  load: { cpuMs: 2_000, wallMs: 10_000 },
  resultLengthMax: 2_000_000,
  concurrency: IN_FLIGHT,
  queueMax: 64,
  restMs: 0,
  plugin: { methods: ['metadata.series.get'], hostCalls: 100, inFlight: 8, logLines: 200, logLength: 65_536 },
})

/** The sum of the resident memory of processes, in MB; memory that they share counts for each. */
function memoryMb(pids: readonly number[]): number {
  let kb = 0
  for (const pid of pids) {
    try {
      kb += Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0)
    } catch {
      // It has ended meanwhile.
    }
  }
  return kb / 1024
}

/** All descendants of this process: a confined runner is the child of the program that confines it. */
function descendantsOf(pid: number): number[] {
  try {
    const children = readdirSync(`/proc/${pid}/task`)
      .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1').trim().split(/\s+/))
      .filter(Boolean)
      .map(Number)
    return children.flatMap((child) => [child, ...descendantsOf(child)])
  } catch {
    // It has ended meanwhile.
    return []
  }
}

const commandOf = (pid: number): string[] => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0')
  } catch {
    return []
  }
}

/** Processes of Node that run a script, oldest first. */
const nodesOf = (script: string) =>
  descendantsOf(process.pid)
    .filter((pid) => commandOf(pid)[0] === process.execPath && commandOf(pid).some((word) => word.includes(script)))
    .sort((a, b) => a - b)

// ── A child process that speaks JSON-RPC, one message per line ──

const CHILD = `let rest = ''
process.stdin.on('data', (chunk) => { rest += chunk; let at; while ((at = rest.indexOf('\\n')) >= 0) {
  const { id, params } = JSON.parse(rest.slice(0, at)); rest = rest.slice(at + 1)
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: { got: params } }) + '\\n') } })
// bench-rpc-child`

/** The same function in an isolate, without limits, context or records. */
const ISOLATE_CHILD = `const { Isolate } = require('isolated-vm')
const isolate = new Isolate()
isolate.createContext().then(async (context) => {
  const script = await isolate.compileScript('(text) => JSON.stringify({ got: JSON.parse(text) })')
  const get = await script.run(context, { reference: true })
  let rest = ''
  process.stdin.on('data', (chunk) => { rest += chunk; let at; while ((at = rest.indexOf('\\n')) >= 0) {
    const { id, params } = JSON.parse(rest.slice(0, at)); rest = rest.slice(at + 1)
    get.apply(undefined, [JSON.stringify(params)]).then((result) => process.stdout.write('{"id":' + id + ',"result":' + result + '}\\n')) } })
})`

function openChild(words = ['-e', CHILD]): { call(value: unknown): Promise<unknown>; process: ChildProcess } {
  const child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'ignore'] })
  const waiting = new Map<number, (value: unknown) => void>()
  let rest = ''
  let lastId = 0
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (chunk: string) => {
    rest += chunk
    for (let at = rest.indexOf('\n'); at >= 0; at = rest.indexOf('\n')) {
      const { id, result } = JSON.parse(rest.slice(0, at))
      rest = rest.slice(at + 1)
      waiting.get(id)?.(result)
      waiting.delete(id)
    }
  })
  return {
    process: child,
    call: (params) =>
      new Promise((resolve) => {
        const id = ++lastId
        waiting.set(id, resolve)
        child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'get', params })}\n`)
      }),
  }
}

/** Until its first answer. */
async function startChild(): Promise<void> {
  const child = openChild()
  await child.call('first')
  child.process.kill('SIGKILL')
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

type Call = (value: unknown) => Promise<unknown>

interface Measured {
  'start and first call ms': number
  '1 KB call p50 ms': number
  '1 KB call p99 ms': number
  '100 KB call p50 ms': number
  'calls/s sequential': number
  [inFlight: string]: number
}

/** Measures all in turn in each round, so that other work of the machine affects all of them. */
async function measure<Name extends string>(starts: Record<Name, () => Call>): Promise<Record<Name, Measured>> {
  const small = 'x'.repeat(1_000)
  const large = 'x'.repeat(100_000)
  const sides: { name: Name; call: Call; startMs: number; times: number[]; large: number[]; perSecond: number[]; inFlight: number[] }[] = []
  for (const [name, start] of Object.entries(starts) as [Name, () => Call][]) {
    const begun = performance.now()
    const call = start()
    await call('first')
    sides.push({ name, call, startMs: performance.now() - begun, times: [], large: [], perSecond: [], inFlight: [] })
    for (let count = 0; count < 500; count++) await call(small)
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const side of sides) {
      const { call } = side
      const sequential = await timed(async () => {
        for (let count = 0; count < CALLS; count++) side.times.push(await timed(() => call(small)))
      })
      side.perSecond.push(CALLS / (sequential / 1000))
      for (let count = 0; count < LARGE_CALLS; count++) side.large.push(await timed(() => call(large)))
      let left = CALLS
      const parallel = await timed(() =>
        Promise.all(
          Array.from({ length: IN_FLIGHT }, async () => {
            while (left-- > 0) await call(small)
          }),
        ),
      )
      side.inFlight.push(CALLS / (parallel / 1000))
    }
  }
  const rows = sides.map(({ name, startMs, times, large, perSecond, inFlight }) => {
    times.sort((a, b) => a - b)
    const row: Measured = {
      'start and first call ms': round(startMs),
      '1 KB call p50 ms': round(median(times)),
      '1 KB call p99 ms': round(times[Math.floor(times.length * 0.99)] as number),
      '100 KB call p50 ms': round(median(large)),
      'calls/s sequential': Math.round(median(perSecond)),
      [`calls/s ${IN_FLIGHT} in flight`]: Math.round(median(inFlight)),
    }
    return [name, row]
  })
  return Object.fromEntries(rows) as Record<Name, Measured>
}

const supervisor = new Supervisor({ log: silentLog, residentMbMax: 512 })
const children: ChildProcess[] = []
try {
  const table = await measure({
    'JSON-RPC child': () => {
      const child = openChild()
      children.push(child.process)
      return child.call
    },
    'child with an isolate': () => {
      const child = openChild(['--no-node-snapshot', '-e', ISOLATE_CHILD])
      children.push(child.process)
      return child.call
    },
    plugin: () => {
      const guest = supervisor.open(programOf('the bench', 'bench'))
      return async (value) => JSON.parse((await guest.call('metadata.series.get', JSON.stringify(value), BUDGET, { more: MORE })).text)
    },
  })
  console.table(table)

  const loads: number[] = []
  const starts: number[] = []
  for (let count = 0; count < 15; count++) {
    const guest = supervisor.open(programOf(`load ${count}`, 'bench'))
    loads.push(await timed(() => guest.load()))
    guest.close()
    starts.push(await timed(startChild))
  }

  // Grouped: twenty plugins in one runner, each called once; the spare runner counts too.
  const many = new Supervisor({ log: silentLog, isolation: 'grouped' })
  const before = new Set(nodesOf('runner.mjs'))
  const guests = Array.from({ length: PLUGINS }, (_, index) => many.open(programOf(`plugin ${index}`, `plugin ${index}`)))
  await guests[0]?.call('metadata.series.get', '1', BUDGET, { more: MORE })
  const runnersOfMany = () => nodesOf('runner.mjs').filter((pid) => !before.has(pid))
  await sleep(300)
  const one = memoryMb(runnersOfMany())
  for (const guest of guests) await guest.call('metadata.series.get', '1', BUDGET, { more: MORE })
  const twenty = memoryMb(runnersOfMany())
  many.close()
  for (let count = 0; count < PLUGINS; count++) {
    const child = openChild()
    children.push(child.process)
    await child.call(1)
  }
  const oneRpc = memoryMb(nodesOf('bench-rpc-child').slice(0, 1))
  const twentyRpc = memoryMb(nodesOf('bench-rpc-child').slice(0, PLUGINS))
  console.table({
    'JSON-RPC child': { '1 plugin MB': round(oneRpc), '20 plugins MB': round(twentyRpc) },
    'isolates in one runner, spare included': { '1 plugin MB': round(one), '20 plugins MB': round(twenty) },
  })

  const recoveries: number[] = []
  const crashing = new Supervisor({ log: silentLog })
  const others = new Set(nodesOf('runner.mjs'))
  const guest = crashing.open(programOf('killed', 'killed'))
  const call = async () => await guest.call('metadata.series.get', '1', BUDGET, { more: MORE })
  for (let count = 0; count < 10; count++) {
    await call()
    starts.push(await timed(startChild))
    // Wait until the next spare runner is ready.
    await sleep(500)
    // The older of the two runs the plugin, the younger is the spare.
    const [victim] = nodesOf('runner.mjs')
      .filter((pid) => !others.has(pid))
      .sort((a, b) => a - b)
    process.kill(victim as number, 'SIGKILL')
    recoveries.push(
      await timed(async () => {
        for (;;) {
          try {
            return await call()
          } catch {
            // The runner died during the call.
          }
        }
      }),
    )
  }
  crashing.close()

  const startMs = median(starts)
  console.log(`ms: start of a child ${round(startMs)}, load of 100 KB ${round(median(loads))}, recovery ${round(median(recoveries))}`)
  const callMs = (name: keyof typeof table) => table[name]['1 KB call p50 ms']
  console.log(`warm 1 KB call: ${round(callMs('plugin') / callMs('JSON-RPC child'))} times that of a child without an isolate`)
  verdict('warm 1 KB call, ratio to that of a child with an isolate', callMs('plugin') / callMs('child with an isolate'), {
    atMost: BARS.call,
  })
  verdict('load of a 100 KB plugin into a warm runner, ratio to the start of a child', median(loads) / startMs, { atMost: BARS.load })
  verdict('recovery after SIGKILL with a warm spare, ratio to the start of a child', median(recoveries) / startMs, {
    atMost: BARS.recovery,
  })
  verdict(`${PLUGINS} plugins in one runner in MB`, twenty, { atMost: BARS.memoryMb })
  const { answerMs, commandMs } = await measureLists()
  const installed = `${INSTALLED.plugins} plugins with ${INSTALLED.versions} versions each`
  verdict(`the API's list of ${installed} in ms`, answerMs, { atMost: BARS.listMs })
  verdict(`plugin list of ${installed} in ms`, commandMs, { atMost: BARS.listMs })
} finally {
  supervisor.close()
  for (const child of children) child.kill('SIGKILL')
}

/** A call of a child takes hundredths of a millisecond. */
function round(value: number): number {
  return Math.round(value * 1_000) / 1_000
}
