/**
 * The contract with the worker thread: the content of an EPUB for clients that read by its manifest. Every path is that of a file in the
 * archive, without `..`, and every media type is valid in a header.
 */
import type { LibraryFile, Problem, ZipLocation } from '#core/metadata/analysis.ts'

/** A file in the archive. `zip` is null if its data cannot be read: it is encrypted, or uses an unknown compression. */
export interface PublicationFile {
  path: string
  mediaType: string
  /** Uncompressed. */
  bytes: number
  zip: ZipLocation | null
}

export const SPREAD_SIDES = ['left', 'right', 'center'] as const
export type SpreadSide = (typeof SPREAD_SIDES)[number]

/** What the package declares of a file besides its media type. */
export const CONTENTS = ['mathml', 'remote-resources', 'js', 'svg'] as const
export type Content = (typeof CONTENTS)[number]

/** One part of the reading order. */
export interface SpineItem {
  path: string
  mediaType: string
  /** Positions in it, at least 1. */
  positions: number
  side?: SpreadSide
  contains?: Content[]
}

/** Other files that the package lists. */
export interface PublicationResource {
  path: string
  mediaType: string
  rel?: 'cover' | 'contents'
  contains?: Content[]
}

/** An entry of a table of contents. `href` is a path with or without a fragment; empty if it leads nowhere in the book. */
export interface TocEntry {
  title: string
  href: string
  children: TocEntry[]
}

export interface Publication {
  isFixedLayout: boolean
  readingProgression: 'ltr' | 'rtl' | null
  spine: SpineItem[]
  resources: PublicationResource[]
  toc: TocEntry[]
  landmarks: TocEntry[]
  pageList: TocEntry[]
  files: PublicationFile[]
}

export type PublicationOutcome = { publication: Publication } | { problem: Problem }

/** Reads the package of an EPUB, in the pool. A bad file is a problem, as in an analysis. */
export type ReadPublication = (request: LibraryFile, options?: { signal?: AbortSignal }) => Promise<PublicationOutcome>

export interface EntryRequest extends LibraryFile {
  name: string
  /** Uncompressed. */
  bytes: number
  zip: ZipLocation
  /** A gzip is made from the deflated data in the archive without decompressing it; if that is impossible, the plain bytes are returned. */
  asGzip: boolean
}

/** What a gzip has besides the deflated data: its header and its trailer (RFC 1952). */
export const GZIP_EXTRA_BYTES = 18

/** An entry whose size and checksum were verified for this version of its file. */
export interface OpenedEntry {
  isGzip: boolean
  /** Of the bytes that are sent. */
  bytes: number
  /** All of it, if it is short enough to be held in memory. */
  whole: Uint8Array | null
  /**
   * Its bytes in order, from `start` up to `end`; a gzip only as a whole. Reads no further than the consumer requests.
   * @throws Error when the file has changed in the meantime: the bytes so far are then invalid
   */
  read(part: { start: number; end: number }): AsyncIterable<Uint8Array>
}

/** Opens one entry of a zip by its location. Runs in the server process. */
export type OpenZipEntry = (request: EntryRequest) => Promise<{ entry: OpenedEntry } | { problem: Problem }>

/** As in URLs: `..` at the top stays at the top, so no path leaves the archive. */
export function normalizeArchivePath(path: string): string {
  const parts: string[] = []
  for (const part of path.replaceAll('\\', '/').split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return parts.join('/')
}
