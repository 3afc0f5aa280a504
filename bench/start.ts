/**
 * How long a cold `npm start` takes until the first response, with a library that was scanned before, and how the time is spent; beside the start of the
 * same PostgreSQL cluster by itself and of a Node that only loads the modules of the server and answers.
 * `npm run bench:start [-- --library FOLDER] [-- --files 500] [-- --rounds 7]`
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { NODE_FLAGS, tunedEnvironment } from '#api/node-tuning.mjs'
import { ratioOf } from '#bench/side-by-side.ts'
import { writeSmallLibrary } from '#bench/small-library.ts'
import { verdict } from '#bench/verdict.ts'
import { launchPostgres } from '#core/embedded/launch-postgres.ts'
import { findPostgresRunner } from '#core/embedded/postgres-binaries.ts'
import { freePort } from '#test/support/free-port.ts'

const { values } = parseArgs({
  options: { library: { type: 'string' }, files: { type: 'string', default: '500' }, rounds: { type: 'string', default: '7' } },
})
/** Of the time in which the database and a bare Node start, one after the other; a Node that loads nothing would measure only how many modules there are. */
const RATIO_MAX = 1.6
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

/** The cluster of the server, on a port; whether it accepts the user does not matter. */
async function startDatabase(): Promise<number> {
  const port = await freePort()
  const cluster = join(folder, 'data', 'postgres')
  const runner = await findPostgresRunner(join(folder, 'data'))
  const began = performance.now()
  const child = launchPostgres(runner, cluster, [
    '-D',
    cluster,
    '-c',
    'listen_addresses=127.0.0.1',
    '-c',
    `port=${port}`,
    '-c',
    'unix_socket_directories=',
  ])
  for (const stream of [child.stdout, child.stderr]) stream?.resume()
  const ended = once(child, 'exit')
  try {
    await until(
      child,
      () => accepts(port),
      READY_MS_MAX,
      () => 'PostgreSQL did not accept connections',
    )
    return performance.now() - began
  } finally {
    child.kill('SIGINT')
    await ended
  }
}

async function accepts(port: number): Promise<boolean> {
  const client = new Client({ host: '127.0.0.1', port, user: 'nobody', database: 'postgres' })
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } catch (error) {
    // Refused by its rules rather than by the socket, or because it still starts (57P03).
    const { code } = error as { code?: string }
    return code !== undefined && /^28/.test(code)
  } finally {
    await client.end().catch(() => {})
  }
}

async function startNode(): Promise<number> {
  const port = await freePort()
  const program = `
    await Promise.all(['api/compose.ts', 'api/server.ts'].map((file) => import('${pathToFileURL(root)}' + file)))
    const { createServer } = await import('node:http')
    createServer((_, answer) => answer.end()).listen(${port}, '127.0.0.1')`
  const began = performance.now()
  const child = spawn(process.execPath, [...NODE_FLAGS, '--input-type=module', '-e', program], {
    stdio: 'ignore',
    env: tunedEnvironment(process.env),
  })
  const ended = once(child, 'exit')
  try {
    await until(
      child,
      () => answers(port),
      READY_MS_MAX,
      () => 'Node did not answer',
    )
    return performance.now() - began
  } finally {
    child.kill('SIGKILL')
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
  const parts: { database: number; node: number }[] = []
  for (let round = 0; round < Number(values.rounds); round++) {
    const started = await start([], false)
    const bare = { database: await startDatabase(), node: await startNode() }
    starts.push(started)
    parts.push(bare)
    const [first, database, node] = [started.firstAnswerMs, bare.database, bare.node].map(Math.round)
    console.log(`first answer ${first} ms; bare: database ${database} ms, Node ${node} ms; ${started.split}`)
  }
  const { ratio, note } = ratioOf(
    starts.map(({ firstAnswerMs }) => firstAnswerMs),
    parts.map(({ database, node }) => database + node),
  )
  console.log(note)
  verdict('npm start to first answer, ratio to the database and a bare Node', ratio, { atMost: RATIO_MAX })
} finally {
  rmSync(folder, { recursive: true, force: true })
}
