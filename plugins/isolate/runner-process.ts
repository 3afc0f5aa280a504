import { spawn, spawnSync } from 'node:child_process'
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
const TRY_MS_MAX = 2_000

const NO_NETWORK = ['/usr/bin/unshare', '--net']
const NO_NETWORK_AS_ANYBODY = ['/usr/bin/unshare', '--user', '--map-current-user', '--net']
const NO_PRIVILEGES = ['/usr/bin/setpriv', '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all']

/**
 * What a runner is started with, the best first: a network of its own in which there is nothing, and no rights beyond those of its user. Each is
 * one more `exec`, some milliseconds in all. Systems differ in what they let whom do, containers most of all.
 */
const CONFINEMENTS: readonly (readonly string[])[] = [
  [...NO_NETWORK, ...NO_PRIVILEGES],
  [...NO_NETWORK_AS_ANYBODY, ...NO_PRIVILEGES],
  NO_PRIVILEGES,
  NO_PRIVILEGES.slice(0, 2),
]

let command: readonly string[] | null = null

/** Found out once, with the first runner. */
function findCommand(log: Log): readonly string[] {
  if (!existsSync(ENV)) return [process.execPath]
  const works = (words: readonly string[]) =>
    existsSync(words[0] as string) &&
    spawnSync(ENV, ['-i', ...words, ENV, 'true'], { env: {}, stdio: 'ignore', timeout: TRY_MS_MAX }).status === 0
  const confinement = CONFINEMENTS.find(works) ?? []
  log.info({ confinement: confinement.join(' ') || 'none' }, 'Plugin runners are confined as far as this system lets them be')
  return [ENV, '-i', ...confinement, process.execPath]
}

/** Nothing is compiled: most holes of V8 are in its compilers, and all need WebAssembly or memory that can be written and run. */
const HARDENED = ['--jitless']

/** From the end of what a dying process says to the news of its death. */
const DYING_MS = 100
/** What was sent and not yet taken: some of the largest calls and answers at once. A runner that leaves more lying there reads nothing. */
const UNREAD_BYTES_MAX = 64 * 1024 * 1024
/** What a runner writes on its standard error is at most this much of the log; it has no reason to write any. */
const STDERR_BYTES_MAX = 16 * 1024
const PAGE_BYTES = 4_096

/** @param path of the program, which may read itself and what the runner may */
export function startRunner(
  log: Log,
  listener: Listener,
  { hardened = false, path = RUNNER }: { hardened?: boolean; path?: string | undefined } = {},
): RunnerProcess {
  command ??= findCommand(log)
  const [file, ...words] = command as [string, ...string[]]
  const child = spawn(
    file,
    [...words, ...FLAGS, ...(hardened ? HARDENED : []), ...(path === RUNNER ? [] : [`--allow-fs-read=${path}`]), path],
    {
      // Nothing of the server's environment: no secrets, no proxies, no options for Node.
      env: {},
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    },
  )
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
    // What it still says is not heard, and what was meant for it is let go.
    socket.destroy()
  }

  const hear = (header: unknown, body: string): void => {
    // Of a chunk that brought several.
    if (death !== null) return
    if ((header as { kind?: unknown } | null)?.kind === 'ready') begun?.resolve()
    else listener.onFrame(header, body)
  }
  const read = createFrameReader(hear, (header, bodyBytes) => death === null && listener.isWanted(header, bodyBytes))
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
      if (dead || death !== null) return
      socket.write(frameOf(header, body))
      if (socket.writableLength > UNREAD_BYTES_MAX) kill('crash')
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
