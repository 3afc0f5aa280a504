import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { onlyFull, sizeOf } from '#test/support/lane-size.ts'

t.setTimeout(120_000)

const TURNS = sizeOf('turns of a debugger', { main: 10, full: 30 })
const sandboxUrl = new URL('../../../../plugins/runtime/runner/sandbox.mjs', import.meta.url).href

/** Opens isolates one after another, debugs each with `debug`, closes it, and prints their number. */
const programOf = (debug: string) => `
  import { openSandbox } from ${JSON.stringify(sandboxUrl)}
  import { setTimeout as sleep } from 'node:timers/promises'
  const limits = { isPlugin: false, isInspected: true, memoryMbMax: 16, loadCpuMs: 5_000, loadWallMs: 10_000, methods: [], requestLengths: {},
    resultLength: 1_000, hostCalls: 0, inFlight: 0, logLines: 0, logLength: 0 }
  const sources = [{ name: 'test.js', code: 'register({ echo: (x) => x, spin: () => { for (;;); } })' }]
  const enable = (inspection) => {
    inspection.attach()
    for (const [at, method] of ['Runtime.enable', 'Debugger.enable'].entries()) inspection.send(JSON.stringify({ id: at + 1, method }))
  }
  const call = (sandbox, name) => sandbox.call({ id: 1, name, text: '1', budget: { cpuMs: 30, wallMs: 5_000 } })
  let ended = 0
  for (let turn = 0; turn < ${TURNS}; turn++) {
    let inspection, heard
    const answered = new Promise((resolve) => { heard = resolve })
    const listener = { onAnswer: heard, onRequest() {}, onEnd: heard,
      debugging: { onOpen(opened) { inspection = opened }, onMessage() {} } }
    const opening = openSandbox(sources, limits, listener)
    ${debug}
    ended += 1
  }
  console.log(ended)
`

async function run(debug: string): Promise<string> {
  const options = ['--no-node-snapshot', '--input-type=module', '--eval', programOf(debug)]
  const { stdout } = await promisify(execFile)(process.execPath, options)
  return stdout.trim()
}

t.test('an isolate that is closed with its debugger does not crash the process', async (t) => {
  const debug = `enable(inspection); inspection.begin(); const sandbox = await opening; call(sandbox, 'echo'); await answered; sandbox.close()`
  t.equal(await run(debug), String(TURNS))
})

t.test('an isolate that is closed just after its debugger has disconnected does not crash the process', async (t) => {
  const debug = `enable(inspection); inspection.begin(); const sandbox = await opening; call(sandbox, 'echo'); await answered
    inspection.detach(); sandbox.close()`
  t.equal(await run(debug), String(TURNS))
})

t.test('an isolate that exceeds a limit after its debugger has disconnected does not crash the process', onlyFull, async (t) => {
  const debug = `enable(inspection); inspection.begin(); const sandbox = await opening; call(sandbox, 'spin'); await sleep(5)
    inspection.detach(); await answered; sandbox.close()`
  t.equal(await run(debug), String(TURNS))
})

t.test('an isolate whose debugger connects repeatedly does not crash the process', async (t) => {
  const debug = `inspection.begin(); const sandbox = await opening
    for (let time = 0; time < 5; time++) { enable(inspection); inspection.detach() }
    call(sandbox, 'echo'); await answered; enable(inspection); sandbox.close()`
  t.equal(await run(debug), String(TURNS))
})
