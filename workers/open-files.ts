import { close, constants, fstat, open, stat } from 'node:fs'
import { promisify } from 'node:util'
import { LRUCache } from 'lru-cache'

/** A reader turns pages of one book, a few dozen readers of a few dozen books: far below the 1,024 descriptors a process may have by default. */
const OPEN_FILES_MAX = 64
/** An idle descriptor keeps a deleted file's space and hinders unmounting. */
const IDLE_MS = 60_000
/** How long a replaced file may go unnoticed; its pages fail their CRC anyway. */
const TRUSTED_MS = 2_000

const openFile = promisify(open)
const closeFile = promisify(close)
const statFile = promisify(stat)
const statDescriptor = promisify(fstat)

interface Lease {
  fd: Promise<{ fd: number; identity: string }>
  users: number
  evicted: boolean
  trustedUntil: number
  checked: Map<number, number>
}

/** An open descriptor, and the CRC-32 of what was found good at an offset since it was opened; whoever checks adds to it. */
export interface OpenFile {
  fd: number
  checked: Map<number, number>
}

/** Files kept open between reads, so that a page is one positional read. */
export interface OpenFiles {
  /** Runs `use` with a descriptor that stays open meanwhile. `fresh` drops what is kept of that file first. */
  withFile<Result>(path: string, use: (file: OpenFile) => Promise<Result>, options?: { fresh?: boolean }): Promise<Result>
  /** How many are open; for tests. */
  size(): number
  close(): Promise<void>
}

export function openFiles(): OpenFiles {
  const closing = new Set<Promise<void>>()
  const leases = new LRUCache<string, Lease>({
    max: OPEN_FILES_MAX,
    ttl: IDLE_MS,
    updateAgeOnGet: true,
    ttlAutopurge: true,
    dispose(lease) {
      lease.evicted = true
      closeUnused(lease)
    },
  })

  function closeUnused(lease: Lease): void {
    if (!lease.evicted || lease.users > 0) return
    const done = lease.fd.then(({ fd }) => closeFile(fd)).catch(() => undefined)
    closing.add(done)
    done.finally(() => closing.delete(done))
  }

  function lend(path: string): Lease {
    const kept = leases.get(path)
    if (kept) return kept
    const lease: Lease = { fd: openIdentified(path), users: 0, evicted: false, trustedUntil: Date.now() + TRUSTED_MS, checked: new Map() }
    leases.set(path, lease)
    return lease
  }

  /** Whether the path still leads to the file that is open; asked at most every few seconds. */
  async function isCurrent(path: string, lease: Lease): Promise<boolean> {
    if (Date.now() < lease.trustedUntil) return true
    const [{ identity }, now] = await Promise.all([lease.fd, statFile(path, { bigint: true })])
    lease.trustedUntil = Date.now() + TRUSTED_MS
    return identity === identityOf(now)
  }

  return {
    async withFile(path, use, options = {}) {
      let lease = lend(path)
      if (options.fresh || !(await isCurrent(path, lease).catch(() => false))) {
        if (leases.peek(path) === lease) leases.delete(path)
        lease = lend(path)
      }
      lease.users++
      try {
        return await use({ fd: (await lease.fd).fd, checked: lease.checked })
      } catch (error) {
        if (leases.peek(path) === lease) leases.delete(path)
        throw error
      } finally {
        lease.users--
        closeUnused(lease)
      }
    },
    size: () => leases.size,
    async close() {
      leases.clear()
      await Promise.all(closing)
    },
  }
}

async function openIdentified(path: string): Promise<{ fd: number; identity: string }> {
  // A link in the place of a book is not followed, and a pipe does not make us wait.
  const fd = await openFile(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  return { fd, identity: identityOf(await statDescriptor(fd, { bigint: true })) }
}

function identityOf(stats: { dev: bigint; ino: bigint; size: bigint; mtimeNs: bigint }): string {
  return `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeNs}`
}
