import { fstat } from 'node:fs'
import { type FileHandle, stat } from 'node:fs/promises'
import type { LibraryFile } from '#core/fields/analysis.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { askDisk } from '#core/foundation/disk-calls.ts'
import { closeInside, openInside } from '#core/foundation/open-inside.ts'

/** A few dozen users each turn the pages of one book: far below the 1,024 descriptors that a process may have by default. */
const OPEN_FILES_MAX = 64
const LEASES_BYTES_MAX = 64 * 1024
/** An idle descriptor keeps the space of a deleted file allocated and blocks unmounting. */
const IDLE_MS = 60_000
/** How often idle ones are looked for. A timer for each, which every read would have to restart, costs as much as the look-up. */
const LOOK_MS = 5_000
/** How long a replaced file may go unnoticed; its pages fail their CRC anyway. */
const TRUSTED_MS = 2_000

interface Lease {
  opened: Promise<{ file: FileHandle; identity: string }>
  users: number
  evicted: boolean
  trustedUntil: number
}

/** An open descriptor, and the identity of this version of the file: other content has another identity. */
export interface OpenFile {
  fd: number
  identity: string
}

/** Files kept open between reads, so that a page is one positional read. */
export class OpenFiles {
  readonly #closing = new Set<Promise<void>>()
  readonly #leases
  readonly #looking

  constructor({ idleMs = IDLE_MS, lookMs = LOOK_MS } = {}) {
    this.#leases = new BoundedCache<Lease>({
      bytesMax: LEASES_BYTES_MAX,
      entriesMax: OPEN_FILES_MAX,
      ttl: idleMs,
      ttlResolution: lookMs,
      updateAgeOnGet: true,
      dispose: (lease) => {
        lease.evicted = true
        this.#closeUnused(lease)
      },
    })
    this.#looking = setInterval(() => this.#leases.purgeStale(), lookMs).unref()
  }

  #closeUnused(lease: Lease): void {
    if (!lease.evicted || lease.users > 0) return
    const done = lease.opened.then(({ file }) => file.close()).catch(() => undefined)
    this.#closing.add(done)
    done.finally(() => this.#closing.delete(done))
  }

  /** The descriptor stays open until it is released, even when the cache evicts it meanwhile. */
  #borrow(file: LibraryFile): Lease {
    const key = keyOf(file)
    let lease = this.#leases.get(key)
    if (!lease) {
      lease = { opened: openIdentified(file), users: 0, evicted: false, trustedUntil: Date.now() + TRUSTED_MS }
      this.#leases.set(key, lease)
    }
    lease.users++
    return lease
  }

  #giveBack(lease: Lease): void {
    lease.users--
    this.#closeUnused(lease)
  }

  #drop(file: LibraryFile, lease: Lease): void {
    const key = keyOf(file)
    if (this.#leases.peek(key) === lease) this.#leases.delete(key)
  }

  /** Whether the path still refers to the open file; checked at most every few seconds. */
  async #isCurrent({ root, path }: LibraryFile, lease: Lease): Promise<boolean> {
    if (Date.now() < lease.trustedUntil) return true
    const [{ identity }, now] = await Promise.all([lease.opened, askDisk(root, () => stat(path, { bigint: true }))])
    lease.trustedUntil = Date.now() + TRUSTED_MS
    return identity === identityOf(now)
  }

  /** Runs `use`, which reads by `askDisk`, with a descriptor that stays open meanwhile. `fresh` closes the cached descriptor of that file first. */
  async withFile<Result>(file: LibraryFile, use: (file: OpenFile) => Promise<Result>, options: { fresh?: boolean } = {}): Promise<Result> {
    let lease = this.#borrow(file)
    try {
      if (options.fresh || !(await this.#isCurrent(file, lease).catch(() => false))) {
        this.#drop(file, lease)
        this.#giveBack(lease)
        lease = this.#borrow(file)
      }
      const { file: opened, identity } = await lease.opened
      return await use({ fd: opened.fd, identity })
    } catch (error) {
      this.#drop(file, lease)
      throw error
    } finally {
      this.#giveBack(lease)
    }
  }

  /** The number of open files, for tests. */
  size(): number {
    return this.#leases.size
  }

  async close(): Promise<void> {
    clearInterval(this.#looking)
    this.#leases.clear()
    await Promise.all(this.#closing)
  }
}

/** A file that was checked to be inside one library may be outside another. */
const keyOf = ({ root, path, linkTargets = [] }: LibraryFile) => [root, path, ...linkTargets].join('\0')

async function openIdentified(inside: LibraryFile): Promise<{ file: FileHandle; identity: string }> {
  const file = await openInside(inside)
  try {
    return { file, identity: identityOf(await askDisk(inside.root, () => file.stat({ bigint: true }))) }
  } catch (error) {
    await closeInside(inside.root, file)
    throw error
  }
}

/** Whether an open file still has this identity: somebody may have written to it. */
export function hasIdentity({ fd, identity }: OpenFile): Promise<boolean> {
  return new Promise((resolve, reject) => {
    fstat(fd, { bigint: true }, (error, stats) => (error ? reject(error) : resolve(identityOf(stats) === identity)))
  })
}

function identityOf(stats: { dev: bigint; ino: bigint; size: bigint; mtimeNs: bigint }): string {
  return `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeNs}`
}
