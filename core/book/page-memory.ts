import { LRUCache } from 'lru-cache'
import type { PageImage } from '#core/book/analysis.ts'
import type { ReadableBook } from '#core/book/page-query.ts'

/** 90 scanned pages, which is what some dozens of readers turn in a minute. */
const BYTES_MAX = 64 * 1024 * 1024
/** One huge page must not push out all the others. */
const ENTRY_BYTES_MAX = 8 * 1024 * 1024
/** A reader comes back to a page at once or not at all; after this the memory is worth more than the page. */
const KEPT_MS = 60_000
/** How long a file that was looked at is believed to be still the same one. */
const TRUSTED_MS = 2_000

/**
 * The bytes of pages that were read a moment ago, checked already: several readers of a new issue, a client that fetches ahead and then
 * again, a conditional request. Serving from here saves the read, the checksum and a large allocation, together more than half of a page.
 */
export interface PageMemory {
  /** The page, when it is here and the book's file is still the one it was read from. */
  find(book: ReadableBook, name: string): Promise<PageImage | null>
  keep(book: ReadableBook, name: string, image: PageImage): void
}

/** @param isUnchanged whether the file of the book is still the one that was analysed */
export function openPageMemory(isUnchanged: (book: ReadableBook) => Promise<boolean>): PageMemory {
  const images = new LRUCache<string, { version: string; image: PageImage }>({
    maxSize: BYTES_MAX,
    maxEntrySize: ENTRY_BYTES_MAX,
    sizeCalculation: ({ image }) => Math.max(1, image.bytes.byteLength),
    ttl: KEPT_MS,
    // An idle server gives the memory back.
    ttlAutopurge: true,
  })
  const trusted = new LRUCache<string, string>({ max: 1000, ttl: TRUSTED_MS })

  return {
    async find(book, name) {
      const key = `${book.id} ${name}`
      const kept = images.get(key)
      if (kept?.version !== book.version) return null
      if (trusted.get(book.id) === book.version) return kept.image
      if (!(await isUnchanged(book))) {
        images.delete(key)
        return null
      }
      trusted.set(book.id, book.version)
      return kept.image
    },
    keep(book, name, image) {
      images.set(`${book.id} ${name}`, { version: book.version, image })
    },
  }
}
