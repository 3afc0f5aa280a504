/**
 * The limits for files, each with its reason. A file beyond one of them is refused with a message and never crashes the
 * server; the numbers leave room for every real book that we know of.
 */

const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB

/** Archives hold hundreds of pages, the odd collection 70,000; each entry costs about 400 bytes of memory here and a row in the database. */
export const ENTRIES_MAX = 100_000

/** 100,000 entries with names of 600 bytes. The directory is read in one piece. */
export const DIRECTORY_BYTES_MAX = 64 * MIB

/** A comment of at most 64 KiB follows the end record; the rest allows for padding from downloads. */
export const TAIL_BYTES_MAX = MIB

/** One page in memory: 85 megapixels of uncompressed RGB. Scans of double pages at 600 dpi stay below 200 MiB. */
export const ENTRY_BYTES_MAX = 256 * MIB

/** The unpacked size of an archive. Real archives are hardly larger unpacked, and files above this do not fit a handheld anyway. */
export const TOTAL_BYTES_MAX = 64 * GIB

/** The output of one pass over a RAR: a solid one is extracted whole into the page cache. */
export const EXTRACT_BYTES_MAX = 8 * GIB

/** Memory for pages of archives while they are sent. */
export const PAGE_BUFFERS = {
  /** Sixteen pages of up to 2 MiB: as many as the threads that read files and the sockets of a busy server use at once. More are allocated. */
  idleBytesMax: 32 * MIB,
  /** Allocating less than this costs no more than the rest of the page. */
  bytesMin: 32 * KIB,
  /** Scans are rarely larger, and reading a larger one takes so long that its memory costs little beside it. */
  bytesMax: 4 * MIB,
  /** Somebody who reads turns a page within seconds. */
  restMs: 15_000,
}

/**
 * Deflate reaches at most 1032:1, and only bombs do so over a length; a small blank white bitmap page may come near it.
 * So the ratio counts only for entries above `RATIO_FREE_BYTES`.
 */
export const RATIO_MAX = 200
export const RATIO_FREE_BYTES = 32 * MIB

/** Windows and Unix limit names to 255 to 4,096 bytes. Longer ones are cut, so that rows and headers stay bounded. */
export const NAME_CHARACTERS_MAX = 4096

/** Enough for the dimensions of nearly every picture; long metadata before them needs the second, larger read. */
export const HEAD_BYTES = 2 * KIB
export const HEAD_BYTES_RETRY = 64 * KIB

/** Larger pictures are never decoded: 160 megapixels take half a GiB as RGB. A double page A3 at 600 dpi has 140. */
export const PIXELS_MAX = 160_000_000

/** A thread cannot end while it decodes a picture, so decoding has a timeout of its own; large AVIF pages take seconds. */
export const DECODE_SECONDS_MAX = 30

/** Drawing a page of a PDF. Ordinary ones take a tenth of a second; the largest picture that is decoded takes seven, and more when the machine is busy. */
export const DRAWING_MS_MAX = 30_000

/** Thumbnail size that clients of this API expect. */
export const THUMBNAIL_LONGEST_SIDE = 400
export const JPEG_QUALITY = 85

/** How many pages to try for a cover when the first ones do not decode, so that a book of broken pages ends soon. */
export const COVER_TRIES_MAX = 5

/** RAR unpacks with a dictionary whose size the file demands, up to 4 GiB; this allows 128 MiB, and real comics need 4 to 32. A thread never releases it. */
export const RAR_MEMORY_BYTES_MAX = 192 * MIB

/**
 * Characters of the names of all pages of a comic together: 120 for each of 100,000 pages. The server keeps lists of pages in 64 MiB of memory, which hold the
 * longest; one with longer names would push out all others.
 */
export const PAGE_NAMES_LENGTH_MAX = 12_000_000

/** Names of bad pages in the details of a problem; the count covers the rest. */
export const NAMES_IN_PROBLEM_MAX = 20

/** Entries in the tables of contents of one book: page lists of encyclopedias have some thousands. */
export const CONTENTS_ENTRIES_MAX = 20_000
/** Levels of a table of contents below its first; most clients show three or four. */
export const CONTENTS_DEPTH_MAX = 20
/** Length of a title or link in a table of contents. A heading is a line, and a link is a file name. */
export const CONTENTS_TITLE_LENGTH_MAX = 1_000

/**
 * Characters of all names, paths, links and titles of an EPUB together, each as often as it occurs and as it is written in an address. The longest real
 * books have some 200,000. Without a limit a file of a few megabytes takes gigabytes, and each of its requests takes seconds.
 */
export const EPUB_TEXTS_LENGTH_MAX = 6_000_000
/** What each of them counts besides its characters, for the record that it is a part of. */
export const EPUB_TEXT_COST = 20
