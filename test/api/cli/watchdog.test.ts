import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { describeStall, suspectsOf, takeStall } from '#api/cli/watchdog.ts'
import { onlyFull } from '#test/support/lane-size.ts'

const program = fileURLToPath(new URL('../../support/stalling-child.ts', import.meta.url))
const BOOK = '6f1f8a1e-0000-4000-8000-000000000001'

async function start(t: Test, how: string, stallMs: number, flags: string[] = []) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'carrel-watchdog-'))
  // The test runner would load itself into the child too, and take its signals.
  const command = ['-u', 'NODE_OPTIONS', process.execPath, ...flags, program, folder, String(stallMs), how]
  const child = spawn('env', command, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
    await rm(folder, { recursive: true, force: true })
  })
  const said = async (text: string) => {
    while (!output.includes(text) && child.exitCode === null && child.signalCode === null) await sleep(20)
  }
  return { folder, child, ended, said, output: () => output }
}

for (const how of ['loop', 'native', 'pattern']) {
  t.test(`a blocked main thread (${how}) ends the process, and its current work is recorded`, async (t) => {
    const { folder, ended, output } = await start(t, how, 1_000)
    t.same(await ended, [null, 'SIGVTALRM'])
    t.match(output(), /was blocked for .* file \/books\/a\.cbz/)
    const stall = await takeStall(folder)
    t.match(stall, {
      last: { kind: 'file', name: `/books/a.cbz (book ${BOOK})` },
      open: [{ kind: 'request', name: 'GET /api/v1/idle 1' }, { kind: 'file' }],
      omitted: 0,
    })
    t.same(suspectsOf(stall!), { bookIds: [BOOK], taskIds: [] })
    if (how === 'loop') t.match(stall!.stack[0], /runsInALoop .*stalling-child\.ts:\d+/, 'with the blocking function')
    t.match(describeStall(stall!), /Last work: file .* Also open: request GET/)
    t.equal(await takeStall(folder), null, 'it is reported once')
  })
}

t.test('a process that was stopped for longer does not count as blocked', onlyFull, async (t) => {
  const { folder, child, ended, said, output } = await start(t, 'nothing', 4_000)
  await said('ready')
  // It has begun to watch itself.
  await sleep(500)
  child.kill('SIGSTOP')
  // Longer than the limit of the watchdog.
  await sleep(6_000)
  child.kill('SIGCONT')
  t.same(await ended, [0, null])
  t.match(output(), /ended/, 'it continued')
  t.notOk(existsSync(path.join(folder, 'stall.json')))
})

t.test('a process under a debugger is not monitored', async (t) => {
  const { child, ended, said } = await start(t, 'native', 500, ['--inspect=127.0.0.1:0'])
  await said('ready')
  t.equal(await Promise.race([ended, sleep(3_000, 'it stands')]), 'it stands')
  child.kill('SIGKILL')
})

t.test('an unreadable report is deleted all the same', async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'carrel-watchdog-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  for (const text of ['', '{"open":', '[]', 'null', '{"open":1}']) {
    writeFileSync(path.join(folder, 'stall.json'), text)
    t.equal(await takeStall(folder), null, text)
    t.notOk(existsSync(path.join(folder, 'stall.json')))
  }
})
