import { closeSync, fstatSync, readSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import type { PDFDocumentProxy } from 'pdfjs-dist'
import { getDocument, PDFDataRangeTransport, PDFWorker, VerbosityLevel } from 'pdfjs-dist/legacy/build/pdf.mjs'
import { WorkerMessageHandler } from 'pdfjs-dist/legacy/build/pdf.worker.mjs'
import type { LibraryFile } from '#core/fields/analysis.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { openInsideSync } from '#core/foundation/open-inside.ts'
import { BookProblem } from '../../book-problem.ts'
import { withWarning } from './pdf-warnings.ts'

export type { PDFDocumentProxy, PDFPageProxy } from 'pdfjs-dist'

/** An open PDF with its file. Close it, or the descriptor and the parsed objects stay. */
export interface PdfHandle {
  document: PDFDocumentProxy
  /** The page count of the file is wrong; `document.numPages` is the number of pages found. */
  miscounted: boolean
  /** Bytes that the parser has read so far and holds. */
  bytesRead: () => number
  close: () => Promise<void>
}

/**
 * Size of one read. Page dictionaries are scattered between pictures, so a larger chunk mostly reads (and stores) unneeded
 * picture data: analyzing 200 pages of 1 MB took 0.54 s of CPU and 207 MB with 64 KiB, 0.9 s and 294 MB with 256 KiB.
 */
const CHUNK_BYTES = 64 * 1024

/**
 * Files up to this size are read as a whole. For others, the parser never ends when a file points to the 64 KiB behind its own last chunk (pdf.js 6:
 * `ensureByte` requests a chunk that cannot be there), until the deadline of its thread; small files with wrong numbers do that most easily.
 */
const WHOLE_BYTES_MAX = 4 * 1024 * 1024

/**
 * Larger pictures are left out of the page instead of being decoded, which takes some 16 bytes for each pixel (1.3 GB
 * and seven seconds for 81 million, measured). A3 scanned at 600 dpi has 70 million, a 30-inch poster at 300 dpi 81.
 */
const IMAGE_PIXELS_MAX = 85_000_000

const packageFolder = dirname(createRequire(import.meta.url).resolve('pdfjs-dist/package.json'))

/**
 * Opens a PDF for reading by ranges, never whole. Throws {@link BookProblem} (`parser`) when it is damaged or needs a
 * password; rethrows errors of the file system.
 */
export async function openPdf(file: LibraryFile): Promise<PdfHandle> {
  const fd = openInsideSync(file)
  try {
    return await openDescriptor(fd)
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

async function openDescriptor(fd: number): Promise<PdfHandle> {
  const { size } = fstatSync(fd)
  const range = new FileRange(fd, size)
  const parser = openParser()
  const loading = getDocument({
    ...(size <= WHOLE_BYTES_MAX
      ? { data: range.read(0, size) }
      : { range, rangeChunkSize: CHUNK_BYTES, disableAutoFetch: true, disableStream: true }),
    worker: parser.worker,
    cMapUrl: `${packageFolder}/cmaps/`,
    iccUrl: `${packageFolder}/iccs/`,
    standardFontDataUrl: `${packageFolder}/standard_fonts/`,
    wasmUrl: `${packageFolder}/wasm/`,
    maxImageSize: IMAGE_PIXELS_MAX,
    enableXfa: false,
    // With false the parser reads its own data through node:fs and never through fetch.
    useWorkerFetch: false,
  })
  try {
    const { result: document, warning } = await withWarning('invalid /Pages tree /Count', () => loading.promise)
    return {
      document,
      miscounted: warning !== null && claimedPages(warning) !== document.numPages,
      bytesRead: () => range.bytesRead,
      close: async () => {
        await loading.destroy()
        parser.close()
        closeSync(fd)
      },
    }
  } catch (error) {
    await loading.destroy()
    parser.close()
    throw openingProblem(error)
  }
}

/** "checkLastPage - invalid /Pages tree /Count: 9." */
function claimedPages(warning: string): number {
  return Number(/Count: (-?\d+)/.exec(warning)?.[1])
}

/**
 * Runs the parser of pdf.js in this thread, but connects it through a real MessageChannel. By default both halves exchange
 * messages in microtasks: while a page is parsed (for a minute, in a malicious file) no timer fires and nothing can stop it.
 */
function openParser(): { worker: PDFWorker; close: () => void } {
  const { port1, port2 } = new MessageChannel()
  WorkerMessageHandler.initializeFromPort(port2)
  // Its types ask for a Worker, of which it uses only what every port has.
  const worker = new PDFWorker({ port: port1 as never, verbosity: VerbosityLevel.WARNINGS })
  return {
    worker,
    close: () => {
      worker.destroy()
      port1.close()
    },
  }
}

function openingProblem(error: unknown): BookProblem {
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  if (name === 'PasswordException') {
    return new BookProblem('parser', 'This PDF needs a password to open. Save a copy without one.', { encrypted: true })
  }
  return new BookProblem('parser', 'This PDF is damaged or incomplete and cannot be opened.', { reason: `${name}: ${message}` })
}

class FileRange extends PDFDataRangeTransport {
  bytesRead = 0
  readonly #fd: number

  constructor(fd: number, bytes: number) {
    super(bytes, null)
    this.#fd = fd
  }

  override requestDataRange(begin: number, end: number): void {
    const chunk = this.read(begin, end)
    // The parser expects its answer after the call has returned.
    queueMicrotask(() => this.onDataRange(begin, chunk))
  }

  read(begin: number, end: number): Uint8Array {
    // Zeros replace the bytes that the file no longer has: the parser then fails on bad data instead of waiting forever.
    const chunk = new Uint8Array(end - begin)
    let filled = 0
    try {
      while (filled < chunk.length) {
        const got = readSync(this.#fd, chunk, filled, chunk.length - filled, begin + filled)
        if (got === 0) break
        filled += got
      }
    } catch {
      chunk.fill(0, filled)
    }
    this.bytesRead += filled
    return chunk
  }
}

/**
 * Documents that this thread holds open, so that turning a page does not open the book again. Four, because a thread serves
 * few users at once and each document may hold tens of MB of parsed fonts; a minute without use closes them.
 */
const HANDLES_MAX = 4
const LEASES_BYTES_MAX = 4 * 1024
const IDLE_MS = 60_000

/** The parser never releases what it has read of a file, so a book of pictures is reopened after this many bytes. */
const READ_BYTES_MAX = 128 * 1024 * 1024

interface Lease {
  handle: Promise<PdfHandle>
  users: number
  evicted: boolean
}

const leases = new BoundedCache<Lease>({
  bytesMax: LEASES_BYTES_MAX,
  entriesMax: HANDLES_MAX,
  ttl: IDLE_MS,
  ttlAutopurge: true,
  updateAgeOnGet: true,
  dispose: (lease) => {
    lease.evicted = true
    closeUnused(lease)
  },
})

/**
 * Runs `use` on the open document of this file, opening it first if necessary. A file that changed (size or mtime) is
 * reopened. Throws as {@link openPdf} does, and whatever `use` throws.
 */
export async function withPdf<T>(
  file: LibraryFile & { bytes: number; mtimeNs: bigint },
  use: (document: PDFDocumentProxy) => Promise<T>,
): Promise<T> {
  const key = [file.bytes, file.mtimeNs, file.root, file.path, ...(file.linkTargets ?? [])].join('\0')
  const lease: Lease = leases.get(key) ?? { handle: openPdf(file), users: 0, evicted: false }
  lease.users++
  leases.set(key, lease)
  try {
    const { document, bytesRead } = await lease.handle
    const result = await use(document)
    if (bytesRead() > READ_BYTES_MAX) drop(key, lease)
    return result
  } catch (error) {
    // A failure may have left the document in a bad state, and a failed opening is not worth keeping.
    drop(key, lease)
    throw error
  } finally {
    lease.users--
    closeUnused(lease)
  }
}

/** Closes every idle open document; for shutdown and tests. */
export async function closePdfs(): Promise<void> {
  leases.clear()
  await Promise.all(closing)
}

function drop(key: string, lease: Lease): void {
  if (leases.peek(key) === lease) leases.delete(key)
}

const closing = new Set<Promise<void>>()

function closeUnused(lease: Lease): void {
  if (!lease.evicted || lease.users > 0) return
  const end = lease.handle.then(
    (handle) => handle.close(),
    () => undefined, // It never opened; its caller got the error.
  )
  closing.add(end)
  end.finally(() => closing.delete(end))
}
