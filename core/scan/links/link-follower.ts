import { type Dirent, lstatSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { isHiddenName } from '#core/foundation/foreign-folder.ts'
import { isInTargets, OutsideError } from '#core/foundation/open-inside.ts'
import { Register } from '#core/foundation/register.ts'

/** A link that a scan follows. */
export interface FollowedLink {
  /** Relative to the library. */
  path: string
  /** The file or folder, as a path without links. */
  target: string
}

/** An entry of a folder. Of a link that may be followed it tells what the link leads to, with the path without links. */
export type WalkedEntry = Pick<Dirent, 'name' | 'isDirectory' | 'isFile' | 'isSymbolicLink'> & { target?: string }

/**
 * Follows links into the link targets of a library. Files and folders are recognized by device and inode: each belongs to the link through which it was
 * found first, in this or an earlier walk, so that circles end, and nothing is found twice or moves from one link to another.
 * Memory: an entry per folder and link.
 */
export class LinkFollower {
  readonly #root: string
  readonly #targets: readonly string[]
  readonly #known: ReadonlySet<string>
  readonly #owners = new Register<string>()
  #hasFiles = false

  /** @param options.known the links that the last walk followed; those that lead elsewhere now do not count */
  constructor(root: string, options: { targets: readonly string[]; known: readonly FollowedLink[] }) {
    this.#root = root
    this.#targets = options.targets
    this.#known = new Set(options.known.map(({ path }) => path))
    for (const { path, target } of options.known) {
      try {
        if (realpathSync.native(`${root}/${path}`) === target && isInTargets(target, this.#targets)) this.#own(target, path)
      } catch {
        // The walk reports it when it comes there.
      }
    }
  }

  /**
   * The entry, or what it leads to if it is a link into a link target. An error when a link that was followed before, or leads to something unreadable,
   * cannot be resolved.
   * @param prefix of its path relative to the library, up to its name @param folder its folder as a path without links
   */
  follow(entry: Dirent, prefix: string, folder: string): WalkedEntry | Error {
    if (!entry.isSymbolicLink() || isHiddenName(entry.name)) return entry
    try {
      const target = realpathSync.native(`${folder}/${entry.name}`)
      if (!isInTargets(target, this.#targets)) return entry
      const facts = statSync(target)
      return { name: entry.name, target, isDirectory: () => facts.isDirectory(), isFile: () => facts.isFile(), isSymbolicLink: () => false }
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException
      // Its disk may be missing: the books behind it must not count as missing.
      if (!['ENOENT', 'ENOTDIR', 'ELOOP'].includes(code)) return error as Error
      return this.#known.has(prefix + entry.name) ? new Error('this link leads to nothing now. Is the disk of its target mounted?') : entry
    }
  }

  /** Whether the link is the one through which its target is found; false when another way leads there, or to a folder above it. */
  claim({ path, target }: FollowedLink): boolean {
    if (this.#isTaken(target, path)) return false
    this.#own(target, path)
    return true
  }

  /** Whether a folder is found through this link ('' for none), and not by another way. @param openPath of the open folder */
  enter(openPath: string, link: string): boolean {
    const identity = identityOf(openPath)
    const owner = this.#owners.get(identity)
    if (owner !== undefined && owner !== link) return false
    this.#owners.set(identity, link)
    return true
  }

  /** Whether a file in a folder behind a link is the target of a link to this very file. */
  isLinked(path: string): boolean {
    return this.#hasFiles && this.#owners.has(identityOf(path))
  }

  /**
   * Where a walk of a part begins: its path without links, and the links that lead to it.
   * @throws OutsideError for a link that is not followed; the system's error for a path that does not exist
   */
  enterPath(folder: string): { real: string; through: FollowedLink[] } {
    const real = realpathSync.native(`${this.#root}/${folder}`)
    const parts = folder.split('/')
    const paths = folder === '' ? [] : parts.map((_, index) => parts.slice(0, index + 1).join('/'))
    const through: FollowedLink[] = []
    for (const path of paths) {
      if (!lstatSync(`${this.#root}/${path}`).isSymbolicLink()) continue
      const link = { path, target: realpathSync.native(`${this.#root}/${path}`) }
      if (!isInTargets(link.target, this.#targets) || !this.claim(link)) throw new OutsideError(`"${path}" is not followed.`)
      through.push(link)
    }
    return { real, through }
  }

  #own(target: string, link: string): void {
    this.#owners.set(identityOf(target), link)
    this.#hasFiles ||= !statSync(target).isDirectory()
  }

  /** The nearest owner counts: a link may lead into what belongs to another one, which leaves that out then. */
  #isTaken(target: string, link: string): boolean {
    for (let at = target; ; at = dirname(at)) {
      const owner = this.#owners.get(identityOf(at))
      if (owner !== undefined) return owner !== link
      if (at === '/') return false
    }
  }
}

/** Some file systems have no inode numbers: there the path identifies a file. */
function identityOf(path: string): string {
  const { dev, ino } = statSync(path, { bigint: true })
  return ino === 0n ? path : `${dev}:${ino}`
}
