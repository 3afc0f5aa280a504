import { existsSync, type FSWatcher, lstatSync, readdirSync, readFileSync, watch } from 'node:fs'
import { formatOfName } from '#core/fields/book-format.ts'
import { isSidecarName } from '#core/fields/sidecar.ts'
import { isForeignFolder, isHiddenName, isIncompleteName } from '#core/foundation/foreign-folder.ts'
import { compileExcludes, type Excludes } from '#core/scan/glob.ts'
import { parentOf } from '#core/scan/layouts/folder-name.ts'
import { CALIBRE_DATABASE } from '#core/scan/layouts/place-tree.ts'
import { rootKey } from '#core/scan/scan-root.ts'
import { findSilentDrive } from '#core/scan/watch/drive-kind.ts'

/** Each takes a kilobyte here and another one in the kernel; the systems of most people allow fewer watches for a user. */
const FOLDERS_MAX = 100_000
/** More changed files are one scan of the whole library. */
const CHANGES_MAX = 5_000
/** While more files than that change all the time, the library is scanned this often. */
const FLOOD_MS = 60_000
/** Even without a quiet time, the events of one copy come together. */
const QUIET_MS_MIN = 500
/** The table of mounts is no file on a disk; a drive is mounted rarely. */
const MOUNTS_MS = 15_000
const MOUNTS = '/proc/self/mountinfo'
const EVENTS_WAITING = '/proc/sys/fs/inotify/max_queued_events'
/** Of most systems. */
const EVENTS_WAITING_MAX = 16_384
/** The list also holds events that Node does not pass on, as of watches that have ended. */
const FULL_SHARE = 0.9
/** The events of one move, in two folders, are reported together. */
const TOGETHER_MS = 100

export interface WatchOrder {
  /** Absolute path without a trailing slash. */
  root: string
  excludedPatterns: string | null
  allowedFormats: readonly string[] | null
  /** Also watches drives that do not report every change. */
  isForced: boolean
  /** Whether scans of the library may follow links. What they lead to is not watched. */
  hasLinks: boolean
  /** How long a file must be without an event before its folder is scanned. */
  quietMs: number
}

export type WatchReport =
  /** `silent`: folders on drives that report no changes. */
  | { kind: 'watching'; folders: number; silent: number }
  | { kind: 'unavailable'; problem: string }
  /** Something has changed, and is not yet reported. */
  | { kind: 'gathering' }
  /** The folders, relative to the root: those that are gone last, so that what was moved is found before it is missed. `isWhole`: any folder may have changed. */
  | { kind: 'changed'; folders: string[]; isWhole: boolean; isGathering: boolean }

/** It cannot be watched: the reason, for people. */
class Unavailable extends Error {}

/**
 * Watches the folders of a library, with one watcher each: Node's recursive watch is made of the same, and also watches what scans leave out. Reads the folders
 * once, when it begins; afterwards only what an event names. Blocks while a disk does not answer, so it has a thread of its own.
 */
export class FolderWatch {
  readonly #order: WatchOrder
  readonly #send: (report: WatchReport) => void
  readonly #isExcluded: Excludes
  readonly #allowed: ReadonlySet<string> | null
  readonly #quietMs: number
  readonly #waitingMax = readWaitingMax()
  /** With the identity of the folder. */
  readonly #watchers = new Map<string, { watcher: FSWatcher; key: string }>()
  /** Changed paths with the time of their last event; the oldest comes first. */
  readonly #changed = new Map<string, number>()
  /** Folders on drives that report no changes. */
  #silent = 0
  /** Since when, and until when, more has changed than is gathered one by one. */
  #flood: { since: number; last: number } | null = null
  /** Events of this turn of the event loop. */
  #turn = 0
  #timer: NodeJS.Timeout | undefined
  #mounts = readMounts()
  /** The identity of the root, which may be replaced by another folder. */
  #rootKey = ''
  #isMissing = false
  readonly #looking: NodeJS.Timeout

  constructor(order: WatchOrder, send: (report: WatchReport) => void) {
    this.#order = order
    this.#send = send
    this.#isExcluded = compileExcludes(order.excludedPatterns)
    this.#allowed = order.allowedFormats === null ? null : new Set(order.allowedFormats)
    this.#quietMs = Math.max(QUIET_MS_MIN, order.quietMs)
    this.#looking = setInterval(() => this.#lookAtMounts(), MOUNTS_MS)
    this.#begin()
  }

  close(): void {
    clearInterval(this.#looking)
    this.#stop()
  }

  #begin(): void {
    try {
      this.#rootKey = this.#readRootKey()
      this.#isMissing = this.#rootKey === ''
      if (this.#isMissing) throw new Unavailable('The folder of the library does not exist.')
      this.#watchTree('')
      this.#tell()
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Empty if there is none. */
  #readRootKey(): string {
    const found = lstatSync(`${this.#order.root}/.`, { throwIfNoEntry: false })
    return found ? rootKey(found) : ''
  }

  #tell(): void {
    this.#send({ kind: 'watching', folders: this.#watchers.size, silent: this.#silent })
  }

  #stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const { watcher } of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
    this.#changed.clear()
    this.#silent = 0
    this.#flood = null
  }

  #fail(error: unknown): void {
    this.#stop()
    if (!(error instanceof Unavailable)) throw error
    this.#send({ kind: 'unavailable', problem: error.message })
  }

  /** Watches all again, because anything may have changed. */
  #beginAgain(): void {
    this.#stop()
    this.#begin()
    if (this.#watchers.size > 0) this.#send({ kind: 'changed', folders: [], isWhole: true, isGathering: false })
  }

  /** A drive that was mounted in or above the library, or unmounted, causes no event. */
  #lookAtMounts(): void {
    const mounts = readMounts()
    const changed = changedMounts(this.#mounts, mounts)
    this.#mounts = mounts
    const { root } = this.#order
    const isConcerned = changed.some((mount) => isAtOrBelow(mount, root) || isAtOrBelow(root, mount))
    if (isConcerned || (this.#isMissing && existsSync(root))) this.#beginAgain()
  }

  #pathOf(folder: string): string {
    return folder === '' ? this.#order.root : `${this.#order.root}/${folder}`
  }

  /** Watches the folder and those in it. @throws Unavailable */
  #watchTree(top: string): void {
    const stack = [top]
    while (stack.length > 0) {
      const folder = stack.pop() as string
      try {
        if (!this.#watchFolder(folder)) continue
        const prefix = folder === '' ? '' : `${folder}/`
        for (const entry of readdirSync(this.#pathOf(folder), { withFileTypes: true }))
          if (entry.isDirectory() && this.#isEntered(prefix, entry.name)) stack.push(prefix + entry.name)
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        if (code === 'ENOSPC' || code === 'EMFILE') throw new Unavailable(describeLimit(code, this.#watchers.size))
        // It vanished meanwhile, or may not be read, which the scan reports.
        if (error instanceof Unavailable || code === undefined) throw error
        if (folder === '') throw new Unavailable(`The folder of the library cannot be read (${code}).`)
      }
    }
  }

  #isEntered(prefix: string, name: string): boolean {
    return !isForeignFolder(name) && !this.#isExcluded(prefix, name)
  }

  /** False for a drive that reports no changes. */
  #watchFolder(folder: string): boolean {
    const path = this.#pathOf(folder)
    const drive = this.#order.isForced ? null : findSilentDrive(path)
    if (drive !== null) {
      this.#silent++
      if (folder === '') throw new Unavailable(describeSilent(drive))
      return false
    }
    if (this.#watchers.size >= FOLDERS_MAX) throw new Unavailable(`It has more than ${FOLDERS_MAX} folders.`)
    this.#watchers.get(folder)?.watcher.close()
    const key = rootKey(lstatSync(path))
    const watcher = watch(path, { encoding: 'utf8' }, (kind, name) => this.#receive(folder, kind, name))
    // The folder is gone: its parent has an event too.
    watcher.on('error', () => this.#forgetTree(folder))
    this.#watchers.set(folder, { watcher, key })
    return true
  }

  #forgetTree(top: string): void {
    for (const [folder, { watcher }] of this.#watchers) {
      if (!isAtOrBelow(folder, top)) continue
      watcher.close()
      this.#watchers.delete(folder)
    }
  }

  #receive(folder: string, kind: string, name: string | null): void {
    if (this.#turn === 0) setImmediate(() => this.#endTurn())
    this.#turn++
    // Something of the folder itself.
    if (name === null) this.#note(folder)
    else if (kind === 'rename' && folder === '' && this.#readRootKey() !== this.#rootKey) this.#beginAgain()
    else if (!isHiddenName(name) && !isIncompleteName(name)) {
      const path = folder === '' ? name : `${folder}/${name}`
      // Only files and folders that have come or gone have a "rename".
      if (kind === 'rename' && this.#receiveFolder(folder, path, name)) return
      const mayBeLink = this.#order.hasLinks && kind === 'rename' && isLinkOrGone(this.#pathOf(path))
      if (mayBeLink || this.#isRead(folder === '' ? '' : `${folder}/`, name)) this.#note(path)
    }
  }

  #isRead(prefix: string, name: string): boolean {
    const format = formatOfName(name)
    if (format === null) return isSidecarName(name) || name === CALIBRE_DATABASE
    return (this.#allowed === null || this.#allowed.has(format)) && !this.#isExcluded(prefix, name)
  }

  /** Whether the event is about a folder. */
  #receiveFolder(above: string, path: string, name: string): boolean {
    const found = lstatSync(this.#pathOf(path), { throwIfNoEntry: false })
    const before = this.#watchers.get(path)
    const wasWatched = before !== undefined
    // Only its rights or times have changed, which Node reports in the same way.
    if (found?.isDirectory() && before?.key === rootKey(found)) return true
    if (wasWatched) this.#forgetTree(path)
    if (found?.isDirectory()) {
      if (!this.#isEntered(above === '' ? '' : `${above}/`, name)) return true
      try {
        this.#watchTree(path)
      } catch (error) {
        this.#fail(error)
        return true
      }
    } else if (!wasWatched) return false
    this.#note(path)
    this.#tell()
    return true
  }

  /** The kernel drops the events that do not fit into its list, and Node does not say so; but then the list was full. */
  #endTurn(): void {
    const isFull = this.#turn >= this.#waitingMax * FULL_SHARE
    this.#turn = 0
    if (isFull) this.#beginAgain()
  }

  #note(path: string): void {
    const now = performance.now()
    if (this.#changed.size === 0 && this.#flood === null) this.#send({ kind: 'gathering' })
    if (this.#flood !== null) this.#flood.last = now
    else {
      this.#changed.delete(path)
      this.#changed.set(path, now)
      if (this.#changed.size > CHANGES_MAX) {
        this.#flood = { since: now, last: now }
        this.#changed.clear()
      }
    }
    this.#timer ??= setTimeout(() => this.#report(), this.#quietMs + TOGETHER_MS)
  }

  /** Reports what has been still for long enough. */
  #report(): void {
    this.#timer = undefined
    const now = performance.now()
    if (this.#flood) {
      const { since, last } = this.#flood
      const dueMs = Math.min(last + this.#quietMs, since + FLOOD_MS) - now
      if (dueMs > 0) this.#timer = setTimeout(() => this.#report(), dueMs)
      else {
        this.#flood = null
        this.#send({ kind: 'changed', folders: [], isWhole: true, isGathering: false })
      }
      return
    }
    const folders = new Set<string>()
    for (const [path, at] of this.#changed) {
      if (at + this.#quietMs > now) {
        this.#timer = setTimeout(() => this.#report(), at + this.#quietMs + TOGETHER_MS - now)
        break
      }
      this.#changed.delete(path)
      folders.add(this.#folderOf(path))
    }
    if (folders.size === 0) return
    const exists = (folder: string) => existsSync(this.#pathOf(folder))
    const { there = [], gone = [] } = Object.groupBy(folders, (folder) => (exists(folder) ? 'there' : 'gone'))
    this.#send({ kind: 'changed', folders: [...there, ...gone], isWhole: false, isGathering: this.#changed.size > 0 })
  }

  /** The folder to scan: the path itself, if it is or was a folder. */
  #folderOf(path: string): string {
    if (path === '' || this.#watchers.has(path)) return path
    const name = path.slice(path.lastIndexOf('/') + 1)
    return this.#isRead('', name) ? parentOf(path) : path
  }
}

/** Of what is gone, nobody can tell whether it was a link. */
const isLinkOrGone = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? true

const isAtOrBelow = (path: string, folder: string) =>
  folder === '' || path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`)

function describeLimit(code: string, folders: number): string {
  const limit = code === 'ENOSPC' ? 'fs.inotify.max_user_watches' : 'fs.inotify.max_user_instances'
  return `The system allows no more watches (after ${folders} folders). Raise ${limit} with sysctl, then start the server again.`
}

const describeSilent = (drive: string) =>
  `Its drive (${drive}) does not report what other computers change. Set "watch" to "poll", or to "on" if only this computer changes it.`

function readWaitingMax(): number {
  try {
    return Math.min(EVENTS_WAITING_MAX, Number(readFileSync(EVENTS_WAITING, 'utf8')) || EVENTS_WAITING_MAX)
  } catch {
    return EVENTS_WAITING_MAX
  }
}

function readMounts(): string {
  try {
    return readFileSync(MOUNTS, 'utf8')
  } catch {
    return ''
  }
}

/** The places where something was mounted or unmounted, from two texts of proc_pid_mountinfo(5). */
export function changedMounts(before: string, after: string): string[] {
  if (before === after) return []
  const [old, now] = [new Set(before.split('\n')), new Set(after.split('\n'))]
  const lines = [...[...now].filter((line) => !old.has(line)), ...[...old].filter((line) => !now.has(line))]
  return lines.flatMap(
    (line) => line.split(' ')[4]?.replace(/\\([0-7]{3})/g, (_all, octal) => String.fromCharCode(Number.parseInt(octal, 8))) ?? [],
  )
}
