import { readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { type Log, silentLog } from '#core/foundation/log.ts'
import { confinementOf, RunnerProcess } from '#plugins/runtime/runner-process.ts'
import { threadCpuMs, watchTurns } from '#test/support/cpu-time.ts'
import { BUDGET, eventually, openGuests, runnersOf } from '#test/support/guests.ts'
import { onlyCost, someOf } from '#test/support/lane-size.ts'
import { ticksOf } from '#test/support/processes.ts'

t.setTimeout(240_000)

const runnerPath = fileURLToPath(new URL('../../support/hostile-runner.mjs', import.meta.url))
const LONG = { cpuMs: 1_000, wallMs: 60_000 }

t.test('a compromised runner costs only its calls, whatever it sends', async (t) => {
  const { open } = openGuests(t, { runnerPath })
  const { call, fails } = open('act: 0', { concurrency: 1 })
  const other = open('', { place: 'other' })
  await other.call('echo', 1)
  t.equal(await call('echo', 'x'), 'x')
  const before = process.memoryUsage().rss
  const acts = ['strays', 'garbage', 'giant', 'exits', 'others', 'lines', 'requests', 'header', 'hangsUp']
  for (const act of someOf('acts of a runner', acts, 4)) {
    const begun = performance.now()
    const error = await fails('act', { act }, LONG, { onRequest: async () => await sleep(60_000, null, { ref: false }) })
    const tookMs = performance.now() - begun
    t.equal(error.code, 'crash', `${act}: ${error.message}`)
    t.ok(tookMs < 30_000, `${act} was ended after ${Math.round(tookMs)} ms, long before its time was up`)
    t.equal(await other.call('echo', act, LONG), act)
    t.equal(await call('echo', act, LONG), act)
  }
  t.equal(await call('act', { act: 'forges' }), 'first', 'answers to unknown calls, or to calls of others, are ignored')
  t.equal(await call('echo', 'x'), 'x')
  t.equal(await other.call('echo', 'x'), 'x')
  const grownMb = (process.memoryUsage().rss - before) / 1e6
  t.ok(grownMb < 100, `this process has grown by ${Math.round(grownMb)} MB at most meanwhile`)
})

async function sufferCostlyMessages(t: Test): Promise<void> {
  const { open } = openGuests(t, { runnerPath })
  const { call, fails } = open('act: 0', { concurrency: 1 })
  const asked: string[] = []
  const onRequest = async (kind: string) => void asked.push(kind)
  const readLarge = async (_kind: string, body: string) => body.length
  await call('echo', 'x')
  const before = process.memoryUsage().rss
  const acts = ['costlyAnswer', 'costlyLine', 'costlyHeader', 'costlyFailure', 'costlyFetch', 'costlySleep', 'unwanted']
  for (const act of someOf('costly acts of a runner', acts, 3)) {
    t.match(await fails('act', { act }, LONG, { onRequest, readLarge }), { code: 'crash' }, act)
    t.equal(await call('echo', act, LONG), act)
  }
  for (const act of ['deepFetch', 'wideLines']) t.equal(await call('act', { act }, LONG, { onRequest, readLarge }), 'sent', act)
  const grownMb = (process.memoryUsage().rss - before) / 1e6
  t.ok(grownMb < 200, `it has grown by ${Math.round(grownMb)} MB at most meanwhile`)
}

t.test('messages of a runner are judged by kind and length in the header, before the body is read', async (t) => {
  await sufferCostlyMessages(t)
})

t.test('no message of a runner blocks this process', onlyCost, async (t) => {
  const turns = watchTurns()
  await sufferCostlyMessages(t)
  turns.close()
  t.ok(turns.longestMs() < 1_500, `the longest that it stood still is ${Math.round(turns.longestMs())} ms`)
})

/** Returns by how much `cpuMs` has grown during each act. */
async function sufferFloods(t: Test, cpuMs: () => number = () => 0): Promise<Record<string, number>> {
  const costs: Record<string, number> = {}
  const { open } = openGuests(t, { runnerPath })
  const { call, fails } = open('act: 0', { concurrency: 1 })
  await call('echo', 'x')
  for (const act of ['readies', 'pongs', 'fatLine']) {
    const before = cpuMs()
    t.match(await fails('act', { act }, LONG), { code: 'crash' }, act)
    costs[act] = cpuMs() - before
    t.equal(await call('echo', act, LONG), act)
  }
  const before = cpuMs()
  t.match(await fails('act', { act: 'shouts' }, { cpuMs: 10_000, wallMs: 3_000 }), { code: /crash|timeout/ })
  return { ...costs, shouts: cpuMs() - before }
}

t.test('a flood of headers kills the runner, and its standard error is read only up to a limit', async (t) => {
  await sufferFloods(t)
})

t.test('a flood costs this thread little', onlyCost, async (t) => {
  const { shouts = 0, ...others } = await sufferFloods(t, threadCpuMs)
  for (const [act, ms] of Object.entries(others)) t.ok(ms < 1_000, `${act}: ${Math.round(ms)} ms`)
  t.ok(shouts < 500, `${Math.round(shouts)} ms for what it wrote`)
})

t.test('many short messages that are expected are no flood', async (t) => {
  const room = await mkdtemp(join(tmpdir(), 'carrel-runner-process-test-'))
  t.teardown(() => rm(room, { recursive: true, force: true }))
  // As the product's code: readable, because the runner may have another user.
  await chmod(room, 0o755)
  const path = join(room, 'busy-runner.mjs')
  // Three times as many bytes of headers as a second allows, again and again: on a busy machine not every second has so many.
  const messages = 60_000
  await writeFile(
    path,
    `import { writeSync } from 'node:fs'
    const frame = (text) => Buffer.concat([Buffer.from(Uint32Array.of(text.length, 0).buffer), Buffer.from(text)])
    const bytes = Buffer.concat([frame('{"kind":"ready"}'), ...Array(${messages}).fill(frame(JSON.stringify({ kind: 'done', x: 'x'.repeat(80) })))])
    for (let at = 0; ; at %= bytes.length) {
      try {
        at += writeSync(3, bytes, at)
      } catch (error) {
        if (error.code !== 'EAGAIN') throw error
      }
    }`,
  )
  // A runner does not keep this process alive.
  const alive = setInterval(() => {}, 1_000)
  t.teardown(() => clearInterval(alive))
  for (const isWanted of [true, false]) {
    let read = 0
    const { promise, resolve } = Promise.withResolvers<string>()
    const onFrame = () => {
      read += 1
      if (isWanted && read === messages) resolve('all read')
    }
    const listener = { isWanted: () => isWanted, onFrame, onExit: resolve }
    const runner = new RunnerProcess(silentLog, listener, { path, confinement: await confinementOf(silentLog, path) })
    t.teardown(() => runner.kill('closed'))
    t.equal(await promise, isWanted ? 'all read' : 'crash')
    runner.kill('closed')
  }
})

t.test('a runner that stops reading or is suspended is killed, and its queued messages are dropped', async (t) => {
  const { open } = openGuests(t, { runnerPath })
  const { call, fails } = open('act: 0', { concurrency: 16 })
  await call('echo', 1)
  const deaf = fails('act', { act: 'deaf' }, LONG)
  await sleep(50)
  const large = 'x'.repeat(9_000_000)
  const begun = performance.now()
  const lost = Array.from({ length: 10 }, () => fails('echo', large, LONG))
  for (const { code } of await Promise.all([deaf, ...lost])) t.match(code, /crash|timeout/)
  t.ok(performance.now() - begun < 30_000, 'within seconds, not at its deadline')
  t.equal(await call('echo', 2, LONG), 2)

  // The busy runner and the spare: a call misses the first; the other is noticed by its silence.
  for (const pid of runnersOf('hostile-runner.mjs').slice(0, 1)) process.kill(pid, 'SIGSTOP')
  const stopped = fails('act', { act: 'none' }, { cpuMs: 1_000, wallMs: 30_000 })
  t.match(await stopped, { code: /crash|timeout/ })
  t.equal(await call('echo', 3, LONG), 3)
})

t.test('all runners stuck at once: each is killed, and waiting calls are handled', async (t) => {
  const { open, supervisor } = openGuests(t)
  const stuck = Array.from({ length: 6 }, (_, n) =>
    open('indexOf: () => Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)', { place: `stuck ${n}` }),
  )
  const waiting = open('', { place: 'waiting' })
  const failures = stuck.map(({ fails }) => fails('indexOf', null, { cpuMs: 100, wallMs: 1_000 }))
  await eventually(() => supervisor.state().runners >= 6, 'all runners to start')
  t.equal(await waiting.call('echo', 'served', { cpuMs: 1_000, wallMs: 20_000 }), 'served')
  for (const { code } of await Promise.all(failures)) t.match(code, /cpu|timeout|crash/)
})

t.test('an isolate closed inside an uninterruptible function does not keep a core busy', async (t) => {
  const { open } = openGuests(t, { isolation: 'grouped' })
  const [stuck, other] = [
    open(`indexOf: (_, ctx) => { ctx.log.info('begins'); return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1) }`),
    open('', { place: 'other' }),
  ]
  await Promise.all([stuck.call('echo', 1), other.call('echo', 1)])
  const [runner] = runnersOf()
  const begun = Promise.withResolvers<void>()
  const closed = stuck.fails('indexOf', null, { cpuMs: 5_000, wallMs: 50_000 }, { onOutput: () => begun.resolve() })
  await begun.promise
  // Its line is sent just before the function that cannot be interrupted: it may still wait for a core, and is inside once it computes.
  const before = ticksOf([runner as number])
  await eventually(() => ticksOf([runner as number]) > before + 10, 'the function to compute')
  stuck.guest.close()
  t.match(await closed, { code: 'closed' })
  await eventually(() => !runnersOf().includes(runner as number), 'its runner to end')
  t.equal(await other.call('echo', 2), 2)
})

/** Counts log lines. */
function countingLog() {
  const said: string[] = []
  const log = { ...silentLog, warn: (_: unknown, message: string) => void said.push(message) } as Log
  return { said, log }
}

t.test('code that keeps crashing is not restarted in a loop', async (t) => {
  const { said, log } = countingLog()
  const { open } = openGuests(t, { log })
  const { fails } = open(
    '',
    { place: 'looping', load: { cpuMs: 50, wallMs: 500 } },
    'Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)',
  )
  const other = open('', { place: 'other' })
  const deadline = performance.now() + 4_000
  let tries = 0
  while (performance.now() < deadline) {
    tries += 1
    t.match(await fails('echo', null, LONG), { code: /cpu|timeout|crash|load/ })
    t.equal(await other.call('echo', tries, LONG), tries, 'other plugins do not wait for it')
  }
  t.ok(tries <= 7, `${tries} tries in four seconds: each waits longer than the one before`)

  // Without a spare, whose death would count as well if it came before that of a runner which stands still.
  const none = openGuests(t, { log, runnerPath: '/nowhere/runner.mjs', spare: false })
  const before = said.length
  const unstarted = none.open('')
  t.match(await unstarted.fails('echo', null, LONG), { code: 'crash' }, 'a runner that cannot start is tried three times')
  const { length } = said.slice(before).filter((message) => message === 'A plugin runner died')
  t.equal(length, 3)
})

t.test('a compromised runner has no privileges, no secrets and no network', async (t) => {
  const door = http.createServer().listen(0, '127.0.0.1')
  t.teardown(() => door.close())
  const said: string[] = []
  const { open } = openGuests(t, {
    runnerPath,
    log: { ...silentLog, warn: (fields, message) => said.push(`${message} ${JSON.stringify(fields)}`) },
  })
  const { call } = open('act: 0')
  await call('echo', 1)
  process.kill(runnersOf('hostile-runner.mjs')[0] as number, 'SIGUSR1')
  const found = (await call('act', { act: 'explore', port: (door.address() as AddressInfo).port }, LONG)) as Record<string, unknown>
  t.notMatch(said.join(), /Debugger|SIGUSR1/, 'no signal starts a debugger or ends the process')
  t.same(found['environment'], [])
  t.equal(found['words'], 2)
  for (const act of ['read', 'readOwnEnvironment', 'readServer', 'list', 'write', 'spawn', 'worker', 'inspector', 'wasi'])
    t.equal(found[act], 'ERR_ACCESS_DENIED', act)
  t.same((found['descriptors'] as string[])[3], 'true', 'its only socket')

  const [pid] = runnersOf('hostile-runner.mjs') as [number]
  t.equal(readFileSync(`/proc/${pid}/environ`, 'latin1'), '')
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  const isConfined = /CapEff:\s*0+\n/.test(status)
  if (isConfined) {
    t.match(status, /NoNewPrivs:\s*1/)
    t.match(status, /CapBnd:\s*0+\n/)
  } else t.comment('this system has no setpriv')
  // Root sees the interfaces of any process; otherwise the attempt itself must show it.
  const interfaces = readFileSync(`/proc/${pid}/net/dev`, 'latin1').match(/^\s*\w+:/gm) ?? []
  if (interfaces.length === 1) t.match(String(found['connect']), /ECONNREFUSED|ENETUNREACH|EADDRNOTAVAIL/, 'its network is empty')
  else t.comment('this system cannot isolate a process from the network')
  const files = readdirSync(`/proc/${pid}/fd`).map(Number)
  t.ok(files.includes(3) && files.length < 30, `${files.length} descriptors: three of its own, the socket, and those of its event loop`)

  t.same(
    Object.keys(createRequire(import.meta.url).cache).filter((path) => path.includes('isolated-vm')),
    [],
    'this process has not loaded the addon',
  )
})

t.test('a healthy runner enforces budgets while another is stuck', async (t) => {
  const { open } = openGuests(t)
  const [bad, good] = [open('loop: () => { for (;;); }', { place: 'bad' }), open('', { place: 'good' })]
  await Promise.all([bad.call('echo', 1), good.call('echo', 1)])
  const looping = bad.fails('loop', null, { cpuMs: 1_000, wallMs: 3_000 })
  const times: number[] = []
  for (let n = 0; n < 50; n++) {
    const begun = performance.now()
    await good.call('echo', n, BUDGET)
    times.push(performance.now() - begun)
  }
  t.match(await looping, { code: /cpu|timeout/ })
  times.sort((a, b) => a - b)
  t.ok((times[25] as number) < 100, `half of the calls of another took less than ${Math.round(times[25] as number)} ms`)
})

t.test('the parent of a killed runner reaps it, regardless of the first process of the system', async (t) => {
  const { open, supervisor } = openGuests(t)
  await open('echo: (value) => value').call('echo', 1)
  const [pid] = runnersOf() as [number]
  const parentOf = () => {
    try {
      return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1])
    } catch {
      return null
    }
  }
  const parent = parentOf()
  const parents = new Set<number>()
  const watch = setInterval(() => {
    const now = parentOf()
    if (now !== null) parents.add(now)
  }, 1)
  supervisor.close()
  await eventually(() => parentOf() === null, 'the end of the runner')
  clearInterval(watch)
  parents.delete(parent as number)
  t.same([...parents], [], 'it was never a child of another process')
})
