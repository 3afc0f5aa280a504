/**
 * How long a cold `npm start` takes until the first response, with a library that was scanned before, and how the time is spent.
 * `npm run bench:start [-- --library FOLDER] [-- --files 500] [-- --rounds 7]`
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { median } from '#bench/load.ts'
import { writeSmallLibrary } from '#bench/small-library.ts'
import { verdict } from '#bench/verdict.ts'
import { freePort } from '#test/support/free-port.ts'

const { values } = parseArgs({
  options: { library: { type: 'string' }, files: { type: 'string', default: '500' }, rounds: { type: 'string', default: '7' } },
})
/** Users wait this long without noticing. */
const FIRST_ANSWER_MS_MAX = 2_500
const READY_MS_MAX = 600_000
const STEP_MS = 20

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'carrel-bench-start-'))

interface Start {
  firstAnswerMs: number
  /** As the server logs it. */
  split: string
}

/** Starts the server as a user does, sends requests until one is answered, and stops it. @param untilReady also waits for the first scan */
async function start(args: readonly string[], untilReady: boolean): Promise<Start> {
  const port = await freePort()
  const began = performance.now()
  const child = spawn('npm', ['start', '--silent', '--', '--data-dir', join(folder, 'data'), '--port', String(port), ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = once(child, 'exit')
  try {
    await until(
      child,
      () => answers(port),
      READY_MS_MAX,
      () => output,
    )
    const firstAnswerMs = performance.now() - began
    if (untilReady)
      await until(
        child,
        async () => output.includes('is ready'),
        READY_MS_MAX,
        () => output,
      )
    else
      await until(
        child,
        async () => output.includes('Started in'),
        READY_MS_MAX,
        () => output,
      )
    return { firstAnswerMs, split: /Started in .*/.exec(output)?.[0] ?? '' }
  } finally {
    child.kill('SIGTERM')
    await ended
  }
}

async function answers(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/health`)).ok
  } catch {
    return false
  }
}

async function until(child: ChildProcess, isSo: () => Promise<boolean>, withinMs: number, output: () => string): Promise<void> {
  const end = performance.now() + withinMs
  while (!(await isSo())) {
    if (child.exitCode !== null || performance.now() > end) throw new Error(`The server did not start:\n${output()}`)
    await sleep(STEP_MS)
  }
}

try {
  const library = values.library ?? join(folder, 'library')
  if (values.library === undefined) writeSmallLibrary(library, Number(values.files))
  await start(['--library', library], true)
  const starts: Start[] = []
  for (let round = 0; round < Number(values.rounds); round++) {
    starts.push(await start([], false))
    console.log(`first answer ${Math.round(starts.at(-1)!.firstAnswerMs)} ms; ${starts.at(-1)!.split}`)
  }
  const times = starts.map(({ firstAnswerMs }) => firstAnswerMs)
  console.log(`spread ${Math.round(Math.min(...times))} to ${Math.round(Math.max(...times))} ms`)
  verdict('npm start to first answer, ms', median(times), { atMost: FIRST_ANSWER_MS_MAX })
} finally {
  rmSync(folder, { recursive: true, force: true })
}
