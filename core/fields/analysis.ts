/**
 * The contract with the worker threads: the request for an analysis, and the plain value that a thread returns.
 * A bad file is a value too (`problems`), because an Error loses its class when it leaves a thread;
 * an exception from a worker is a bug, a deadline or a lack of memory.
 */

import type { BookFormat } from '#core/fields/book-format.ts'
import type { Embedded } from '#core/fields/embedded.ts'

/** The eight error types, with labels for users. */
export const BOOK_ERROR_LABELS = {
  format_detection: 'Format Detection',
  parser: 'Parser Error',
  metadata: 'Metadata Error',
  thumbnail: 'Thumbnail Generation',
  page_extraction: 'Page Extraction',
  pdf_rendering: 'PDF Rendering',
  zero_pages: 'Zero Pages',
  other: 'Other Error',
} as const
export type BookErrorType = keyof typeof BOOK_ERROR_LABELS
export const BOOK_ERROR_TYPES = Object.keys(BOOK_ERROR_LABELS) as BookErrorType[]

/** What went wrong with a file. `message` is for users; `details` is JSON with more information. */
export interface Problem {
  type: BookErrorType
  message: string
  details?: Record<string, unknown>
  /** True if the problem makes the book unreadable. */
  fatal: boolean
  /** True if the file is no part of a book whose copy may continue: the rest would not change the problem. Not stored. */
  isFinal?: boolean
}

/** A book has one problem of each type: the fatal one if there is one, otherwise the first. */
export function uniqueByType(problems: readonly Problem[]): Problem[] {
  const byType = new Map<BookErrorType, Problem>()
  for (const problem of problems) {
    const known = byType.get(problem.type)
    if (!known || (problem.fatal && !known.fatal)) byType.set(problem.type, problem)
  }
  return [...byType.values()]
}

/**
 * One page as the analysis found it. `name` is the archive path (or "page 12" of a PDF), `bytes` its uncompressed size
 * (0 for PDF pages, which have none). Width and height are in pixels after applying the EXIF orientation, of a PDF page
 * in pixels at 150 dpi; null if the picture could not be measured.
 */
export interface Page {
  name: string
  mediaType: string
  width: number | null
  height: number | null
  bytes: number
  /** The location of the page in a zip, so that serving it takes one positional read. Absent for RAR and PDF. */
  zip?: ZipLocation
  /** A page of a fixed-layout EPUB that shows no picture: white, in the size of its neighbor. */
  isBlank?: boolean
}

/** `offset` is that of the compressed data itself (past the local header); method 0 stored, 8 deflate. */
export interface ZipLocation {
  offset: number
  compressedBytes: number
  method: 0 | 8
  crc32: number
}

/**
 * How the server reads the pages of a book.
 * `zip`: from `Page.zip`. `rar`: by entry name. `rar_solid`: only by extracting all pages once. `pdf`: rendered. `none`: no page images (a text EPUB).
 */
export type PageSource = 'zip' | 'rar' | 'rar_solid' | 'pdf' | 'none'

/** A file of a library, for all code that opens it. */
export interface LibraryFile {
  /** The library's folder. A file outside of it is never opened, even if links lead there. */
  root: string
  path: string
  /** But for files in these folders, as paths without links. */
  linkTargets?: readonly string[] | undefined
}

/** Which files of a library are books, besides that their names have the extension of one. */
export interface FileFilter {
  allowedFormats: readonly string[] | null
  excludedPatterns: string | null
}

/** The file of a book, and what decides which files beside it describe it. */
export interface BookFile extends LibraryFile {
  filter?: FileFilter | null | undefined
  /** False if the last scan found none: then only the usual names are tried, and the folder is not listed. */
  hasSidecar?: boolean | undefined
}

export interface AnalysisRequest extends BookFile {
  /** Read every page's bytes and check them too (deep scan); otherwise page heads and the cover only. */
  verifyPages: boolean
  /** Longer side of the cover in pixels; by default that of a thumbnail. */
  coverSide?: number
}

/** Properties of the file itself; null in {@link Analysis} only if the file could not be read at all. */
export interface FileFacts {
  bytes: number
  /** Nanoseconds since the epoch, as a decimal string, because a double cannot hold it. */
  mtimeNs: string
  /** Lower-case hex of the whole file. */
  sha256: string
  /** KOReader's partial MD5, lower-case hex. */
  readerHash: string
}

export interface Cover {
  jpeg: Uint8Array
  width: number
  height: number
}

/** A cover as lists describe it. */
export interface DescribedCover extends Cover {
  /** Of most of the picture, `#rrggbb`. */
  color: string
  /** The page of the book that it shows, from 1; absent for another picture. */
  page?: number
}

export interface Analysis {
  file: FileFacts | null
  /** By content; null if the content has none of the four formats. */
  format: BookFormat | null
  /** Pages of a comic or PDF, Readium positions or spine items of an EPUB. */
  pageCount: number
  pageSource: PageSource
  /** Natural, case-insensitive order of the full name. Empty for text EPUBs. */
  pages: Page[]
  /** Identifies the pages by the directory of the archive, whatever else is in it; absent where that says too little, and for PDF. */
  pagesHash?: string
  embedded: Embedded
  cover: DescribedCover | null
  problems: Problem[]
}

/** The analysis of a file that could not be analyzed because of a problem. */
export function failedAnalysis(problem: Problem, file: FileFacts | null = null, format: BookFormat | null = null): Analysis {
  return { file, format, pageCount: 0, pageSource: 'none', pages: [], embedded: {}, cover: null, problems: [problem] }
}

/** Analyzes one file off the main thread. Never rejects for a bad file; rejects with AbortError when aborted. */
export type Analyze = (request: AnalysisRequest, options?: { signal?: AbortSignal }) => Promise<Analysis>

/** The cover that an analysis would find in a file, and the problem if there is none or another picture had to be used. */
export interface CoverOutcome {
  cover: DescribedCover | null
  problem: Problem | null
}

/** Only draws the cover of one file, by default as a thumbnail, off the main thread. Never rejects for a bad file; rejects with AbortError when aborted. */
export type DrawBookCover = (
  request: BookFile & Pick<AnalysisRequest, 'coverSide'>,
  options?: { signal?: AbortSignal },
) => Promise<CoverOutcome>

/** The bytes of one page as stored in the file, or as rendered. */
export interface PageImage {
  bytes: Uint8Array
  mediaType: string
  /** Gives the memory of `bytes` back, when nothing reads them any more; absent if it belongs to nobody else. */
  release?: () => void
}

/** Why a page could not be read: `problem` is added to the book's errors. */
export interface PageRefusal {
  problem: Problem
}

export type PageOutcome = PageImage | PageRefusal

/** Everything needed to fetch one page, without the database. `index` is 0-based. */
export interface PageRequest extends LibraryFile {
  index: number
  page: Page
}

/** One positional read from a zip, CRC checked. Runs in the server process. `isLent` reads into memory that the caller gives back by `release`. */
export type ReadZipPage = (request: PageRequest, options?: { isLent?: boolean }) => Promise<PageOutcome>
/** One entry of a non-solid RAR, in the pool. */
export type ReadRarPage = (request: PageRequest, options?: { signal?: AbortSignal }) => Promise<PageOutcome>
/** Extracts all pages of a solid RAR into `folder`, as files named by 0-based index ("0", "1", …), in the pool; returns the problem or null. */
export type ExtractRar = (
  request: LibraryFile & { pages: Page[]; folder: string },
  options?: { signal?: AbortSignal },
) => Promise<Problem | null>
/**
 * One PDF page as JPEG, its longer side about `longestSide` pixels, in the pool. `isExtra`: nobody asked for this size, so its failure says
 * nothing about others. `drawnMs` is the time of drawing alone, without waiting.
 */
export type RenderPdfPage = (
  request: LibraryFile & { index: number; longestSide: number },
  options?: { signal?: AbortSignal; isExtra?: boolean },
) => Promise<PageOutcome & { drawnMs?: number }>
/**
 * A resized copy of a picture (never enlarged), in the pool or with sharp's own threads: as wide as `width`, or with `height` within both.
 * `format` null keeps jpeg/png/webp, else jpeg.
 */
export type ResizeImage = (request: {
  bytes: Uint8Array
  width: number
  height?: number
  format: 'jpeg' | 'png' | 'webp' | null
}) => Promise<PageOutcome>
