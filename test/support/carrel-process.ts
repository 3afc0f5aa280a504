import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { findPostmaster } from '#core/embedded/postmaster.ts'

export const root = fileURLToPath(new URL('../..', import.meta.url))
/** The server's program, without the launcher. */
const main = path.join(root, 'api', 'main.ts')
const START_MS = 60_000
export const ADMIN = { username: 'ada', password: 'correct horse 1' }

export interface Running {
  child: ChildProcess
  url: string
  output(): string
  said(pattern: RegExp): Promise<void>
  ended: Promise<{ code: number | null; signal: string | null; output: string }>
}

function cleanEnvironment(env: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(CARREL_|DATABASE_URL|INIT_CWD|npm_|TAP)/.test(name))
  // The books of tests are new, and complete.
  return { ...Object.fromEntries(kept), CARREL_QUIET_SECONDS: '0', CARREL_WATCH: 'false', ...env }
}

export function spawnCarrel(
  args: string[],
  options: { program?: string[]; run?: readonly string[]; env?: NodeJS.ProcessEnv; cwd?: string; input?: string } = {},
): Omit<Running, 'url'> {
  const [program, ...words] = options.run ?? [process.execPath, ...(options.program ?? [main])]
  const child = spawn(program!, [...words, ...args], {
    cwd: options.cwd ?? root,
    env: cleanEnvironment(options.env),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin!.end(options.input ?? '')
  let output = ''
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (chunk) => {
      output += chunk
    })
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, output }))
  return {
    child,
    ended,
    output: () => output,
    async said(pattern) {
      const until = Date.now() + START_MS
      while (!pattern.test(output)) {
        if (child.exitCode !== null || child.signalCode !== null || Date.now() > until)
          throw new Error(`It never said ${pattern}:\n${output}`)
        await sleep(20)
      }
    },
  }
}

export async function startCarrel(
  t: Test,
  dataFolder: string,
  args: string[] = [],
  options: Parameters<typeof spawnCarrel>[1] = {},
): Promise<Running> {
  const running = spawnCarrel(['--data-dir', dataFolder, '--port', '0', '--workers', '1', ...args], options)
  t.teardown(async () => {
    if (running.child.exitCode === null && running.child.signalCode === null) running.child.kill('SIGTERM')
    await running.ended
  })
  await running.said(/Listening on http/)
  return { ...running, url: /Listening on (http:\S+)/.exec(running.output())![1]! }
}

export async function runCommand(args: string[], options: Parameters<typeof spawnCarrel>[1] = {}) {
  return await spawnCarrel(args, options).ended
}

export async function makeRoom(t: Test): Promise<string> {
  const room = await mkdtemp(path.join(os.tmpdir(), 'carrel-process-test-'))
  t.teardown(() => rm(room, { recursive: true, force: true }))
  return room
}

export async function stopCarrel(t: Test, running: Omit<Running, 'url'>, dataFolder: string): Promise<void> {
  running.child.kill('SIGTERM')
  const { code, output } = await running.ended
  t.equal(code, 0, 'it ends with 0')
  t.match(output, /Stopped/)
  t.equal(await findPostmaster(path.join(dataFolder, 'postgres')), null, 'PostgreSQL has stopped')
}

/** Whether a process has ended; a zombie counts as ended. */
export async function awaitExit(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 1_000; tries++) {
    const state = /^.*\) (\S)/s.exec(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''))?.[1]
    if (state === undefined || state === 'Z') return true
    await sleep(20)
  }
  return false
}
