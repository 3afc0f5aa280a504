import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'

t.setTimeout(240_000)

const sandboxUrl = new URL('../../../../plugins/runtime/runner/sandbox.mjs', import.meta.url).href

/** Runs code with an open isolate of a plugin, in a process that isolated-vm requires, and returns what it reports. */
async function run(plugin: string, code: string): Promise<unknown> {
  const program = `
    import { openSandbox } from ${JSON.stringify(sandboxUrl)}
    import { setTimeout as sleep } from 'node:timers/promises'
    const limits = { isPlugin: true, memoryMbMax: 16, loadCpuMs: 5_000, loadWallMs: 10_000, methods: ['a.b'], requestLengths: { sleep: 100 },
      resultLength: 1_000, hostCalls: 10, inFlight: 8, logLines: 0, logLength: 0 }
    const requests = []
    const uncaught = []
    const answered = Promise.withResolvers()
    const ended = Promise.withResolvers()
    const sandbox = await openSandbox([{ name: 'main.js', code: ${JSON.stringify(`export default { a: { b: ${plugin} } }`)}, module: true }], limits, {
      onAnswer: (kind, id, text) => answered.resolve({ kind, text }),
      onRequest: (kind, id) => requests.push(id),
      onUncaught: (id, message) => uncaught.push(message),
      onEnd: (code, message, isStuck) => ended.resolve({ code, isStuck }),
      debugging: { onOpen() {}, onMessage() {} },
    })
    const call = (id, budget) => sandbox.call({ id, name: 'a.b', text: '1', more: '{"plugin":{},"config":{},"userConfig":{}}', budget })
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    ${code}
    // A debugger that was attached to long code keeps the process alive.
    sandbox.close()
  `
  const options = ['--no-node-snapshot', '--input-type=module', '--eval', program]
  const { stdout } = await promisify(execFile)(process.execPath, options, { timeout: 60_000 })
  return JSON.parse(stdout) as unknown
}

/** Runs until no isolate counts as stuck: on a busy machine V8 may get no processor within the time that it has to end the code. */
async function runUnstuck(plugin: string, code: string): Promise<unknown> {
  let result = await run(plugin, code)
  for (let tries = 1; tries < 3 && JSON.stringify(result).includes('"isStuck":true'); tries++) result = await run(plugin, code)
  return result
}

t.test('code that an answer of the server continues is ended, also when its call has ended before', async (t) => {
  const plugin = '(value, { sleep }) => { sleep(1).then(() => { for (;;); }); return value }'
  const code = `
    call(1, { cpuMs: 500, wallMs: 5_000 })
    const answer = await answered.promise
    // Longer than a check of an idle isolate.
    await sleep(100)
    sandbox.reply(requests[0], 'ok', 'null')
    console.log(JSON.stringify([answer, await Promise.race([ended.promise, sleep(20_000, 'runs on', { ref: false })])]))`
  t.same(await runUnstuck(plugin, code), [
    { kind: 'done', text: '1' },
    { code: 'cpu', isStuck: false },
  ])
})

t.test('a call that exceeds its time is ended', async (t) => {
  const code = `
    call(1, { cpuMs: 60_000, wallMs: 200 })
    console.log(JSON.stringify(await ended.promise))`
  t.same(await runUnstuck('() => { for (;;); }', code), { code: 'timeout', isStuck: false })
  t.same(await runUnstuck('() => new Promise(() => {})', code), { code: 'timeout', isStuck: false }, 'it waits')
})

t.test('an idle isolate has no timer', async (t) => {
  const code = `
    call(1, { cpuMs: 500, wallMs: 5_000 })
    await answered.promise
    const during = timers()
    // The timer of the call would have run by then.
    await sleep(200)
    console.log(JSON.stringify([during, timers()]))`
  t.same(await run('(value) => value', code), [1, 0])
})

t.test('a call or an answer for an isolate that has just been ended is ignored', async (t) => {
  const code = `
    sandbox.close()
    call(1, { cpuMs: 500, wallMs: 5_000 })
    sandbox.reply(1, 'ok', 'null')
    // An error of the late answer would have ended the process by then.
    await sleep(300)
    console.log(JSON.stringify('runs'))`
  t.equal(await run('(value) => value', code), 'runs')
})

t.test('a rejection is known before the answer, however slowly the code comes to it', async (t) => {
  // Longer than some checks of a running isolate.
  const plugin = `(value) => {
    void Promise.resolve().then(() => {}).then(() => {
      for (const until = Date.now() + 60; Date.now() < until; );
      throw new Error('nobody waits for me')
    })
    return value
  }`
  const code = `
    call(1, { cpuMs: 5_000, wallMs: 30_000 })
    console.log(JSON.stringify([await answered.promise, [...uncaught]]))`
  t.same(await run(plugin, code), [{ kind: 'done', text: '1' }, ['nobody waits for me']])
})
