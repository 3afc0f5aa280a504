import { createHash, randomBytes } from 'node:crypto'
import { renameSync, writeFileSync } from 'node:fs'
import { chmod, chown, link, readFile, readlink, realpath, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describeFullDisk, StartProblem } from '#core/database/start-problem.ts'
import { makeFolders } from '#core/embedded/make-folders.ts'
import { NOBODY } from '#core/embedded/postgres-binaries.ts'

/** How often the process that holds a folder updates its heartbeat, for processes that cannot see it (in another container or machine). */
const HEARTBEAT_MS = 2_000
/** Long enough for a live holder, even a busy one, to update it; short enough to wait at a restart. */
const HEARTBEAT_PATIENCE_MS = 9_000
/** A holder that is closing or has not written its name yet has finished by then. */
const TAKEN_PATIENCE_MS = 500
const TAKEN_POLL_MS = 50
const KEY_BYTES = 48
/** HS256 needs at least the length of its output. */
const KEY_BYTES_MIN = 32

/** Why a process holds the folder: a server keeps running, a command soon ends. */
export type Purpose = 'server' | 'command'

interface Holder {
  pid: number
  purpose: Purpose
  host: string
  /** Which /proc the pid belongs to. */
  pidNamespace: string
  startedAt: string
  /** The local services that plugins of a server may use, which commands go by too. */
  allowLocal?: readonly string[]
  /** The port of a server; 0 if it takes any free one. */
  port?: number
  /** It received the signal to stop and is finishing its work. */
  closing?: boolean
}

export interface DataFolder {
  /** Absolute, links resolved. */
  path: string
  /** Tells waiting processes that the folder will soon be free. */
  announceClosing(): void
  /** Releases the folder for the next start. */
  close(): Promise<void>
}

/** The folder is in use; `pid` is null when that could not be read. */
export class FolderInUse extends Error {
  readonly pid: number | null
  readonly purpose: Purpose | null
  /** It received the signal to stop and will release the folder. */
  readonly closing: boolean

  constructor(folder: string, holder: Holder | null) {
    const who =
      holder === null
        ? 'another Carrel'
        : `a Carrel ${holder.purpose} with pid ${holder.pid}${holder.host === os.hostname() ? '' : ` on ${holder.host}`}`
    super(`The data folder ${folder} is in use by ${who}. Stop that one first, or give this one another --data-dir.`)
    this.name = 'FolderInUse'
    this.pid = holder?.pid ?? null
    this.purpose = holder?.purpose ?? null
    this.closing = holder?.closing ?? false
  }
}

/** The user that runs this process, by number when the machine has no name for it, as in many containers. */
export function userName(): string {
  try {
    return os.userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}

/** Why this user cannot use a folder, and what to do. */
export function describeDenied(folder: string, cause: NodeJS.ErrnoException): string {
  const username = userName()
  if (cause.code !== 'EACCES' && cause.code !== 'EPERM') return `The data folder ${folder} cannot be used (${cause.code}): ${cause.message}`
  return `The data folder ${folder} is closed to user ${username}, who runs Carrel (${cause.code}). Run Carrel as the folder's owner, or change the owner: chown -R ${username} '${folder}'`
}

/** Creates the folder if absent: closed to others, except that root lets PostgreSQL's unprivileged user pass through. */
export async function makeDataFolder(folder: string): Promise<string> {
  try {
    // Parents get the default mode: if closed, they would keep PostgreSQL's user out.
    await makeFolders(folder, 0o700)
    const found = await stat(folder)
    if (process.getuid?.() === 0 && found.uid === 0 && (found.mode & 0o077) === 0) {
      await chown(folder, 0, NOBODY)
      await chmod(folder, 0o710)
    }
    return await realpath(folder)
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    if (code === 'EEXIST' || code === 'ENOTDIR')
      throw new StartProblem(`--data-dir ${folder} is not a folder. Give the name of a folder, new or existing.`, { cause })
    if (code === 'ENOSPC' || code === 'EDQUOT') throw new StartProblem(describeFullDisk(folder), { cause })
    throw new StartProblem(
      `The data folder ${folder} cannot be created (${code}). Create it yourself, owned by the user who runs Carrel, or choose another --data-dir.`,
      { cause },
    )
  }
}

/**
 * Creates the data folder if new and locks it for this process, until close() or the end of the process, however it ends.
 * @throws FolderInUse when another process holds it
 */
export async function openDataFolder(
  folder: string,
  purpose: Purpose,
  serving: Pick<Holder, 'allowLocal' | 'port'> = {},
): Promise<DataFolder> {
  const real = await makeDataFolder(folder)
  const file = path.join(real, 'carrel.lock')
  const guard = await claimName(real, file)
  const holder: Holder = {
    pid: process.pid,
    purpose,
    host: os.hostname(),
    pidNamespace: await pidNamespace(),
    startedAt: new Date().toISOString(),
    ...serving,
  }
  try {
    const before = await readHolder(file)
    if (guard === null || (before !== null && (await isAlive(file, before)))) throw new FolderInUse(real, before)
    await writeFile(`${file}.new`, JSON.stringify(holder), { mode: 0o600 }).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOSPC' || cause.code === 'EDQUOT') throw new StartProblem(describeFullDisk(real), { cause })
      throw new StartProblem(describeDenied(real, cause), { cause })
    })
    await rename(`${file}.new`, file)
  } catch (error) {
    guard?.close()
    throw error
  }
  const heartbeat = setInterval(() => {
    const now = new Date()
    utimes(file, now, now).catch(() => {})
  }, HEARTBEAT_MS).unref()
  return {
    path: real,
    announceClosing() {
      try {
        // Synchronously, so that it never overwrites the name of the next holder.
        writeFileSync(`${file}.new`, JSON.stringify({ ...holder, closing: true }), { mode: 0o600 })
        renameSync(`${file}.new`, file)
      } catch {
        // The disk is full or the folder was deleted: the next process to start then reports that it should be started again.
      }
    },
    async close() {
      clearInterval(heartbeat)
      await rm(file, { force: true })
      guard.close()
    },
  }
}

/** The process that holds the folder now, or null. Does not lock it. */
export async function findHolder(folder: string): Promise<Pick<Holder, 'pid' | 'purpose' | 'allowLocal' | 'port'> | null> {
  const real = await realpath(folder).catch(() => null)
  if (real === null) return null
  const file = path.join(real, 'carrel.lock')
  const holder = await readHolder(file)
  if (holder === null) return null
  return (await isNameHeld(real)) || (await isAlive(file, holder)) ? holder : null
}

/** As {@link holdName}, but when the lock file names no live process here, waits: the holder of the name may be about to release it. */
async function claimName(real: string, file: string): Promise<net.Server | null> {
  const until = Date.now() + TAKEN_PATIENCE_MS
  for (;;) {
    const guard = await holdName(real)
    if (guard !== null || Date.now() > until) return guard
    const holder = await readHolder(file)
    if (holder !== null && (await isNeighbor(holder)) && processLives(holder.pid)) return null
    await sleep(TAKEN_POLL_MS)
  }
}

/**
 * The actual lock: a name in the kernel (an abstract socket) that exactly one process holds and that ends with the process. A lock file
 * alone would have to be recognized as stale and replaced, which two starts can do at the same moment. Null when another process holds it.
 */
async function holdName(real: string): Promise<net.Server | null> {
  const name = await nameOf(real)
  const server = net.createServer((socket) => socket.destroy()).unref()
  return await new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(null) : reject(error)))
    server.listen(name, () => resolve(server))
  })
}

/** Connects to the name instead of trying the lock: holding it even for a moment would make a concurrent start fail. */
async function isNameHeld(real: string): Promise<boolean> {
  const socket = net.connect(await nameOf(real))
  return await new Promise((resolve) => {
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'))
  })
}

async function nameOf(real: string): Promise<string> {
  const { dev, ino } = await stat(real)
  const name = createHash('sha256').update(`carrel ${dev} ${ino}`).digest('hex')
  return process.platform === 'linux' ? `\0carrel-${name}` : path.join(os.tmpdir(), `carrel-${name.slice(0, 16)}.sock`)
}

async function readHolder(file: string): Promise<Holder | null> {
  try {
    const found = JSON.parse(await readFile(file, 'utf8')) as Holder
    return Number.isInteger(found.pid) && typeof found.purpose === 'string' ? found : null
  } catch {
    return null
  }
}

/** Used only when no process on this machine holds the kernel's name: then a holder can live only in another container or on another machine. */
async function isAlive(file: string, holder: Holder): Promise<boolean> {
  if (await isNeighbor(holder)) return false
  const before = (await stat(file).catch(() => null))?.mtimeMs
  const until = Date.now() + HEARTBEAT_PATIENCE_MS
  while (Date.now() < until) {
    await sleep(HEARTBEAT_MS / 4)
    const now = (await stat(file).catch(() => null))?.mtimeMs
    if (now === undefined) return false
    if (now !== before) return true
  }
  return false
}

/** Whether its pid means the same process here. */
async function isNeighbor(holder: Holder): Promise<boolean> {
  return holder.host === os.hostname() && holder.pidNamespace === (await pidNamespace())
}

function processLives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // It runs, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

async function pidNamespace(): Promise<string> {
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')
  return `${boot.trim()} ${await readlink('/proc/self/ns/pid').catch(() => '')}`
}

/** The key that signs tokens. */
export const tokenKey = (folder: string): Promise<string> => keptKey(path.join(folder, 'token.key'), 'then everybody must sign in again')

/** The keys that encrypt credentials of plugins: the given ones, or one that is stored in the folder. */
export async function credentialKeys({
  dataFolder,
  plugins,
}: {
  dataFolder: string
  plugins: { secretKeys: readonly string[] }
}): Promise<readonly string[]> {
  if (plugins.secretKeys.length > 0) return plugins.secretKeys
  return [await keptKey(path.join(dataFolder, 'credential.key'), 'then the credentials of plugins must be entered again')]
}

/** A key in a file: generated at the first start, with mode 0600. */
async function keptKey(file: string, loss: string): Promise<string> {
  const read = async () => {
    const key = (await readFile(file, 'utf8')).trim()
    if (Buffer.byteLength(key) < KEY_BYTES_MIN)
      throw new StartProblem(`${file} is damaged: it has fewer than ${KEY_BYTES_MIN} bytes. Delete it to generate a new key; ${loss}.`)
    // It may have been restored from a backup that lost its mode.
    await chmod(file, 0o600)
    return key
  }
  try {
    return await read()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  // Of this call alone: others of this process may make the key at the same time.
  const fresh = `${file}.${randomBytes(8).toString('hex')}.new`
  await writeFile(fresh, `${randomBytes(KEY_BYTES).toString('base64url')}\n`, { mode: 0o600 })
  try {
    await link(fresh, file)
  } catch (error) {
    // Another process was first: its key is the key.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(fresh, { force: true })
  }
  return await read()
}
