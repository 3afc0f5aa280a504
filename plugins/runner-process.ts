import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import { dirname, join } from 'node:path'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Log } from '#core/log.ts'
import { createFrameReader, frameOf } from './runner/frame.mjs'

/** One runner, as the server sees it. */
export interface RunnerProcess {
  readonly pid: number
  /** Rejects when it dies before. */
  readonly ready: Promise<void>
  send(header: object, body?: string): void
  /** At once, whatever it is doing. */
  kill(reason: Death): void
  /** Resident memory in bytes; 0 where the system does not tell. */
  residentBytes(): number
}

/** Why a runner died: by our hand with a reason, or by itself. */
export type Death = 'memory' | 'timeout' | 'closed' | 'crash'

export interface Listener {
  onFrame(header: unknown, body: string): void
  onDeath(reason: Death): void
}

const folder = fileURLToPath(new URL('runner/', import.meta.url))
const packageOf = (name: string) => dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))

/**
 * Node's own permissions: no files but its code and the addon, no processes, no threads, no inspector. What they do not cover is the network,
 * so nothing that a runner could send is ever in it. `--no-node-snapshot` is what isolated-vm asks for.
 */
const FLAGS = [
  '--no-node-snapshot',
  '--permission',
  '--allow-addons',
  ...[
    join(folder, '*'),
    join(packageOf('isolated-vm'), '*'),
    // isolated-vm looks with it for the build that fits this machine, and it looks for this file.
    join(packageOf('node-gyp-build'), '*'),
    '/etc/alpine-release',
  ].map((path) => `--allow-fs-read=${path}`),
  // The warning that addons may be loaded is meant for whoever did not know.
  '--disable-warning=PERM0001',
]

/** Tools that watch a server slip their own variables into whatever it starts; where there is `env`, they are taken out again. */
const ENV = '/usr/bin/env'
const [command, prefix] = existsSync(ENV) ? [ENV, ['-i', process.execPath]] : [process.execPath, []]

/** What a runner writes on its standard error is at most this much of the log; it has no reason to write any. */
const STDERR_BYTES_MAX = 16 * 1024
const PAGE_BYTES = 4_096

export function startRunner(log: Log, listener: Listener): RunnerProcess {
  const child = spawn(command, [...prefix, ...FLAGS, join(folder, 'runner.mjs')], {
    // Nothing of the server's environment: no secrets, no proxies, no options for Node.
    env: {},
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  })
  const socket = child.stdio[3] as Duplex
  const pid = child.pid ?? 0
  let death: Death | null = null
  let dead = false
  let begun: { resolve: () => void; reject: (error: Error) => void } | null = null
  const ready = new Promise<void>((resolve, reject) => {
    begun = { resolve, reject }
  })
  ready.catch(() => {})

  const die = () => {
    if (dead) return
    dead = true
    socket.destroy()
    begun?.reject(new Error('the runner ended before it was ready'))
    listener.onDeath(death ?? 'crash')
  }
  const kill = (reason: Death) => {
    death ??= reason
    child.kill('SIGKILL')
  }

  const read = createFrameReader((header, body) => {
    if ((header as { kind?: unknown } | null)?.kind === 'ready') begun?.resolve()
    else listener.onFrame(header, body)
  })
  socket.on('data', (chunk: Buffer) => {
    if (dead) return
    try {
      read(chunk)
    } catch (error) {
      log.error({ err: error, pid }, 'A plugin runner does not keep to the protocol and was ended')
      kill('crash')
    }
  })
  socket.on('error', () => kill('crash'))
  let written = 0
  child.stderr?.on('data', (chunk: Buffer) => {
    if (written > STDERR_BYTES_MAX) return
    written += chunk.length
    log.warn({ pid, text: chunk.toString('utf8', 0, STDERR_BYTES_MAX) }, 'A plugin runner wrote on its standard error')
  })
  child.on('error', die)
  child.on('exit', (code, signal) => {
    if (death === null) log.warn({ pid, code, signal }, 'A plugin runner died')
    die()
  })
  offerToTheKernel(pid)
  yieldToOthers(pid)
  // It lives no longer than the server, and keeps nobody waiting for it.
  child.unref()
  ;(socket as unknown as { unref?: () => void }).unref?.()
  ;(child.stderr as unknown as { unref?: () => void } | null)?.unref?.()

  return {
    pid,
    ready,
    send: (header, body) => {
      if (!dead) socket.write(frameOf(header, body))
    },
    kill,
    residentBytes: () => residentBytes(pid),
  }
}

/** A third of what others get where the processor is short; much less, and honest calls would run out of time during a scan. */
const NICE = 5

/** Where the processor is short, readers come before plugins. */
function yieldToOthers(pid: number): void {
  try {
    os.setPriority(pid, NICE)
  } catch {
    // It is a courtesy too.
  }
}

/** When memory runs out, a runner goes before the server or the database. */
function offerToTheKernel(pid: number): void {
  try {
    if (existsSync(`/proc/${pid}/oom_score_adj`)) writeFileSync(`/proc/${pid}/oom_score_adj`, '1000')
  } catch {
    // A system that does not know this, or does not let us: it is a courtesy, nothing depends on it.
  }
}

function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE_BYTES
  } catch {
    return 0
  }
}
