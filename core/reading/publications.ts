import type { Knex } from 'knex'
import { LRUCache } from 'lru-cache'
import type { Caller } from '#core/account/caller.ts'
import type { Problem } from '#core/book/analysis.ts'
import { openBookLookup } from '#core/book/book-lookup.ts'
import { checkReadable, checkUnchanged, isPassing, refuseForNow } from '#core/book/file-faults.ts'
import type { ReadableBook } from '#core/book/page-query.ts'
import { openSingleFlight } from '#core/book/single-flight.ts'
import { CarrelError, refuse } from '#core/errors.ts'
import { normalizeText } from '#core/foundation/text.ts'
import {
  normalizeArchivePath,
  type Publication,
  type PublicationFile,
  type PublicationOutcome,
  type ReadPublication,
  type ReadZipEntry,
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
  /** It lies there deflated, so that gzip costs less than the plain bytes. */
  isDeflated: boolean
  /** @throws page_unreadable, not_found (the file has gone), conflict (it is no longer the one that was analyzed), unavailable */
  read(options: { asGzip: boolean }): Promise<Uint8Array>
}

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
  readZipEntry: ReadZipEntry
  /** How long an answer on who may see a book is believed; a fifth of a second unless said. */
  rightsFreshMs?: number
}

/** A file or an entry of contents takes about this much memory, with its name and its place. */
const ENTRY_MEMORY_BYTES = 400
/** Some 1,600 books of 100 files: more readers at once than one server feeds. */
const MEMORY_BYTES_MAX = 64 * 1024 * 1024
/** 128 bits tell contents apart. */
const ETAG_HASH_DIGITS = 32

type Known = { version: string } & ({ publication: OpenPublication } | { problem: Problem })

/** What the packages say is read once for each content of a book, in the pool; after that an entry is one look at a map and one read. */
export function openPublications(parts: PublicationParts): Publications {
  const { database } = parts
  const lookup = openBookLookup(database, { freshMs: parts.rightsFreshMs })
  const flights = openSingleFlight()
  const known = new LRUCache<string, Known>({ maxSize: MEMORY_BYTES_MAX, sizeCalculation: memoryOf })

  async function load(book: ReadableBook, signal: AbortSignal | undefined): Promise<Known> {
    const remembered = known.get(book.id)
    if (remembered?.version === book.version) return remembered
    return await flights.join(`${book.id} ${book.version}`, signal, async (running) => {
      await checkUnchanged(book)
      const outcome: PublicationOutcome = await parts.readPublication({ root: book.libraryPath, path: book.path }, { signal: running })
      const loaded: Known = { version: book.version, ...('problem' in outcome ? outcome : { publication: openFiles(outcome.publication) }) }
      // What says something of this machine passes; the rest is found again only where it was read again.
      if (!('problem' in loaded) || !isPassing(loaded.problem)) known.set(book.id, loaded)
      return loaded
    })
  }

  async function get(ask: { caller: Caller; bookId: string; signal?: AbortSignal }) {
    const book = await lookup.getAnalysed(ask)
    if (book.format !== 'epub') refuse('invalid_value', `"${book.fileName}" is no EPUB; it has no files of its own to ask for.`)
    const loaded = await load(book, ask.signal)
    if ('problem' in loaded) await refuseFile(book, loaded.problem, `"${book.fileName}" cannot be read`)
    else return { book, publication: loaded.publication }
    throw new Error('A refusal came back')
  }

  async function read(book: ReadableBook, file: PublicationFile, asGzip: boolean): Promise<Uint8Array> {
    const { path: name, bytes, zip } = file
    try {
      if (zip === null)
        refuse('page_unreadable', `"${name}" of "${book.fileName}" is encrypted, or packed in a way that is not known here.`)
      const outcome = await parts.readZipEntry({ root: book.libraryPath, path: book.path, name, bytes, zip, asGzip })
      if ('bytes' in outcome) return outcome.bytes
      return await refuseFile(book, outcome.problem, `"${name}" of "${book.fileName}" cannot be read`)
    } catch (cause) {
      if (cause instanceof CarrelError) throw cause
      await checkUnchanged(book)
      refuseForNow(book, cause)
    }
  }

  return {
    get,
    async getResource(ask) {
      const { book, publication } = await get(ask)
      const file = publication.find(ask.path)
      if (!file) refuse('not_found', `"${book.fileName}" holds no "${ask.path.slice(0, 200)}".`)
      return {
        path: file.path,
        mediaType: file.mediaType,
        etag: `${(book.fileHash ?? book.id).slice(0, ETAG_HASH_DIGITS)}-${file.zip?.offset ?? 0}`,
        fileHash: book.fileHash,
        isDeflated: file.zip?.method === 8,
        read: ({ asGzip }) => read(book, file, asGzip),
      }
    },
    getReadable: (ask) => lookup.getAnalysed(ask),
    close: () => flights.close(),
  }
}

/** Says why something cannot be had: because of the file as a whole, of this machine, or else of what it holds. */
async function refuseFile(book: ReadableBook, problem: Problem, what: string): Promise<never> {
  await checkUnchanged(book)
  if (isPassing(problem)) refuse('unavailable', `${what} at the moment: ${problem.message}`, { details: problem.details })
  await checkReadable(book)
  refuse('page_unreadable', `${what}: ${problem.message}`, { details: { errorType: problem.type, ...problem.details } })
}

function memoryOf(known: Known): number {
  if ('problem' in known) return ENTRY_MEMORY_BYTES
  const { files, spine, resources, toc, landmarks, pageList } = known.publication
  const count = (entries: typeof toc): number => entries.reduce((sum, entry) => sum + 1 + count(entry.children), 0)
  return (1 + files.length + spine.length + resources.length + count([...toc, ...landmarks, ...pageList])) * ENTRY_MEMORY_BYTES
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
