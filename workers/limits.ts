/**
 * Every bound on what a file may ask of us, with its reason. A file past one of them is refused with words, not with a
 * crash; the numbers leave room for every honest book we know of.
 */

const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB

/** Archives hold hundreds of pages, the odd collection 70,000; each entry costs about 400 bytes of memory here and a row in the database. */
export const ENTRIES_MAX = 100_000

/** 100,000 entries with names of 600 bytes. The directory is read in one piece. */
export const DIRECTORY_BYTES_MAX = 64 * MIB

/** An end record is followed by a comment of at most 64 KiB; the rest allows for padding that downloads leave behind. */
export const TAIL_BYTES_MAX = MIB

/** One page in memory: 85 megapixels of uncompressed RGB. Scans of double pages at 600 dpi stay below 200 MiB. */
export const ENTRY_BYTES_MAX = 256 * MIB

/** Everything an archive may unpack to. Real ones are as large as their files, and files above this do not fit a handheld anyway. */
export const TOTAL_BYTES_MAX = 64 * GIB

/** What one pass over a RAR may write: a solid one is extracted whole into the page cache. */
export const EXTRACT_BYTES_MAX = 8 * GIB

/**
 * Deflate tops out at 1032:1, which only bombs reach over a length; a blank white bitmap page may come near it while small.
 * So the ratio counts only for entries above `RATIO_FREE_BYTES`.
 */
export const RATIO_MAX = 200
export const RATIO_FREE_BYTES = 32 * MIB

/** A name is data, shown and sorted; Windows and Unix stop at 255 to 4,096 bytes. Longer ones are cut, so that no row or header grows without end. */
export const NAME_CHARACTERS_MAX = 4096

/** Enough for the dimensions of nearly every picture; metadata blocks push them back, hence the second try. */
export const HEAD_BYTES = 2 * KIB
export const HEAD_BYTES_RETRY = 64 * KIB

/** A picture larger than this is never decoded: 160 megapixels take half a GiB as RGB. A double page A3 at 600 dpi has 140. */
export const PIXELS_MAX = 160_000_000

/** A thread that is ended waits for the picture it is decoding, so decoding has an end of its own; large AVIF pages take seconds. */
export const DECODE_SECONDS_MAX = 30

/** Drawing a page of a PDF. Ordinary ones take a tenth of a second; the largest picture that is decoded takes seven, and more when the machine is busy. */
export const DRAWING_MS_MAX = 30_000

/** Thumbnails as clients of this API know them. */
export const THUMBNAIL_LONGEST_SIDE = 400
export const JPEG_QUALITY = 85

/** A cover whose first pages do not decode: how far to look for one that does, so that a book of rubbish ends soon. */
export const COVER_TRIES_MAX = 5

/** RAR unpacks with a dictionary that the file itself demands, up to 4 GiB; this allows 128 MiB, and real comics need 4 to 32. A thread keeps what it took. */
export const RAR_MEMORY_BYTES_MAX = 192 * MIB

/** Names of bad pages given in a problem's details; the count says the rest. */
export const NAMES_IN_PROBLEM_MAX = 20

/** Entries in the lists of contents of one book: page lists of encyclopedias have some thousands. */
export const CONTENTS_ENTRIES_MAX = 20_000
/** Levels of a table of contents below its first; readers show three or four. */
export const CONTENTS_DEPTH_MAX = 20
/** Of a title or a link in it. A heading is a line, and a link names a file. */
export const CONTENTS_TITLE_LENGTH_MAX = 1_000

/**
 * Characters of the addresses that a package names, each as often as it is named: the longest real ones have some 200,000. Without a bound a package
 * of a few megabytes that names one long address again and again takes gigabytes.
 */
export const PACKAGE_PATHS_LENGTH_MAX = 4_000_000
