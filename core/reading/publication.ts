/**
 * The contract across the worker thread: what an EPUB holds for those who read it by its web-publication manifest. Every path is that of a file in the
 * archive, without `..`, and every media type one that may stand in a header.
 */
import type { LibraryFile, Problem, ZipLocation } from '#core/metadata/analysis.ts'

/** A file in the archive. `zip` is null where its data cannot be had: it is encrypted, or packed in a way that is not known. */
export interface PublicationFile {
  path: string
  mediaType: string
  /** Unpacked. */
  bytes: number
  zip: ZipLocation | null
}

export const SPREAD_SIDES = ['left', 'right', 'center'] as const
export type SpreadSide = (typeof SPREAD_SIDES)[number]

/** What the package says of a file beside its media type. */
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

/** What else the package lists. */
export interface PublicationResource {
  path: string
  mediaType: string
  rel?: 'cover' | 'contents'
  contains?: Content[]
}

/** An entry of a table of contents. `href` is a path with a fragment or without; empty where it leads nowhere in the book. */
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

/** Reads what the package of an EPUB says, in the pool. A bad file is a problem, as in an analysis. */
export type ReadPublication = (request: LibraryFile, options?: { signal?: AbortSignal }) => Promise<PublicationOutcome>

export interface EntryRequest extends LibraryFile {
  name: string
  /** Unpacked. */
  bytes: number
  zip: ZipLocation
  /** Gzip is made of the deflated data as it lies there, which is not unpacked a second time; where it cannot be, the plain bytes are answered. */
  asGzip: boolean
}

/** What a gzip has beside the deflated data: its header and its trailer (RFC 1952). */
export const GZIP_EXTRA_BYTES = 18

/** An entry whose size and checksum were found right in this version of its file. */
export interface OpenedEntry {
  isGzip: boolean
  /** Of what is sent. */
  bytes: number
  /** All of it, where it is short enough to be kept in memory. */
  whole: Uint8Array | null
  /**
   * Its bytes in order, from `start` up to `end`; a gzip only as a whole. Read while they are taken, and no further.
   * @throws Error when the file has changed meanwhile: what was taken so far is worth nothing then
   */
  read(part: { start: number; end: number }): AsyncIterable<Uint8Array>
}

/** Opens one entry of a zip by its place. Runs in the server process. */
export type OpenZipEntry = (request: EntryRequest) => Promise<{ entry: OpenedEntry } | { problem: Problem }>

/** As URLs do it: `..` at the top stays at the top, so no path leaves the archive. */
export function normalizeArchivePath(path: string): string {
  const parts: string[] = []
  for (const part of path.replaceAll('\\', '/').split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return parts.join('/')
}
