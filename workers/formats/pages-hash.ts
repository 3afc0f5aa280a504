import { createHash } from 'node:crypto'

/** A blank pixel has fewer, and many books have one. */
const TELLING_BYTES_MIN = 64

interface ListedEntry {
  /** Uncompressed. */
  bytes: number
  crc32: number
}

/**
 * Identifies the pages of a book, in their order, by the sizes and checksums in the directory of its archive: the same for a file with other metadata,
 * other names, or packed anew. The member is absent where these say too little. Without reading the pages: see also migrations/0010_moves.ts, which computes it for older rows.
 */
export function pagesHashOf(entries: readonly ListedEntry[]): { pagesHash?: string } {
  const lines = entries.map(({ bytes, crc32 }) => `${bytes}:${crc32}`)
  const distinct = new Map(entries.map(({ bytes }, index) => [lines[index], bytes]))
  const telling = [...distinct.values()].reduce((sum, bytes) => sum + bytes, 0)
  // RAR may keep another checksum instead.
  const isUnknown = entries.some(({ bytes, crc32 }) => bytes > 0 && crc32 === 0)
  if (telling < TELLING_BYTES_MIN || isUnknown) return {}
  return { pagesHash: createHash('sha256').update(lines.join('\n')).digest('hex') }
}
