import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import { dirname, join } from 'node:path'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Log } from '#core/foundation/log.ts'
import { type Confinement, findConfinement } from './confinement.ts'
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
  /** Asked with the header of a frame before its body is read; see the reader of frames. */
  isWanted(header: unknown, bodyBytes: number): boolean
  onFrame(header: unknown, body: string): void
  onDeath(reason: Death): void
}

const folder = fileURLToPath(new URL('runner/', import.meta.url))
const RUNNER = join(folder, 'runner.mjs')
const packageOf = (name: string) => dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))

/**
 * Node's own permissions: no files but its code and the addon, no processes, no threads, no inspector. What they do not cover is the network,
 * so nothing that a runner could send is ever in it. `--no-node-snapshot` is what isolated-vm asks for.
 */
const FLAGS = [
  '--no-node-snapshot',
  '--disable-sigusr1',
  // Of each isolate: with the megabytes that V8 takes by itself twenty plugins need more than they may.
  '--max-semi-space-size=1',
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

/** Found out once for each program: with the first runner. */
const confinements = new Map<string, Confinement>()

function confinementOf(program: string, log: Log): Confinement {
  const known = confinements.get(program)
  if (known) return known
  const folders = [dirname(process.execPath), folder, packageOf('isolated-vm'), packageOf('node-gyp-build'), dirname(program)]
  // It loads all that a runner loads, and ends.
  const found = findConfinement(log, { folders, trial: [process.execPath, ...FLAGS, join(folder, 'sandbox.mjs')] })
  confinements.set(program, found)
  return found
}

/** Nothing is compiled: most holes of V8 are in its compilers, and all need WebAssembly or memory that can be written and run. */
const HARDENED = ['--jitless']

/** From the end of what a dying process says to the news of its death. */
const DYING_MS = 100
/** For what waits for a runner, which needs a moment to end after it. */
const PARTING_MS = 1_000
/** What was sent and not yet taken: some of the largest calls and answers at once. A runner that leaves more lying there reads nothing. */
const UNREAD_BYTES_MAX = 64 * 1024 * 1024
/** What a runner writes on its standard error is at most this much of the log; it has no reason to write any. */
const STDERR_BYTES_MAX = 16 * 1024
/** Headers have some hundred bytes. So many within a second are ten thousand messages and more, and take this thread some 40 ms. */
const HEADER_BYTES_A_SECOND_MAX = 2 * 1024 * 1024
const PAGE_BYTES = 4_096

/** @param path of the program, which may read itself and what the runner may */
export function startRunner(
  log: Log,
  listener: Listener,
  { hardened = false, path = RUNNER }: { hardened?: boolean; path?: string | undefined } = {},
): RunnerProcess {
  const { words: confined, stdin, forks } = confinementOf(path, log)
  const [file = process.execPath, ...words] = [...confined, process.execPath]
  const child = spawn(
    file,
    [...words, ...FLAGS, ...(hardened ? HARDENED : []), ...(path === RUNNER ? [] : [`--allow-fs-read=${path}`]), path],
    {
      // Nothing of the server's environment: no secrets, no proxies, no options for Node.
      env: {},
      cwd: folder,
      stdio: [stdin, 'ignore', 'pipe', 'pipe'],
    },
  )
  const socket = child.stdio[3] as Duplex
  const started = child.pid ?? 0
  let pid = started
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
    // What waits for the runner ends with it and takes it off the list of processes. Killed first itself, it would leave that to the first process of
    // the system, which in a container is often one that does no such thing: each runner would then stay listed for ever.
    if (forks && endChild(started)) setTimeout(() => child.kill('SIGKILL'), PARTING_MS).unref()
    else child.kill('SIGKILL')
    // What it still says is not heard, and what was meant for it is let go.
    socket.destroy()
  }

  const hear = (header: unknown, body: string): void => {
    // Of a chunk that brought several.
    if (death !== null) return
    // Once: what says so again is as unwanted as anything else that nobody waits for.
    if (begun === null || (header as { kind?: unknown } | null)?.kind !== 'ready') {
      listener.onFrame(header, body)
      return
    }
    if (forks && pid === started) {
      pid = findChild(started) ?? started
      prepare(pid)
    }
    begun.resolve()
    begun = null
  }
  let second = 0
  let headerBytesOfSecond = 0
  const countHeader = (bytes: number): void => {
    const now = Math.floor(performance.now() / 1_000)
    if (now !== second) headerBytesOfSecond = 0
    second = now
    headerBytesOfSecond += bytes
    if (headerBytesOfSecond > HEADER_BYTES_A_SECOND_MAX) throw new RangeError('More headers than any runner sends.')
  }
  const read = createFrameReader(hear, (header, bodyBytes, headerBytes) => {
    if (death !== null) return false
    countHeader(headerBytes)
    return listener.isWanted(header, bodyBytes)
  })
  socket.on('data', (chunk: Buffer) => {
    if (death !== null) return
    try {
      read(chunk)
    } catch (error) {
      log.error({ err: error, pid }, 'A plugin runner does not keep to the protocol and was ended')
      kill('crash')
    }
  })
  // It has died, which is told in a moment, or has only closed its end, and goes too.
  const part = () => void setTimeout(kill, DYING_MS, 'crash').unref()
  socket.on('error', part)
  socket.on('end', part)
  let written = 0
  child.stderr?.on('data', (chunk: Buffer) => {
    // What it says while it is being ended is of no use to anybody.
    if (death !== null) return
    written += chunk.length
    // To read on and let it go would cost this thread as much as it can write.
    if (written > STDERR_BYTES_MAX) child.stderr?.destroy()
    log.warn({ pid, text: chunk.toString('utf8', 0, STDERR_BYTES_MAX) }, 'A plugin runner wrote on its standard error')
  })
  child.on('error', die)
  child.on('exit', (code, signal) => {
    if (death === null) log.warn({ pid, code, signal }, 'A plugin runner died')
    die()
  })
  prepare(pid)
  // It lives no longer than the server, and keeps nobody waiting for it.
  child.unref()
  ;(socket as unknown as { unref?: () => void }).unref?.()
  ;(child.stderr as unknown as { unref?: () => void } | null)?.unref?.()

  return {
    get pid() {
      return pid
    },
    ready,
    send: (header, body) => {
      if (dead || death !== null) return
      socket.write(frameOf(header, body))
      if (socket.writableLength > UNREAD_BYTES_MAX) kill('crash')
    },
    kill,
    residentBytes: () => residentBytes(pid),
  }
}

/** The child of a process that waits for its only one. */
function findChild(pid: number): number | null {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ')[0]) || null
  } catch {
    return null
  }
}

/** Whether it had a child, which is killed now. */
function endChild(pid: number): boolean {
  const child = findChild(pid)
  if (child === null) return false
  try {
    return process.kill(child, 'SIGKILL')
  } catch {
    // It has gone in this moment.
    return false
  }
}

function prepare(pid: number): void {
  offerToTheKernel(pid)
  yieldToOthers(pid)
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
