import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32, deflateRawSync } from 'node:zlib'
import sharp from 'sharp'
import type { Test } from 'tap'
import { recordPageProblem } from '#core/catalog/book-error-store.ts'
import type { Page } from '#core/fields/analysis.ts'
import { silentLog } from '#core/foundation/log.ts'
import { type BookPageRequest, openPageReader, type PageReader, type PageReaderDependencies } from '#core/reading/read-page.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { addPagedBook, noisePicture } from '#test/support/paged-books.ts'
import { findPool } from '#test/support/pool.ts'

/** Finds a page and reads it. */
export async function readPage(reader: PageReader, ask: BookPageRequest) {
  const page = await reader.getPage(ask)
  return { ...page, ...(await page.read()) }
}

/** A page reader with real threads and a new database, which counts its work. Permissions are checked for each page unless an option says otherwise. */
export async function openReading(t: Test, options: { rightsFreshMs?: number; deadlineMs?: number } = {}) {
  const { database } = await openTestDatabase(t)
  const folder = await mkdtemp(join(tmpdir(), 'carrel-read-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const pool = findPool(options.deadlineMs)
  const counts = { read: 0, rendered: 0, resized: 0, extracted: 0 }
  /** The real function, with a counter. */
  const counted = <A extends unknown[], R>(name: keyof typeof counts, run: (...given: A) => R) => {
    return (...given: A): R => {
      counts[name]++
      return run(...given)
    }
  }
  const parts: PageReaderDependencies = {
    database,
    readZipPage: counted('read', pool.readZipPage),
    readRarPage: pool.readRarPage,
    extractRar: counted('extracted', pool.extractRar),
    renderPdfPage: counted('rendered', pool.renderPdfPage),
    resizeImage: counted('resized', pool.resizeImage),
    cacheFolder: join(folder, 'cache'),
    cacheBytesMax: 1e8,
    recordPageProblem: (bookId, problem) => recordPageProblem(database, bookId, problem),
    log: silentLog,
    rightsFreshMs: options.rightsFreshMs ?? 0,
  }
  const open = async () => {
    const reader = await openPageReader(parts)
    t.teardown(() => reader.close())
    return reader
  }
  return { database, folder, pool, counts, open, reader: await open(), caller: await addCaller(database) }
}
export type Reading = Awaited<ReturnType<typeof openReading>>

/** Writes a file of the pictures in sequence, the odd ones deflated; returns their positions. */
export async function packPictures(pictures: { bytes: Buffer; mediaType: string }[]): Promise<{ bytes: Buffer; pages: Page[] }> {
  const chunks: Buffer[] = [Buffer.alloc(100)]
  let offset = 100
  const pages: Page[] = []
  for (const [index, { bytes, mediaType }] of pictures.entries()) {
    const method = index % 2 === 0 ? 0 : 8
    const data = method === 0 ? bytes : deflateRawSync(bytes)
    const { width = null, height = null } = await sharp(bytes).metadata()
    const zip = { offset, compressedBytes: data.length, method, crc32: crc32(bytes) } as const
    pages.push({ name: `chapter 1/page${index + 1}.${mediaType.slice(6)}`, mediaType, width, height, bytes: bytes.length, zip })
    chunks.push(data)
    offset += data.length
  }
  return { bytes: Buffer.concat(chunks), pages }
}

const comicPictures = Promise.all(
  (['jpeg', 'png', 'gif'] as const).map(async (format) => ({
    bytes: await noisePicture({ width: 400, height: 600, format }),
    mediaType: `image/${format}`,
  })),
)

/** A comic of three noisy pages: JPEG, PNG and GIF. */
export async function addComic({ database, folder }: Reading, fileName = 'comic.cbz') {
  const pictures = await comicPictures
  const { bytes, pages } = await packPictures(pictures)
  const book = await addPagedBook(database, { folder, fileName, bytes, format: 'cbz', pageSource: 'zip', pages })
  return { ...book, bytes, pages, pictures }
}
