import type { Knex } from 'knex'
import { LRUCache } from 'lru-cache'
import type { Caller } from '#core/account/caller.ts'
import { openBookLookup } from '#core/catalog/book-lookup.ts'
import type { ReadableBook } from '#core/catalog/readable-book-query.ts'
import { openSingleFlight } from '#core/database/single-flight.ts'
import { openByteBudget } from '#core/foundation/byte-budget.ts'
import { CarrelError, refuse } from '#core/foundation/errors.ts'
import { memoryBytes } from '#core/foundation/memory-bytes.ts'
import { normalizeText } from '#core/foundation/text.ts'
import type { Problem, ZipLocation } from '#core/metadata/analysis.ts'
import { checkReadable, checkUnchanged, isPassing, refuseForNow } from '#core/reading/file-faults.ts'
import {
  GZIP_EXTRA_BYTES,
  normalizeArchivePath,
  type OpenedEntry,
  type OpenZipEntry,
  type Publication,
  type PublicationFile,
  type PublicationOutcome,
  type ReadPublication,
} from '#core/reading/publication.ts'

/** An EPUB as its package describes it, with its files by their paths. */
export interface OpenPublication extends Publication {
  find(path: string): PublicationFile | undefined
}

/** A file in an EPUB that the caller may see. Nothing of it has been read yet. */
export interface FoundResource {
  path: string
  mediaType: string
  /** Names the content; without quotes. */
  etag: string
  fileHash: string | null
  /** As the archive declares them. */
  bytes: number
  /** Of a gzip, which costs less than the plain bytes where it lies there deflated; null elsewhere. */
  gzipBytes: number | null
  /**
   * Its size and checksum are right. Whoever opens it calls `close`, once.
   * @throws page_unreadable, not_found (the file has gone), conflict (it is no longer the one that was analyzed), unavailable (also when too
   *   many are being sent)
   */
  open(options: { asGzip: boolean }): Promise<OpenedResource>
}

export interface OpenedResource extends OpenedEntry {
  close(): void
}

/** What all answers may hold in memory. */
export const IN_FLIGHT_LIMITS = {
  /** A thousand short files on their way to slow clients, or half as many long ones. */
  bytesMax: 576 * 1024 * 1024,
  perUserMax: 288 * 1024 * 1024,
}
/** Of a file that is read while it is sent: a chunk that is read, one that is unpacked and two that the connection holds. */
const LONG_IN_FLIGHT_BYTES = 1024 * 1024
/** A file takes a moment. */
const RETRY_SECONDS = 2

/** Serves what EPUBs hold to callers who may see them. */
export interface Publications {
  /**
   * @throws not_found (no such book, or hidden), not_analyzed, invalid_value (no EPUB), page_unreadable, conflict, unavailable
   */
  get(ask: { caller: Caller; bookId: string; signal?: AbortSignal }): Promise<{ book: ReadableBook; publication: OpenPublication }>
  /** @param ask.path in the archive; `..` leads nowhere @throws what `get` throws, and not_found for a path of nothing */
  getResource(ask: { caller: Caller; bookId: string; path: string; signal?: AbortSignal }): Promise<FoundResource>
  /** A book that may be read, EPUB or not. @throws not_found, not_analyzed */
  getReadable(ask: { caller: Caller; bookId: string }): Promise<ReadableBook>
  /** Stops what runs. */
  close(): Promise<void>
}

export interface PublicationParts {
  database: Knex
  readPublication: ReadPublication
  openZipEntry: OpenZipEntry
  /** How long an answer on who may see a book is believed; a fifth of a second unless said. */
  rightsFreshMs?: number
  inFlight?: typeof IN_FLIGHT_LIMITS
}

/** Some 1,600 books of 100 files: more readers at once than one server feeds. */
const MEMORY_BYTES_MAX = 64 * 1024 * 1024
/** 128 bits tell contents apart. */
const ETAG_HASH_DIGITS = 32

type Known = { publication: OpenPublication } | { problem: Problem }

/** What the packages say is read once for each version of a file, in the pool; after that an entry is one look at a map and one read. */
export function openPublications(parts: PublicationParts): Publications {
  return new CachedPublications(parts)
}

class CachedPublications implements Publications {
  readonly #parts: PublicationParts
  readonly #lookup
  readonly #flights = openSingleFlight()
  readonly #known = new LRUCache<string, Known>({ maxSize: MEMORY_BYTES_MAX, sizeCalculation: memoryOf })
  readonly #inFlight
  readonly #budget

  constructor(parts: PublicationParts) {
    this.#parts = parts
    this.#lookup = openBookLookup(parts.database, { freshMs: parts.rightsFreshMs })
    this.#inFlight = parts.inFlight ?? IN_FLIGHT_LIMITS
    this.#budget = openByteBudget({ bytesMax: this.#inFlight.bytesMax, perOwnerMax: this.#inFlight.perUserMax })
  }

  async #load(book: ReadableBook, signal: AbortSignal | undefined): Promise<Known> {
    const key = versionOf(book)
    const remembered = this.#known.get(key)
    if (remembered) return remembered
    return await this.#flights.join(key, signal, async (running) => {
      await checkUnchanged(book)
      const outcome: PublicationOutcome = await this.#parts.readPublication(
        { root: book.libraryPath, path: book.path },
        { signal: running },
      )
      const loaded: Known = 'problem' in outcome ? outcome : { publication: openFiles(outcome.publication) }
      // What says something of this machine passes; the rest is found again only where it was read again.
      if (!('problem' in loaded) || !isPassing(loaded.problem)) this.#known.set(key, loaded)
      return loaded
    })
  }

  async get(ask: { caller: Caller; bookId: string; signal?: AbortSignal }) {
    const book = await this.#lookup.getAnalysed(ask)
    if (book.format !== 'epub') refuse('invalid_value', `"${book.fileName}" is no EPUB; it has no files of its own to ask for.`)
    const loaded = await this.#load(book, ask.signal)
    if ('problem' in loaded) await refuseFile(book, loaded.problem, `"${book.fileName}" cannot be read`)
    else return { book, publication: loaded.publication }
    throw new Error('A refusal came back')
  }

  async #open(book: ReadableBook, file: PublicationFile & { zip: ZipLocation }, { userId, asGzip }: { userId: string; asGzip: boolean }) {
    const { path: name, bytes, zip } = file
    const release = this.#budget.take(userId, inFlightBytes({ bytes, zip }))
    if (!release)
      refuse('unavailable', 'Too many files of books are being sent at the moment. Try again in a moment.', {
        retryAfterSeconds: RETRY_SECONDS,
      })
    try {
      const outcome = await this.#parts.openZipEntry({ root: book.libraryPath, path: book.path, name, bytes, zip, asGzip })
      if ('entry' in outcome) return { ...outcome.entry, close: release }
      return await refuseFile(book, outcome.problem, `"${name}" of "${book.fileName}" cannot be read`)
    } catch (cause) {
      release()
      if (cause instanceof CarrelError) throw cause
      await checkUnchanged(book)
      refuseForNow(book, cause)
    }
  }

  async getResource(ask: { caller: Caller; bookId: string; path: string; signal?: AbortSignal }): Promise<FoundResource> {
    const { book, publication } = await this.get(ask)
    const file = publication.find(ask.path)
    if (!file) refuse('not_found', `"${book.fileName}" holds no "${ask.path.slice(0, 200)}".`)
    const { path, zip } = file
    if (zip === null) refuse('page_unreadable', `"${path}" of "${book.fileName}" is encrypted, or packed in a way that is not known here.`)
    return {
      path,
      mediaType: file.mediaType,
      etag: `${(book.fileHash ?? book.id).slice(0, ETAG_HASH_DIGITS)}-${zip.offset}`,
      fileHash: book.fileHash,
      bytes: file.bytes,
      gzipBytes: zip.method === 8 ? zip.compressedBytes + GZIP_EXTRA_BYTES : null,
      open: ({ asGzip }) => this.#open(book, { ...file, zip }, { userId: ask.caller.userId, asGzip }),
    }
  }

  getReadable(ask: { caller: Caller; bookId: string }): Promise<ReadableBook> {
    return this.#lookup.getAnalysed(ask)
  }

  close(): Promise<void> {
    return this.#flights.close()
  }
}

/** Says why something cannot be had: because of the file as a whole, of this machine, or else of what it holds. */
async function refuseFile(book: ReadableBook, problem: Problem, what: string): Promise<never> {
  await checkUnchanged(book)
  if (isPassing(problem)) refuse('unavailable', `${what} at the moment: ${problem.message}`, { details: problem.details })
  await checkReadable(book)
  refuse('page_unreadable', `${what}: ${problem.message}`, { details: { errorType: problem.type, ...problem.details } })
}

/** Names one content of one file: a scan that found it changed by its bytes alone gave it another hash. */
function versionOf(book: ReadableBook): string {
  return `${book.libraryPath}\0${book.path}\0${book.fileBytes} ${book.mtimeNs} ${book.fileHash}`
}

/** What is unpacked is in memory beside what it is unpacked from. */
function inFlightBytes({ bytes, zip }: { bytes: number; zip: ZipLocation }): number {
  return Math.min(LONG_IN_FLIGHT_BYTES, zip.method === 0 ? bytes : bytes + zip.compressedBytes)
}

function memoryOf(known: Known): number {
  if ('problem' in known) return memoryBytes([known.problem])
  const { find: _, ...publication } = known.publication
  // By their paths a second time, and a third when someone has asked for one in another spelling.
  return memoryBytes([publication, publication.files.map(({ path }) => path), publication.files.map(({ path }) => path)])
}

/** By exact path, else ignoring case and Unicode form: books made on Windows and Macs differ in both from what they link. */
function openFiles(publication: Publication): OpenPublication {
  const exact = new Map(publication.files.map((file) => [file.path, file]))
  let folded: Map<string, PublicationFile> | undefined
  return {
    ...publication,
    find(asked) {
      const path = normalizeArchivePath(asked)
      const found = exact.get(path)
      if (found) return found
      folded ??= new Map(publication.files.map((file) => [fold(file.path), file]))
      return folded.get(fold(path))
    },
  }
}

/** As long as the longest name that an archive is read with. */
const PATH_LENGTH_MAX = 4_096
const fold = (path: string) => normalizeText(path, PATH_LENGTH_MAX).toLowerCase()
