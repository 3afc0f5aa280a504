import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'

const PROGRAM = `
  import { receiveStopSignal } from ${JSON.stringify(new URL('../../../core/foundation/stop-signal.ts', import.meta.url).href)}
  const stop = receiveStopSignal()
  const alive = setInterval(() => {}, 1_000)
  stop.addEventListener('abort', () => {
    console.log('stopping')
    if (process.argv[1] !== 'slow') clearInterval(alive)
  })
  console.log('ready')`

async function start(kind: string): Promise<{ child: ChildProcess; line: () => Promise<string> }> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM, kind], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
  const line = async () => String((await once(child.stdout!, 'data'))[0]).trim()
  t.equal(await line(), 'ready')
  return { child, line }
}

t.test('a signal requests a stop, and the program ends when its work has ended', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    const { child, line } = await start('quick')
    const ended = once(child, 'exit')
    const said = line()
    child.kill(signal)
    t.equal(await said, 'stopping')
    t.same(await ended, [0, null], signal)
  }
})

t.test('the end of the launcher requests a stop', async (t) => {
  const { child, line } = await start('quick')
  const ended = once(child, 'exit')
  const said = line()
  child.disconnect()
  t.equal(await said, 'stopping')
  t.same(await ended, [0, null])
})

t.test('two signals from one Ctrl-C count as one, a later one ends the process at once', async (t) => {
  const { child, line } = await start('slow')
  const ended = once(child, 'exit')
  const said = line()
  // At once, as from a terminal, and of two kinds, because the system joins equal signals that wait.
  child.kill('SIGINT')
  child.kill('SIGTERM')
  t.equal(await said, 'stopping')
  // It would have ended by then.
  await sleep(1_000)
  t.equal(child.exitCode, null)
  child.kill('SIGINT')
  t.same(await ended, [130, null])
})
