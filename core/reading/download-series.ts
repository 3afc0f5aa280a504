import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { nullIfMissing, refuseUnknown } from '#core/catalog/book-file.ts'
import { findReadableBook, libraryFileOf } from '#core/catalog/readable-book-query.ts'
import { listBookFiles, listSeriesFiles, type SeriesFile } from '#core/catalog/series-file-query.ts'
import { fileTime } from '#core/foundation/column-number.ts'
import { refuse } from '#core/foundation/errors.ts'
import { lstatInside } from '#core/foundation/open-inside.ts'
import { Semaphore } from '#core/foundation/semaphore.ts'
import { safeFileName, uniqueFileNames } from '#core/reading/archive-names.ts'
import type { ArchivedFile } from '#core/reading/archived-file.ts'

export const DOWNLOAD_LIMITS = {
  /** Weekly magazines of forty years; larger series are copied by other means. */
  booksMax: 2_000,
  /** Two hours at 100 Mbit/s; an interrupted download starts again from the beginning. */
  bytesMax: 100 * 1024 ** 3,
  /** Concurrent downloads per user: a disk alternates between two files, and other users read too. */
  perUser: 2,
  /** Concurrent downloads in total: each keeps a file open and a chunk of it in memory. */
  inAll: 20,
}
/** Files whose size is read concurrently. */
const LOOK_STEP = 50
/** The pause before a retry. */
const RETRY_SECONDS = 30

/** The files of a series for an archive. */
interface SeriesDownload {
  archiveName: string
  files: ArchivedFile[]
  /** Ends the download, for the limits of concurrent ones; call it once. */
  done: () => void
}

interface SeriesDownloadsOptions {
  database: Knex
  limits?: typeof DOWNLOAD_LIMITS
}

/** Archives of series for download. */
export class SeriesDownloads {
  readonly #options: SeriesDownloadsOptions
  readonly #limits
  readonly #running: Semaphore

  constructor(options: SeriesDownloadsOptions) {
    this.#options = options
    this.#limits = options.limits ?? DOWNLOAD_LIMITS
    this.#running = new Semaphore(this.#limits.inAll, this.#limits.perUser)
  }

  #enter(userId: string): () => void {
    const leave = this.#running.tryEnter({ key: userId })
    if (leave !== null) return leave
    const why =
      this.#running.running < this.#limits.inAll
        ? `You are downloading ${this.#limits.perUser} series already, the most at the same time.`
        : 'Too many series are being downloaded at the moment.'
    return refuse('unavailable', `${why} Try again when one is done.`, { retryAfterSeconds: RETRY_SECONDS })
  }

  /**
   * @throws not_found for a series that is unknown, hidden, or without any file; conflict when a file is missing or has changed since the last
   *   scan; not_analyzed when its content is unknown, but not for administrators; invalid_value when it is too large; unavailable when too many downloads are running
   */
  async open(caller: Caller, seriesId: string): Promise<SeriesDownload> {
    return await this.#openFound(caller, async () => {
      const found = await listSeriesFiles(this.#options.database, caller, seriesId, this.#limits.booksMax + 1)
      return found ?? refuse('not_found', `There is no series ${seriesId}, or you may not see it.`)
    })
  }

  /** The files of any books in this order, such as those of a read list; leaves out hidden ones. @throws as `open` */
  async openBooks(caller: Caller, { title, bookIds }: { title: string; bookIds: readonly string[] }): Promise<SeriesDownload> {
    return await this.#openFound(caller, async () => ({ title, files: await listBookFiles(this.#options.database, caller, bookIds) }))
  }

  async #openFound(caller: Caller, find: () => Promise<{ title: string; files: SeriesFile[] }>): Promise<SeriesDownload> {
    const done = this.#enter(caller.userId)
    try {
      const { title, files: books } = await find()
      if (books.length === 0) refuse('not_found', `All files of "${title}" are missing.`)
      if (books.length > this.#limits.booksMax)
        refuse('invalid_value', `"${title}" has more than ${this.#limits.booksMax} books: download them one by one.`)
      const names = uniqueFileNames(books.map(({ fileName }) => fileName))
      const files: SeriesDownload['files'] = []
      for (let start = 0; start < books.length; start += LOOK_STEP) {
        const some = books.slice(start, start + LOOK_STEP)
        await checkPresent(caller, some)
        for (const [index, { id, path, libraryPath, linkTargets, bytes, mtimeNs }] of some.entries()) {
          const isAllowed = async () => (await findReadableBook(this.#options.database, caller, id)) !== null
          files.push({ name: names[start + index] as string, path, inside: libraryPath, linkTargets, bytes, mtimeNs, isAllowed })
        }
      }
      const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
      if (bytes > this.#limits.bytesMax)
        refuse(
          'invalid_value',
          `The files of "${title}" have ${bytes} bytes, more than the ${this.#limits.bytesMax} of an archive: download them one by one.`,
        )
      return { archiveName: `${safeFileName(title)}.zip`, files, done }
    } catch (error) {
      done()
      throw error
    }
  }
}

/** @throws conflict and not_analyzed naming the first file, in reading order, that is missing, has changed since the scan, or may not be sent */
async function checkPresent(caller: Caller, books: readonly SeriesFile[]): Promise<void> {
  const found = await Promise.all(books.map((book) => lstatInside(libraryFileOf(book)).catch(nullIfMissing)))
  for (const [index, book] of books.entries()) {
    const { fileName, bytes, mtimeNs } = book
    const stats = found[index]
    // Users would believe that an archive without one of the books is the whole series.
    if (!stats?.isFile()) refuse('conflict', `The file "${fileName}" is no longer where it was. Put it back, or scan its library.`)
    if (stats.size !== BigInt(bytes) || String(fileTime(stats)) !== mtimeNs)
      refuse('conflict', `The file "${fileName}" has changed since it was scanned. Scan its library, then download the series.`)
    refuseUnknown(caller, book, true)
  }
}
