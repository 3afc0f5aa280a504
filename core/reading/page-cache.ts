import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, rmdir, stat, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate as yieldTurn } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import { openSingleFlight } from '#core/database/single-flight.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'

export interface StoredPicture {
  bytes: Uint8Array
  mediaType: string
}

/**
 * Pictures that cost something to make, kept on disk below a limit of bytes; the longest unused goes first. Everything is named by
 * the hash of the file it was made from, so nothing in here is ever out of date. One answer is made once, however many ask.
 */
export interface PageCache {
  /** The picture `name` made from the content `hash`; made by `make` and kept when it is not there. What is no picture (a refusal) is handed on and not kept. */
  picture<R>(
    key: { hash: string; name: string },
    signal: AbortSignal,
    make: (signal: AbortSignal) => Promise<StoredPicture | R>,
  ): Promise<StoredPicture | R>
  /**
   * Page `index` of a book whose pages can only be had together: `extract` fills a folder with files "0", "1", … once. A refusal of
   * it (anything but null) is handed on, and nothing of its folder stays. Null when `extract` left out this one page.
   * @param key.bytes what all pages take, as far as known
   * @throws unavailable when that is more than the cache may hold
   */
  extracted<R extends object>(
    key: { hash: string; index: number; count: number; bytes: number },
    signal: AbortSignal,
    extract: (folder: string, signal: AbortSignal) => Promise<R | null>,
  ): Promise<Uint8Array | R | null>
  /** Bytes on disk. */
  size(): number
  /** What lies in it, counted. */
  count(): Promise<PageCacheCount>
  /**
   * Removes what was not used for so long, 0 for all of it; readers find the rest meanwhile, and what they miss is made anew.
   * @param run.progress of the things that were looked at
   */
  drop(unusedMs: number, run?: { signal?: AbortSignal; progress?: (current: number, total: number) => void }): Promise<DroppedPages>
  /** Stops what runs and waits for the disk. */
  close(): Promise<void>
}

export interface PageCacheCount {
  folder: string
  /** Whether it may hold anything. */
  isEnabled: boolean
  files: number
  bytes: number
  /** Files that pages were made from: books, equal ones counted once. */
  books: number
  /** Since the longest unused was used; null when there is nothing. */
  oldestMs: number | null
}

export interface DroppedPages {
  files: number
  bytes: number
}

/** One thing that comes and goes as a whole: a picture file, or the folder of an extracted book with what is in it. */
interface Entry {
  bytes: number
  usedAt: number
  files?: Extracted[]
}

/** One extracted page; null where there is none, so that a damaged page does not have the whole book extracted again and again. */
type Extracted = { bytes: number; crc32: number } | null

const MAGIC = 0x4361_5231
/** Behind the picture: magic, CRC-32, length, media type. Told apart from a file that a power cut left short or empty. */
const TRAILER_BYTES = 4 + 4 + 8 + 32
/** Last use is remembered on disk (as mtime) no more often than this: order after a restart needs no better. */
const TOUCH_EVERY_MS = 3_600_000
/** Name of the folder of an extracted book, and of the list of what it must hold. */
const EXTRACTED = 'pages'
const MANIFEST = 'manifest.json'
const TEMPORARY = 'temporary'
/** Looked at in one go: a full cache has a hundred thousand things, and others are served meanwhile. */
const LOOK_STEP = 2_000
/** Removals under way at a time: each is a call of the system. */
const DROP_STEP = 200
/** Each attempt fails only when another neighbour goes at that very moment. */
const PLACE_ATTEMPTS_MAX = 5

/** Opens the cache in `folder`, which belongs to it alone: takes over what an earlier run left whole and removes the rest. */
export async function openPageCache(options: { folder: string; bytesMax: number; log: Log }): Promise<PageCache> {
  const { folder, log } = options
  const flights = openSingleFlight()
  const removals = new Map<string, Promise<void>>()
  const temporary = join(folder, TEMPORARY)
  await rm(temporary, { recursive: true, force: true })
  await mkdir(temporary, { recursive: true, mode: 0o700 })

  const entries = new LRUCache<string, Entry>({
    maxSize: options.bytesMax,
    sizeCalculation: (entry) => Math.max(1, entry.bytes),
    // Only what leaves the cache goes from disk; a replaced entry is the same file anew.
    dispose: (_, key, reason) => {
      if (reason === 'evict' || reason === 'delete') remove(key)
    },
  })
  for (const [key, entry] of (await readFolder(folder)).sort((a, b) => a[1].usedAt - b[1].usedAt)) entries.set(key, entry)

  function remove(key: string): void {
    const gone = rm(join(folder, key), { recursive: true, force: true })
      .then(() => removeEmpty(folder, dirname(key)))
      .catch((cause) => log.warn({ err: cause, path: join(folder, key) }, 'A file of the page cache could not be removed.'))
      .then(() => {
        if (removals.get(key) === gone) removals.delete(key)
      })
    removals.set(key, gone)
  }

  /** Puts a finished file or folder in its place, all at once. */
  async function place(from: string, key: string, entry: Entry): Promise<void> {
    const to = join(folder, key)
    await removals.get(key)
    if (entry.files) await rm(to, { recursive: true, force: true })
    for (let attempt = 1; ; attempt++) {
      try {
        await mkdir(dirname(to), { recursive: true, mode: 0o700 })
        await rename(from, to)
        break
      } catch (cause) {
        // The last neighbour may have gone between the two, and its empty folder with it.
        if (codeOf(cause) !== 'ENOENT' || attempt === PLACE_ATTEMPTS_MAX) throw cause
      }
    }
    entries.set(key, entry)
  }

  function use(key: string): Entry | undefined {
    const entry = entries.get(key)
    const now = Date.now()
    if (entry && now - entry.usedAt > TOUCH_EVERY_MS) {
      entry.usedAt = now
      utimes(join(folder, key), new Date(now), new Date(now)).catch(() => {})
    }
    return entry
  }

  async function findPicture(key: string): Promise<StoredPicture | null> {
    if (!use(key)) return null
    const stored = readTrailer(await readFile(join(folder, key)).catch(() => null))
    if (!stored) entries.delete(key)
    return stored
  }

  /** Undefined when the book is not there, null when it is but lacks this page. */
  async function findExtracted(key: string, index: number): Promise<Buffer | null | undefined> {
    const files = use(key)?.files
    if (!files) return undefined
    const expected = files[index]
    if (!expected) return null
    const bytes = await readFile(join(folder, key, String(index))).catch(() => null)
    if (bytes && bytes.length === expected.bytes && crc32(bytes) === expected.crc32) return bytes
    entries.delete(key)
    return undefined
  }

  function checkRoom(bytes: number): void {
    if (bytes <= options.bytesMax) return
    refuse(
      'unavailable',
      `The pages of this book can only be unpacked together and take ${bytes} bytes; the page cache may hold ${options.bytesMax}. Raise its limit.`,
    )
  }

  async function keep(key: string, picture: StoredPicture): Promise<void> {
    const bytes = picture.bytes.length + TRAILER_BYTES
    if (bytes > options.bytesMax) return
    const from = join(temporary, randomUUID())
    try {
      await writeFile(from, [picture.bytes, trailerOf(picture)])
      await place(from, key, { bytes, usedAt: Date.now() })
    } catch (cause) {
      // A full disk makes the next reader wait again; it does not take the page from this one.
      log.warn({ err: cause, folder }, 'A page could not be kept in the page cache.')
      await rm(from, { force: true }).catch(() => {})
    }
  }

  return {
    async picture(key, signal, make) {
      const path = keyOf(key.hash, key.name)
      const stored = await findPicture(path)
      if (stored) return stored
      return await flights.join(path, signal, async (running) => {
        // Whoever made it a moment ago may have finished between our look and now.
        const meanwhile = await findPicture(path)
        if (meanwhile) return meanwhile
        const made = await make(running)
        if (isPicture(made)) await keep(path, made)
        return made
      })
    },

    async extracted(key, signal, extract) {
      const path = keyOf(key.hash, EXTRACTED)
      const stored = await findExtracted(path, key.index)
      if (stored !== undefined) return stored
      const refusal = await flights.join(path, signal, async (running) => {
        if ((await findExtracted(path, key.index)) !== undefined) return null
        checkRoom(key.bytes)
        const from = join(temporary, randomUUID())
        try {
          await mkdir(from, { mode: 0o700 })
          const refused = await extract(from, running)
          if (refused !== null) return refused
          const files = await writeManifest(from, key.count)
          const bytes = totalBytes(files)
          checkRoom(bytes)
          await place(from, path, { bytes, usedAt: Date.now(), files })
          return null
        } finally {
          await rm(from, { recursive: true, force: true })
        }
      })
      if (refusal !== null) return refusal
      const extracted = await findExtracted(path, key.index)
      if (extracted !== undefined) return extracted
      refuse('unavailable', 'The page cache is too busy to keep the pages of this book; try again shortly.', { retryAfterSeconds: 5 })
    },

    size: () => entries.calculatedSize,

    async count() {
      const books = new Set<string>()
      let files = 0
      let oldest: number | null = null
      for (const [index, key] of [...entries.keys()].entries()) {
        if (index % LOOK_STEP === 0) await yieldTurn()
        const entry = entries.peek(key)
        if (!entry) continue
        books.add(dirname(key))
        files += filesOf(entry)
        oldest = Math.min(oldest ?? entry.usedAt, entry.usedAt)
      }
      const oldestMs = oldest === null ? null : Math.max(0, Date.now() - oldest)
      return { folder, isEnabled: options.bytesMax > 0, files, bytes: entries.calculatedSize, books: books.size, oldestMs }
    },

    async drop(unusedMs, { signal, progress } = {}) {
      const dropped = { files: 0, bytes: 0 }
      const keys = [...entries.keys()]
      for (const [index, key] of keys.entries()) {
        if (index % DROP_STEP === 0) {
          // So many removals at a time, and not all at once.
          await Promise.all(removals.values())
          signal?.throwIfAborted()
          progress?.(index, keys.length)
        }
        const entry = entries.peek(key)
        if (!entry || Date.now() - entry.usedAt < unusedMs) continue
        dropped.files += filesOf(entry)
        dropped.bytes += entry.bytes
        entries.delete(key)
      }
      await Promise.all(removals.values())
      progress?.(keys.length, keys.length)
      return dropped
    },

    async close() {
      await flights.close()
      await Promise.all(removals.values())
    },
  }
}

const keyOf = (hash: string, name: string) => join(hash.slice(0, 2), hash, name)

function isPicture(made: unknown): made is StoredPicture {
  return typeof made === 'object' && made !== null && 'bytes' in made && 'mediaType' in made
}

function trailerOf(picture: StoredPicture): Buffer {
  const trailer = Buffer.alloc(TRAILER_BYTES)
  trailer.writeUInt32BE(MAGIC, 0)
  trailer.writeUInt32BE(crc32(picture.bytes), 4)
  trailer.writeBigUInt64BE(BigInt(picture.bytes.length), 8)
  trailer.write(picture.mediaType, 16, 'latin1')
  return trailer
}

/** The picture in front of its trailer; null when the file is not whole. */
function readTrailer(file: Buffer | null): StoredPicture | null {
  if (!file || file.length < TRAILER_BYTES) return null
  const bytes = file.subarray(0, file.length - TRAILER_BYTES)
  const trailer = file.subarray(bytes.length)
  if (trailer.readUInt32BE(0) !== MAGIC || trailer.readBigUInt64BE(8) !== BigInt(bytes.length)) return null
  if (trailer.readUInt32BE(4) !== crc32(bytes)) return null
  return { bytes, mediaType: trailer.toString('latin1', 16).split('\0', 1)[0] as string }
}

const filesOf = ({ files }: Entry) => files?.filter((file) => file !== null).length ?? 1

const totalBytes = (files: readonly Extracted[]) => files.reduce((sum, file) => sum + (file?.bytes ?? 0), 0)

/** Notes size and checksum of every extracted file beside them. */
async function writeManifest(folder: string, count: number): Promise<Extracted[]> {
  const files: Extracted[] = []
  for (let index = 0; index < count; index++) {
    const bytes = await readFile(join(folder, String(index))).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOENT') return null
      throw cause
    })
    files.push(bytes && { bytes: bytes.length, crc32: crc32(bytes) })
  }
  await writeFile(join(folder, MANIFEST), JSON.stringify(files))
  return files
}

/** Everything an earlier run left: `<2 hex>/<hash>/<picture>` and `<2 hex>/<hash>/pages/`. What is not whole is removed. */
async function readFolder(folder: string): Promise<[key: string, entry: Entry][]> {
  const found: [string, Entry][] = []
  for (const prefix of await readdir(folder)) {
    if (prefix === TEMPORARY) continue
    for (const hash of await readdir(join(folder, prefix)).catch(() => [])) {
      for (const name of await readdir(join(folder, prefix, hash)).catch(() => [])) {
        const key = join(prefix, hash, name)
        const entry = await readEntry(join(folder, key)).catch(() => null)
        if (entry) found.push([key, entry])
        else await rm(join(folder, key), { recursive: true, force: true })
      }
      await removeEmpty(folder, join(prefix, hash))
    }
    await removeEmpty(folder, prefix)
  }
  return found
}

/** Removes this folder of the cache and those above it, as far as they are empty: millions of them would slow down every start. */
async function removeEmpty(folder: string, path: string): Promise<void> {
  for (let below = path; below !== '.'; below = dirname(below)) {
    try {
      await rmdir(join(folder, below))
    } catch (cause) {
      const code = codeOf(cause)
      // Somebody else may have removed it first. EEXIST is how some systems say ENOTEMPTY; ENOTDIR: a stranger's file.
      if (code === 'ENOENT') continue
      if (code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOTDIR') return
      throw cause
    }
  }
}

const codeOf = (cause: unknown) => (cause instanceof Error && 'code' in cause ? cause.code : undefined)

async function readEntry(path: string): Promise<Entry | null> {
  const facts = await stat(path)
  if (facts.isFile()) return facts.size > TRAILER_BYTES ? { bytes: facts.size, usedAt: facts.mtimeMs } : null
  const files = JSON.parse(await readFile(join(path, MANIFEST), 'utf8')) as Extracted[]
  return { bytes: totalBytes(files), usedAt: facts.mtimeMs, files }
}
