import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate as yieldTurn } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { SingleFlight } from '#core/database/single-flight.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { Register } from '#core/foundation/register.ts'
import {
  codeOf,
  type Entry,
  EXTRACTED,
  readFolder,
  readTrailer,
  removeEmpty,
  type StoredPicture,
  TEMPORARY,
  TRAILER_BYTES,
  totalBytes,
  trailerOf,
  writeManifest,
} from '#core/reading/page-cache-files.ts'

interface PageCacheCount {
  folder: string
  /** Whether its limit is above 0. */
  isEnabled: boolean
  files: number
  bytes: number
  /** Files with cached pages: books, equal ones counted once. */
  books: number
  /** Milliseconds since the least recently used entry was used; null when the cache is empty. */
  oldestMs: number | null
}

interface DroppedPages {
  files: number
  bytes: number
}

/** The last use is written to disk (as mtime) no more often than this: the order after a restart needs no more precision. */
const TOUCH_EVERY_MS = 3_600_000
/** Entries checked without a pause: a full cache has a hundred thousand, and other requests must be served in between. */
const LOOK_STEP = 2_000
/** Concurrent deletions: each is a system call. */
const DROP_STEP = 200
/** Each attempt fails only when another entry of the folder is deleted at that very moment. */
const MOVE_ATTEMPTS_MAX = 5

interface PageCacheOptions {
  folder: string
  bytesMax: number
  log: Log
}

/** Opens the cache in `folder`, which belongs to it alone: reads the complete entries of an earlier run and deletes the rest. */
export async function openPageCache(options: PageCacheOptions): Promise<PageCache> {
  return await new PageCache(options).open()
}

/** An entry with its path in the folder. */
type Kept = Entry & { path: string }

/**
 * Pictures that are costly to make, cached on disk below a limit of bytes; the least recently used are evicted first. Entries are named by
 * the hash of the file that they were made from, so none is ever outdated. Concurrent requests for one entry make it once.
 */
export class PageCache {
  readonly #options: PageCacheOptions
  readonly #flights = new SingleFlight()
  readonly #removals = new Register<Promise<void>>()
  readonly #temporary
  readonly #entries

  constructor(options: PageCacheOptions) {
    this.#options = options
    this.#temporary = join(options.folder, TEMPORARY)
    this.#entries = new BoundedCache<Kept>({
      bytesMax: options.bytesMax,
      // On disk.
      bytesOf: ({ bytes }) => Math.max(1, bytes),
      entryBytes: 0,
      // Only entries that leave the cache are deleted from disk; a replaced entry is the same file again.
      dispose: ({ path }, reason) => {
        if (reason === 'evict' || reason === 'delete') this.#remove(path)
      },
    })
  }

  async open(): Promise<this> {
    await rm(this.#temporary, { recursive: true, force: true })
    await mkdir(this.#temporary, { recursive: true, mode: 0o700 })
    for (const [key, entry] of (await readFolder(this.#options.folder)).sort((a, b) => a[1].usedAt - b[1].usedAt))
      this.#entries.set(key, Object.assign(entry, { path: key }))
    return this
  }

  #remove(key: string): void {
    const gone = rm(join(this.#options.folder, key), { recursive: true, force: true })
      .then(() => removeEmpty(this.#options.folder, dirname(key)))
      .catch((cause) =>
        this.#options.log.warn({ err: cause, path: join(this.#options.folder, key) }, 'Could not delete a file of the page cache.'),
      )
      .then(() => {
        if (this.#removals.get(key) === gone) this.#removals.delete(key)
      })
    this.#removals.set(key, gone)
  }

  /** Moves a finished file or folder to its place, atomically. */
  async #store(from: string, key: string, entry: Entry): Promise<void> {
    const to = join(this.#options.folder, key)
    await this.#removals.get(key)
    if (entry.files) await rm(to, { recursive: true, force: true })
    for (let attempt = 1; ; attempt++) {
      try {
        await mkdir(dirname(to), { recursive: true, mode: 0o700 })
        await rename(from, to)
        break
      } catch (cause) {
        // The last other entry may have been deleted between the two calls, and its empty folder too.
        if (codeOf(cause) !== 'ENOENT' || attempt === MOVE_ATTEMPTS_MAX) throw cause
      }
    }
    this.#entries.set(key, Object.assign(entry, { path: key }))
  }

  #use(key: string): Entry | undefined {
    const entry = this.#entries.get(key)
    const now = Date.now()
    if (entry && now - entry.usedAt > TOUCH_EVERY_MS) {
      entry.usedAt = now
      utimes(join(this.#options.folder, key), new Date(now), new Date(now)).catch(() => {})
    }
    return entry
  }

  async #findPicture(key: string): Promise<StoredPicture | null> {
    if (!this.#use(key)) return null
    const stored = readTrailer(await readFile(join(this.#options.folder, key)).catch(() => null))
    if (!stored) this.#entries.delete(key)
    return stored
  }

  /** Undefined when the book is not cached, null when it is cached without this page. */
  async #findExtracted(key: string, index: number): Promise<Buffer | null | undefined> {
    const files = this.#use(key)?.files
    if (!files) return undefined
    const expected = files[index]
    if (!expected) return null
    const bytes = await readFile(join(this.#options.folder, key, String(index))).catch(() => null)
    if (bytes && bytes.length === expected.bytes && crc32(bytes) === expected.crc32) return bytes
    this.#entries.delete(key)
    return undefined
  }

  #checkRoom(bytes: number): void {
    if (bytes <= this.#options.bytesMax) return
    refuse(
      'unavailable',
      `The pages of this book can only be extracted together and take ${bytes} bytes; the page cache may hold ${this.#options.bytesMax}. Raise its limit.`,
    )
  }

  async #keep(key: string, picture: StoredPicture): Promise<void> {
    const bytes = picture.bytes.length + TRAILER_BYTES
    if (bytes > this.#options.bytesMax) return
    const from = join(this.#temporary, randomUUID())
    try {
      await writeFile(from, [picture.bytes, trailerOf(picture)])
      await this.#store(from, key, { bytes, usedAt: Date.now() })
    } catch (cause) {
      // With a full disk, the next request must make the page again; this one still gets it.
      this.#options.log.warn({ err: cause, folder: this.#options.folder }, 'Could not store a page in the page cache.')
      await rm(from, { force: true }).catch(() => {})
    }
  }

  /** The picture of that name, if it is cached. */
  find({ hash, name }: { hash: string; name: string }): Promise<StoredPicture | null> {
    return this.#findPicture(keyOf(hash, name))
  }

  /** Stores a picture that was made besides the one that was asked for, if there is room. */
  keep({ hash, name }: { hash: string; name: string }, picture: StoredPicture): Promise<void> {
    return this.#keep(keyOf(hash, name), picture)
  }

  /** The picture `name` for the content `hash`; if absent, `make` creates it. A result without a picture (a refusal) is returned and not cached. */
  async picture<R>(
    key: { hash: string; name: string },
    signal: AbortSignal,
    make: (signal: AbortSignal) => Promise<StoredPicture | R>,
  ): Promise<StoredPicture | R> {
    const path = keyOf(key.hash, key.name)
    const stored = await this.#findPicture(path)
    if (stored) return stored
    return await this.#flights.join(path, signal, async (running) => {
      // Another call may have finished between our check and now.
      const meanwhile = await this.#findPicture(path)
      if (meanwhile) return meanwhile
      const made = await make(running)
      if (isPicture(made)) await this.#keep(path, made)
      return made
    })
  }

  /**
   * Page `index` of a book whose pages can only be extracted together: `extract` fills a folder with files "0", "1", … once. Its
   * refusal (any result but null) is returned, and its folder is deleted. Null when `extract` skipped this one page.
   * @param key.bytes the size of all pages, as far as known
   * @throws unavailable when that is more than the cache may hold
   */
  async extracted<R extends object>(
    key: { hash: string; index: number; count: number; bytes: number },
    signal: AbortSignal,
    extract: (folder: string, signal: AbortSignal) => Promise<R | null>,
  ): Promise<Uint8Array | R | null> {
    const path = keyOf(key.hash, EXTRACTED)
    const stored = await this.#findExtracted(path, key.index)
    if (stored !== undefined) return stored
    const refusal = await this.#flights.join(path, signal, async (running) => {
      if ((await this.#findExtracted(path, key.index)) !== undefined) return null
      this.#checkRoom(key.bytes)
      const from = join(this.#temporary, randomUUID())
      try {
        await mkdir(from, { mode: 0o700 })
        const refused = await extract(from, running)
        if (refused !== null) return refused
        const files = await writeManifest(from, key.count)
        const bytes = totalBytes(files)
        this.#checkRoom(bytes)
        await this.#store(from, path, { bytes, usedAt: Date.now(), files })
        return null
      } finally {
        await rm(from, { recursive: true, force: true })
      }
    })
    if (refusal !== null) return refusal
    const extracted = await this.#findExtracted(path, key.index)
    if (extracted !== undefined) return extracted
    refuse('unavailable', 'The page cache is too busy to store the pages of this book; try again shortly.', { retryAfterSeconds: 5 })
  }

  /** Bytes on disk. */
  size(): number {
    return this.#entries.bytes
  }

  /** Counts its entries. */
  async count(): Promise<PageCacheCount> {
    const books = new Set<string>()
    let files = 0
    let oldest: number | null = null
    for (const [index, { path }] of this.#entries.values().entries()) {
      if (index % LOOK_STEP === 0) await yieldTurn()
      const entry = this.#entries.peek(path)
      if (!entry) continue
      books.add(dirname(path))
      files += filesOf(entry)
      oldest = Math.min(oldest ?? entry.usedAt, entry.usedAt)
    }
    const oldestMs = oldest === null ? null : Math.max(0, Date.now() - oldest)
    return {
      folder: this.#options.folder,
      isEnabled: this.#options.bytesMax > 0,
      files,
      bytes: this.#entries.bytes,
      books: books.size,
      oldestMs,
    }
  }

  /**
   * Deletes entries that were not used for this long, 0 for all; reading continues meanwhile, and missing entries are made again.
   * @param run.progress in entries checked
   */
  async drop(
    unusedMs: number,
    { signal, progress }: { signal?: AbortSignal; progress?: (current: number, total: number) => void } = {},
  ): Promise<DroppedPages> {
    const dropped = { files: 0, bytes: 0 }
    const all = this.#entries.values()
    for (const [index, { path }] of all.entries()) {
      if (index % DROP_STEP === 0) {
        // Waits for these deletions before it starts more.
        await Promise.all(this.#removals.values())
        signal?.throwIfAborted()
        progress?.(index, all.length)
      }
      const entry = this.#entries.peek(path)
      if (!entry || Date.now() - entry.usedAt < unusedMs) continue
      dropped.files += filesOf(entry)
      dropped.bytes += entry.bytes
      this.#entries.delete(path)
    }
    await Promise.all(this.#removals.values())
    progress?.(all.length, all.length)
    return dropped
  }

  /** Stops running work and waits for the disk. */
  async close(): Promise<void> {
    await this.#flights.close()
    await Promise.all(this.#removals.values())
  }
}

const keyOf = (hash: string, name: string) => join(hash.slice(0, 2), hash, name)

function isPicture(made: unknown): made is StoredPicture {
  return typeof made === 'object' && made !== null && 'bytes' in made && 'mediaType' in made
}

const filesOf = ({ files }: Entry) => files?.filter((file) => file !== null).length ?? 1
