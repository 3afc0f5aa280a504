import type { ChildProcess } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { residentBytes, spawnChild } from '#core/foundation/child-process.ts'
import { createFrameReader, frameOf } from '#core/foundation/frames/frame.mjs'
import type { Log } from '#core/foundation/log.ts'
import { Register } from '#core/foundation/register.ts'
import { type Confinement, findConfinement } from './confinement.ts'
import { findChild, killChild, lowerPriority } from './process-control.ts'
import type { ExitReason } from './runner-limits.ts'

interface RunnerListener {
  /** Called with the header of a frame before its body is read; see the frame reader. */
  isWanted(header: unknown, bodyBytes: number): boolean
  onFrame(header: unknown, body: string): void
  /** Called once, when the process has ended. */
  onExit(reason: ExitReason): void
}

const folder = fileURLToPath(new URL('runner/', import.meta.url))
const RUNNER = join(folder, 'runner.mjs')
/** The part of its code that other processes share. In the package of the developer's tool, the runner contains it. */
const FRAMES = fileURLToPath(new URL('../../core/foundation/frames/', import.meta.url))
const packageOf = (name: string) => dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))

/**
 * Node's permission model: no files but its code and the addon, no processes, no threads, no inspector. It does not cover the network,
 * so a runner never contains a secret that it could send. isolated-vm requires `--no-node-snapshot`.
 */
const FLAGS = [
  '--no-node-snapshot',
  '--disable-sigusr1',
  // For each isolate: with V8's default, twenty plugins need more memory than they may use.
  '--max-semi-space-size=1',
  '--no-maglev',
  '--permission',
  '--allow-addons',
  ...[
    join(folder, '*'),
    join(FRAMES, '*'),
    join(packageOf('isolated-vm'), '*'),
    // isolated-vm uses it to find the build for this machine, and it looks for this file.
    join(packageOf('node-gyp-build'), '*'),
    '/etc/alpine-release',
  ].map((path) => `--allow-fs-read=${path}`),
  // This warning that addons may be loaded is noise here.
  '--disable-warning=PERM0001',
]

/** Determined once for each program, before its first runner starts. */
const confinements = new Register<Promise<Confinement>>()

/** How the runners of a program are confined. Never fails. @param path of the program, instead of the runner */
export function confinementOf(log: Log, path = RUNNER): Promise<Confinement> {
  const known = confinements.get(path)
  if (known) return known
  const folders = [dirname(process.execPath), folder, FRAMES, packageOf('isolated-vm'), packageOf('node-gyp-build'), dirname(path)]
  // It loads everything that a runner loads, and ends.
  const found = findConfinement(log, { folders, trial: [process.execPath, ...FLAGS, join(folder, 'sandbox.mjs')] })
  confinements.set(path, found)
  return found
}

/** Disables the compilers: most vulnerabilities of V8 are in them, and all need WebAssembly or writable executable memory. */
const HARDENED = ['--jitless']

/** Between the end of its socket and the exit of a process. */
const EXIT_MS = 100
/** For the parent of a runner, which ends shortly after it. */
const PARENT_EXIT_MS = 1_000
/** Bytes sent and not yet read: some of the largest calls and answers at once. A runner with more does not read at all. */
const UNREAD_BYTES_MAX = 64 * 1024 * 1024
/** At most this much of a runner's standard error is logged; it has no reason to write any. */
const STDERR_BYTES_MAX = 16 * 1024
/** Headers have some hundred bytes. This many within a second are ten thousand messages and more, and take this thread some 40 ms. */
const HEADER_BYTES_A_SECOND_MAX = 2 * 1024 * 1024
/** Up to this length, headers of expected messages do not count: the limits of calls bound their number, and 20,000 calls a second are possible. */
const EXPECTED_HEADER_BYTES = 256

export interface RunnerOptions {
  confinement: Confinement
  hardened?: boolean
  /** Path of the program; it may read itself and the files of the runner. */
  path?: string | undefined
}

function spawnRunner({ hardened = false, path = RUNNER, confinement: { words, stdin } }: RunnerOptions) {
  const readable = path === RUNNER ? [] : [`--allow-fs-read=${path}`]
  const node = [process.execPath, ...FLAGS, ...(hardened ? HARDENED : []), ...readable, path]
  return spawnChild({ words: [...words, ...node], env: {}, cwd: folder, stdin })
}

/** Throws when more headers arrive within a second than any runner sends. */
function createHeaderLimit(): (bytes: number) => void {
  let second = 0
  let bytesOfSecond = 0
  return (bytes) => {
    const now = Math.floor(performance.now() / 1_000)
    if (now !== second) bytesOfSecond = 0
    second = now
    bytesOfSecond += bytes
    if (bytesOfSecond > HEADER_BYTES_A_SECOND_MAX) throw new RangeError('The runner sent too many headers.')
  }
}

/** The process of one runner, from the server's side. */
export class RunnerProcess {
  /** Rejects when the process exits first. */
  readonly ready: Promise<void>
  readonly #log: Log
  readonly #listener: RunnerListener
  readonly #child: ChildProcess
  readonly #socket: Duplex
  /** Whether the started process is the parent of the runner and waits for it. */
  readonly #forks: boolean
  readonly #startedPid: number
  #pid: number
  /** Null once it is ready. */
  #starting: PromiseWithResolvers<void> | null = Promise.withResolvers<void>()
  #exitReason: ExitReason | null = null
  #hasExited = false
  #stderrBytes = 0

  constructor(log: Log, listener: RunnerListener, options: RunnerOptions) {
    this.#log = log
    this.#listener = listener
    this.#forks = options.confinement.forks
    const { child, channel } = spawnRunner(options)
    this.#child = child
    this.#socket = channel
    this.#startedPid = this.#child.pid ?? 0
    this.#pid = this.#startedPid
    this.ready = (this.#starting as PromiseWithResolvers<void>).promise
    this.ready.catch(() => {})
    this.#readSocket()
    this.#readStderr()
    this.#child.on('error', () => this.#onExit())
    this.#child.on('exit', (code, signal) => {
      if (this.#exitReason === null) log.warn({ pid: this.#pid, code, signal }, 'A plugin runner died')
      this.#onExit()
    })
    lowerPriority(this.#pid)
  }

  get pid(): number {
    return this.#pid
  }

  send(header: object, body?: string): void {
    if (this.#hasExited || this.#exitReason !== null) return
    for (const part of frameOf(header, body)) this.#socket.write(part)
    if (this.#socket.writableLength > UNREAD_BYTES_MAX) this.kill('crash')
  }

  /** Immediately, in the middle of any work. */
  kill(reason: ExitReason): void {
    this.#exitReason ??= reason
    // The parent of a runner ends with it and reaps it. If it were killed first, reaping would fall to the first process of the system,
    // which in a container often does not reap: each runner would then remain as a zombie.
    if (this.#forks && killChild(this.#startedPid)) setTimeout(() => this.#child.kill('SIGKILL'), PARENT_EXIT_MS).unref()
    else this.#child.kill('SIGKILL')
    // Reads and sends nothing more.
    this.#socket.destroy()
  }

  /** Resident memory in bytes; 0 where the system does not report it. */
  residentBytes(): number {
    return residentBytes(this.#pid)
  }

  #onExit(): void {
    if (this.#hasExited) return
    this.#hasExited = true
    this.#socket.destroy()
    this.#starting?.reject(new Error('the runner ended before it was ready'))
    this.#listener.onExit(this.#exitReason ?? 'crash')
  }

  #onFrame(header: unknown, body: string): void {
    // One chunk may contain several messages.
    if (this.#exitReason !== null) return
    // Only once: a second `ready` is as unexpected as any other message.
    if (this.#starting === null || (header as { kind?: unknown } | null)?.kind !== 'ready') {
      this.#listener.onFrame(header, body)
      return
    }
    if (this.#forks && this.#pid === this.#startedPid) {
      this.#pid = findChild(this.#startedPid) ?? this.#startedPid
      lowerPriority(this.#pid)
    }
    this.#starting.resolve()
    this.#starting = null
  }

  #readSocket(): void {
    const countHeader = createHeaderLimit()
    const read = createFrameReader((header, body) => this.#onFrame(header, body.toString()), {
      isWanted: (header, bodyBytes, headerBytes) => {
        if (this.#exitReason !== null) return false
        const isWanted = this.#listener.isWanted(header, bodyBytes)
        countHeader(isWanted ? Math.max(headerBytes - EXPECTED_HEADER_BYTES, 0) : headerBytes)
        return isWanted
      },
    })
    this.#socket.on('data', (chunk: Buffer) => {
      if (this.#exitReason !== null) return
      try {
        read(chunk)
      } catch (error) {
        this.#log.error({ err: error, pid: this.#pid }, 'A plugin runner violated the protocol and was terminated')
        this.kill('crash')
      }
    })
    // It has exited, which is reported shortly, or has only closed its socket, and is killed too.
    const killSoon = () => void setTimeout(() => this.kill('crash'), EXIT_MS).unref()
    this.#socket.on('error', killSoon)
    this.#socket.on('end', killSoon)
  }

  #readStderr(): void {
    const { stderr } = this.#child
    stderr?.on('data', (chunk: Buffer) => {
      // Its output while it is being killed is useless.
      if (this.#exitReason !== null) return
      this.#stderrBytes += chunk.length
      // Reading and discarding the rest would take this thread as much time as the runner has to write.
      if (this.#stderrBytes > STDERR_BYTES_MAX) stderr.destroy()
      this.#log.warn({ pid: this.#pid, text: chunk.toString('utf8', 0, STDERR_BYTES_MAX) }, 'A plugin runner wrote to its standard error')
    })
  }
}
