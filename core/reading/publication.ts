/**
 * The contract with the worker thread: the content of an EPUB for clients that read by its manifest. Every path is that of a file in the
 * archive, without `..`, and every media type is valid in a header.
 */

import type { LibraryFile, Problem, ZipLocation } from '#core/fields/analysis.ts'
import { normalizeText } from '#core/foundation/text.ts'

/** A file in the archive. `zip` is null if its data cannot be read: it is encrypted, or uses an unknown compression. */
export interface PublicationFile {
  path: string
  /** The path regardless of case and Unicode form, where it differs. */
  folded?: string
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

/** One part of the reading order: a file that the archive has, once. */
export interface SpineItem {
  path: string
  /** Its address, where it differs from the path: encoding is work for the thread that reads the package. */
  href?: string
  mediaType: string
  /** Positions in it, at least 1. */
  positions: number
  side?: SpreadSide
  contains?: Content[]
}

/** Other files that the package lists. */
export interface PublicationResource {
  path: string
  /** As for a part of the reading order. */
  href?: string
  mediaType: string
  rel?: 'cover' | 'contents'
  contains?: Content[]
}

/** An entry of a table of contents. `href` is an encoded path with or without a fragment; empty if it leads nowhere in the book. */
export interface TocEntry {
  title: string
  href: string
  children: TocEntry[]
}

export interface Publication {
  isFixedLayout: boolean
  readingProgression: 'ltr' | 'rtl' | null
  spine: SpineItem[]
  /** For packages that refer to a file twice: the index in `spine` of each reference, by which e-readers count. */
  references?: number[]
  resources: PublicationResource[]
  toc: TocEntry[]
  landmarks: TocEntry[]
  pageList: TocEntry[]
  files: PublicationFile[]
}

/** A publication as packPublication writes it: a copy of a hundred thousand records between threads would block the server. */
export type PublicationOutcome = { bytes: Uint8Array } | { problem: Problem }

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

export const XHTML_TYPE = 'application/xhtml+xml'
/** Of chapters that are not XML. */
export const HTML_TYPES: ReadonlySet<string> = new Set(['text/html', 'text/x-oeb1-document'])

/** Whether browsers show files of a media type as documents with elements, which can load more and contain scripts. */
export const isDocument = (mediaType: string): boolean => HTML_TYPES.has(mediaType) || /[+/]xml$/.test(mediaType)

/** Chapters of real books are hardly larger than 5 MB: browsers take seconds to lay them out. */
export const CHAPTER_BYTES_MAX = 8 * 1024 * 1024

/** A cleaned chapter as bytes in UTF-8, or why it cannot be cleaned. */
export type ChapterOutcome = { bytes: Uint8Array; mediaType: string } | { problem: Problem }

/**
 * Removes from a document what could run, send, or contact another site, in the pool. Bad markup is repaired where possible.
 * @param request.bytes at most `CHAPTER_BYTES_MAX`
 * @param request.isFlowing whether it is a chapter of a text that readers divide into pages of their own: it becomes XHTML with a body, also a drawing
 */
export type CleanChapter = (
  request: { bytes: Uint8Array; mediaType: string; isFlowing?: boolean },
  options?: { signal?: AbortSignal },
) => Promise<ChapterOutcome>

/** As in URLs: `..` at the top stays at the top, so no path leaves the archive. */
export function normalizeArchivePath(path: string): string {
  const parts: string[] = []
  for (const part of path.replaceAll('\\', '/').split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return parts.join('/')
}

/** The longest name with which an archive is read. */
const PATH_LENGTH_MAX = 4_096

/** Text that is not percent-encoded, such as "100%.xhtml", stays as it is. */
export function decodePercents(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/**
 * Books made on Windows and Macs differ from their links in case and Unicode form; some programs write names into the archive that are percent-encoded
 * themselves.
 */
export const foldPath = (path: string): string => normalizeText(decodePercents(path), PATH_LENGTH_MAX).toLowerCase()

/** Adds a file by its folded path; of several, one whose own name is not percent-encoded counts. */
export function addFolded<File>(folded: Map<string, File>, path: string, file: File, key = foldPath(path)): void {
  if (!path.includes('%') || !folded.has(key)) folded.set(key, file)
}

/** A path in an archive as part of a URL. */
export const encodePath = (path: string): string =>
  path
    .split('/')
    .map((part) => encodeURIComponent(part.toWellFormed()))
    .join('/')

/** A link from a table of contents: the fragment may contain anything. */
export function encodeHref(href: string): string {
  const at = href.indexOf('#')
  const path = at < 0 ? href : href.slice(0, at)
  const fragment = at < 0 ? '' : href.slice(at + 1)
  // Encoded characters stay; a lone percent sign is encoded.
  const safe = fragment
    .toWellFormed()
    .replace(/%(?![0-9A-Fa-f]{2})/g, '%25')
    .replace(/[^\w%!$&'()*+,;=:@/?.~-]/gu, encodeURIComponent)
  return encodePath(path) + (fragment === '' ? '' : `#${safe}`)
}
