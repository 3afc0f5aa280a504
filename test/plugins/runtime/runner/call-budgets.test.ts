import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { CallBudgets } from '#plugins/runtime/runner/call-budgets.mjs'

type Isolate = ConstructorParameters<typeof CallBudgets>[0]

/** An isolate that claims `ms` of CPU time, in a process with the same. */
function openBudgets() {
  const isolate = { isDisposed: false, cpuTime: 0n }
  const budgets = new CallBudgets(isolate as unknown as Isolate)
  const compute = (ms: number) => {
    const { user, system } = process.cpuUsage()
    while (process.cpuUsage().user + process.cpuUsage().system - user - system < ms * 1e3);
    isolate.cpuTime += BigInt(ms) * 1_000_000n
  }
  return { isolate, budgets, compute }
}

t.test('a call that exceeds its CPU or time budget is reported', async (t) => {
  const { budgets, compute } = openBudgets()
  budgets.begin(1, { cpuMs: 20, wallMs: 60_000 })
  t.equal(budgets.check(), null)
  compute(30)
  t.match(budgets.check(), { code: 'cpu', message: /20 ms/ })
  t.ok((budgets.finish(1)?.cpuMs ?? 0) >= 29)
  t.equal(budgets.finish(1), null, 'it is no longer running')
  t.equal(budgets.check(), null)
  budgets.begin(2, { cpuMs: 1_000, wallMs: 5 })
  await sleep(10)
  t.match(budgets.check(), { code: 'timeout', message: /5 ms/ })
})

t.test('code that continues after its answer is reported', async (t) => {
  const { budgets, compute } = openBudgets()
  budgets.begin(1, { cpuMs: 1_000, wallMs: 60_000 })
  budgets.finish(1)
  compute(50)
  t.equal(budgets.check(), null)
  compute(60)
  t.match(budgets.check(), { code: 'cpu', message: /continued to use/ })
})

t.test('while a debugger is attached, no time counts for a budget', async (t) => {
  const { budgets, compute } = openBudgets()
  budgets.begin(1, { cpuMs: 20, wallMs: 60_000 })
  await sleep(2)
  compute(30)
  budgets.noteDebugging()
  t.equal(budgets.check(), null)
  compute(30)
  t.match(budgets.check(), { code: 'cpu' })
})

t.test('waiting for a core does not count', async (t) => {
  const { isolate, budgets } = openBudgets()
  budgets.begin(1, { cpuMs: 200, wallMs: 60_000 })
  isolate.cpuTime += 1_000_000_000n
  t.equal(budgets.check(), null, 'the process has used less CPU time')
})

t.test('a disposed isolate is not queried', async (t) => {
  const { isolate, budgets } = openBudgets()
  budgets.begin(1, { cpuMs: 20, wallMs: 60_000 })
  isolate.isDisposed = true
  Object.defineProperty(isolate, 'cpuTime', {
    get() {
      throw new Error('Isolate is disposed')
    },
  })
  t.equal(budgets.finish(1)?.cpuMs, 0)
  t.equal(budgets.size, 0)
})
