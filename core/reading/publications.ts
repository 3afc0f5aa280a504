import { buffer } from 'node:stream/consumers'
import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { BookLookup } from '#core/catalog/book-lookup.ts'
import { libraryFileOf, type ReadableBook } from '#core/catalog/readable-book-query.ts'
import { SingleFlight } from '#core/database/single-flight.ts'
import type { Problem, ZipLocation } from '#core/fields/analysis.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import { memoryBytes } from '#core/foundation/memory-bytes.ts'
import { Semaphore } from '#core/foundation/semaphore.ts'
import { checkReadable, checkUnchanged, isTemporary, refuseForNow } from '#core/reading/file-problems.ts'
import { type OpenPublication, unpackPublication } from '#core/reading/packed-publication.ts'
import {
  CHAPTER_BYTES_MAX,
  type CleanChapter,
  GZIP_EXTRA_BYTES,
  isDocument,
  type OpenedEntry,
  type OpenZipEntry,
  type PublicationFile,
  type PublicationOutcome,
  type ReadPublication,
} from '#core/reading/publication.ts'

/** A file in an EPUB that the caller may see. Nothing of it has been read yet. */
interface FoundResource {
  path: string
  mediaType: string
  /** Identifies the content; without quotes. */
  etag: string
  fileHash: string | null
  /** As the archive declares them. */
  bytes: number
  /** Of a gzip, which costs less than the plain bytes if the archive stores the file deflated; otherwise null. */
  gzipBytes: number | null
  /** Whether the caller may still see its book. */
  isAllowed: () => Promise<boolean>
  /**
   * Verifies size and checksum. The caller must call `close`, once.
   * @throws page_unreadable, not_found (the file is missing), conflict (it has changed since its analysis), unavailable (also when too
   *   many are being sent)
   */
  open(options: { asGzip: boolean }): Promise<OpenedResource>
  /**
   * The document without what could run, send, or contact another site; null for files that are not documents. The caller must call `close`, once.
   * @throws what `open` throws, and page_unreadable for a document that is too large or too deep
   */
  openClean: (() => Promise<CleanedResource>) | null
}

/** Its media type is XHTML for chapters of HTML, and for all chapters of a text that flows. */
interface CleanedResource {
  bytes: Uint8Array
  mediaType: string
  close(): void
}

interface OpenedResource extends OpenedEntry {
  close(): void
}

/** How much memory all responses together may use. */
const IN_FLIGHT_LIMITS = {
  /** A thousand short files being sent to slow clients, or half as many long ones. */
  bytesMax: 576 * 1024 * 1024,
  perUserMax: 288 * 1024 * 1024,
}
/** For a file that is read while it is sent: a chunk that is read, one that is decompressed and two in the connection. */
const LONG_IN_FLIGHT_BYTES = 1024 * 1024
/** A chapter that is cleaned: the file, the copy in its thread, and the result. */
const CLEANING_COPIES = 3
/** Sending a file takes a moment. */
const RETRY_SECONDS = 2

type ReadableFile = PublicationFile & { zip: ZipLocation }
/** @property weight bytes of memory; by default those of a file that is sent */
interface OpenOptions {
  userId: string
  asGzip: boolean
  weight?: number
}

interface PublicationDependencies {
  database: Knex
  readPublication: ReadPublication
  openZipEntry: OpenZipEntry
  cleanChapter: CleanChapter
  /** How long permissions are cached; a fifth of a second by default. */
  rightsFreshMs?: number
  inFlight?: typeof IN_FLIGHT_LIMITS
}

/** About 1,600 books of 100 files: more than one server's users read at the same time. */
const MEMORY_BYTES_MAX = 64 * 1024 * 1024
/** 128 bits distinguish contents. */
const ETAG_HASH_DIGITS = 32

type Loaded = { publication: OpenPublication; memory: number } | { problem: Problem }

/**
 * Serves the content of EPUBs to callers who may see them. Packages are read once for each version of a file, in the pool; after that, an entry costs one map
 * look-up and one read.
 */
export class Publications {
  readonly #dependencies: PublicationDependencies
  readonly #lookup
  readonly #flights = new SingleFlight()
  readonly #known = new BoundedCache<Loaded>({ bytesMax: MEMORY_BYTES_MAX, bytesOf: memoryOf, keepsLargest: true })
  /** Of the bytes in memory. */
  readonly #budget: Semaphore

  constructor(dependencies: PublicationDependencies) {
    this.#dependencies = dependencies
    this.#lookup = new BookLookup(dependencies.database, { freshMs: dependencies.rightsFreshMs })
    const { bytesMax, perUserMax } = dependencies.inFlight ?? IN_FLIGHT_LIMITS
    this.#budget = new Semaphore(bytesMax, perUserMax)
  }

  async #load(book: ReadableBook, signal: AbortSignal | undefined): Promise<Loaded> {
    const key = versionOf(book)
    const remembered = this.#known.get(key)
    if (remembered) return remembered
    return await this.#flights.join(key, signal, async (running) => {
      await checkUnchanged(book)
      const outcome: PublicationOutcome = await this.#dependencies.readPublication(libraryFileOf(book), { signal: running })
      const loaded: Loaded = 'problem' in outcome ? outcome : await unpackPublication(outcome.bytes)
      // Problems of this machine are temporary; other results stay the same until the file changes.
      if (!('problem' in loaded) || !isTemporary(loaded.problem)) this.#known.set(key, loaded)
      return loaded
    })
  }

  /**
   * @throws not_found (no such book, or hidden), not_analyzed, invalid_value (not an EPUB), page_unreadable, conflict, unavailable
   */
  async get(request: { caller: Caller; bookId: string; signal?: AbortSignal }) {
    const book = await this.#lookup.getAnalyzed(request)
    if (book.format !== 'epub') refuse('invalid_value', `"${book.fileName}" is not an EPUB; it has no files inside.`)
    const loaded = await this.#load(book, request.signal)
    if ('problem' in loaded) await refuseFile(book, loaded.problem, `"${book.fileName}" cannot be read`)
    else return { book, publication: loaded.publication }
    throw new Error('refuseFile() returned')
  }

  async #open(book: ReadableBook, file: ReadableFile, { userId, asGzip, weight = inFlightBytes(file) }: OpenOptions) {
    const { path: name, bytes, zip } = file
    const release = this.#budget.tryEnter({ key: userId, weight })
    if (!release)
      refuse('unavailable', 'Too many files of books are being sent at the moment. Try again in a moment.', {
        retryAfterSeconds: RETRY_SECONDS,
      })
    try {
      const outcome = await this.#dependencies.openZipEntry({ ...libraryFileOf(book), name, bytes, zip, asGzip })
      if ('entry' in outcome) return { ...outcome.entry, close: release }
      return await refuseFile(book, outcome.problem, `"${name}" of "${book.fileName}" cannot be read`)
    } catch (cause) {
      release()
      if (cause instanceof AppError) throw cause
      await checkUnchanged(book)
      refuseForNow(book, cause)
    }
  }

  async #openClean(
    book: ReadableBook,
    file: ReadableFile,
    { userId, isFlowing }: { userId: string; isFlowing: boolean },
  ): Promise<CleanedResource> {
    const { path: name, bytes, mediaType } = file
    const what = `"${name}" of "${book.fileName}" cannot be shown`
    if (bytes > CHAPTER_BYTES_MAX)
      refuse(
        'page_unreadable',
        `${what}: it has ${bytes} bytes, and at most ${CHAPTER_BYTES_MAX} are cleaned. Download the book to read it.`,
        {
          details: { bytes, bytesMax: CHAPTER_BYTES_MAX },
        },
      )
    const { close, ...entry } = await this.#open(book, file, { userId, asGzip: false, weight: CLEANING_COPIES * bytes })
    try {
      const content = entry.whole ?? (await buffer(entry.read({ start: 0, end: entry.bytes })))
      const outcome = await this.#dependencies.cleanChapter({ bytes: content, mediaType, isFlowing })
      if ('problem' in outcome) return await refuseFile(book, outcome.problem, what)
      return { ...outcome, close }
    } catch (cause) {
      close()
      if (cause instanceof AppError) throw cause
      await checkUnchanged(book)
      refuseForNow(book, cause)
    }
  }

  /** @param request.path in the archive; `..` never leaves it @throws what `get` throws, and not_found for an unknown path */
  async getResource(request: { caller: Caller; bookId: string; path: string; signal?: AbortSignal }): Promise<FoundResource> {
    const { book, publication } = await this.get(request)
    const { userId } = request.caller
    const file = publication.find(request.path)
    if (!file) refuse('not_found', `"${book.fileName}" contains no "${request.path.slice(0, 200)}".`)
    const { path, mediaType, zip } = file
    if (zip === null) refuse('page_unreadable', `"${path}" of "${book.fileName}" is encrypted, or uses an unsupported compression.`)
    return {
      path,
      mediaType,
      etag: `${(book.fileHash ?? book.id).slice(0, ETAG_HASH_DIGITS)}-${zip.offset}`,
      fileHash: book.fileHash,
      bytes: file.bytes,
      gzipBytes: zip.method === 8 ? zip.compressedBytes + GZIP_EXTRA_BYTES : null,
      isAllowed: async () => (await this.#lookup.find(request.caller, book.id)) !== null,
      open: ({ asGzip }) => this.#open(book, { ...file, zip }, { userId, asGzip }),
      openClean: isDocument(mediaType)
        ? () => this.#openClean(book, { ...file, zip }, { userId, isFlowing: flows(publication, file) })
        : null,
    }
  }

  /** A book that may be read, EPUB or not. @throws not_found, not_analyzed */
  getReadable(request: { caller: Caller; bookId: string }): Promise<ReadableBook> {
    return this.#lookup.getAnalyzed(request)
  }

  /** Cancels running work. */
  close(): Promise<void> {
    return this.#flights.close()
  }
}

/** Whether a file is a chapter of a text that flows. */
const flows = ({ isFixedLayout, spine, find }: OpenPublication, file: PublicationFile): boolean =>
  !isFixedLayout && spine.some(({ path }) => find(path) === file)

/** Refuses with the cause: the file as a whole, this machine, or else the content. */
async function refuseFile(book: ReadableBook, problem: Problem, what: string): Promise<never> {
  await checkUnchanged(book)
  if (isTemporary(problem)) refuse('unavailable', `${what} at the moment: ${problem.message}`, { details: problem.details })
  await checkReadable(book)
  refuse('page_unreadable', `${what}: ${problem.message}`, { details: { errorType: problem.type, ...problem.details } })
}

/** Identifies one content of one file: if a scan finds a change of the bytes alone, the hash changes. */
function versionOf(book: ReadableBook): string {
  return [book.libraryPath, ...book.linkTargets, book.path, `${book.fileBytes} ${book.mtimeNs} ${book.fileHash}`].join('\0')
}

/** The decompressed data is in memory together with the compressed data. */
function inFlightBytes({ bytes, zip }: { bytes: number; zip: ZipLocation }): number {
  return Math.min(LONG_IN_FLIGHT_BYTES, zip.method === 0 ? bytes : bytes + zip.compressedBytes)
}

const memoryOf = (known: Loaded): number => ('problem' in known ? memoryBytes(known) : known.memory)
