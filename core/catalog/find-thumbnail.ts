import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { coverLookupOf } from '#core/catalog/cover-lookup.ts'
import type { ReadableBook } from '#core/catalog/readable-book-query.ts'
import { type CoverOwner, chosenCoverPath, coverPath } from '#core/covers/cover.ts'
import { readSmallPicture, type SmallPicture } from '#core/covers/small-pictures.ts'
import { refuse } from '#core/foundation/errors.ts'

interface Dependencies {
  database: Knex
  settings: { dataFolder: string }
}

/** The small picture of a cover. */
export interface FoundPicture extends SmallPicture {
  etag: string
  /** Of the cover itself: its version. */
  hash: string
  /** Where the same picture is found in more than `above` pixels of width: a page of the book, a JPEG file, or only the file of the book. */
  larger: { above: number } & ({ bookId: string; pageNumber: number } | { path: string } | { book: ReadableBook })
}

/** The cover of a book or series that the caller may see, or a sentence that says why it has none. */
export type FoundCover = FoundPicture | { missing: string }

/** The width of most stored pictures: 400 pixels high, with the proportions of a page. */
const USUAL_WIDTH = 267

/** The thumbnail of a book: of the selected cover, otherwise of the extracted one. @throws not_found for a hidden or unknown book */
export async function findBookThumbnail({ database, settings }: Dependencies, caller: Caller, bookId: string): Promise<FoundCover> {
  const book = await coverLookupOf(database).books.find(caller, bookId)
  if (!book) refuse('not_found', `There is no book ${bookId}, or you may not see it.`)
  const { id, chosenCover } = book
  return (await findChosen(settings, { kind: 'book', id }, chosenCover)) ?? (await findExtractedCover(book, settings.dataFolder))
}

/** The selected cover; null when none is selected or its file is missing. */
async function findChosen(
  { dataFolder }: Dependencies['settings'],
  owner: CoverOwner,
  chosen: { id: string; hash: string } | null,
): Promise<FoundCover | null> {
  if (chosen === null) return null
  const etag = `${chosen.hash}-small`
  const found = await readSmallPicture({ path: chosenCoverPath(dataFolder, owner, { id: chosen.id, size: 'small' }), etag })
  return (
    found && {
      ...found,
      etag,
      hash: chosen.hash,
      larger: { above: USUAL_WIDTH, path: chosenCoverPath(dataFolder, owner, { id: chosen.id, size: 'large' }) },
    }
  )
}

async function findExtractedCover(book: ReadableBook, dataFolder: string): Promise<FoundCover> {
  const { coverHash: etag, fileName } = book
  if (etag === null)
    return { missing: book.state === 'pending' ? `The cover of "${fileName}" does not exist yet.` : `"${fileName}" has no cover.` }
  const found = await readSmallPicture({ path: coverPath(dataFolder, book.id), etag })
  const page = book.coverPage === null ? { book } : { bookId: book.id, pageNumber: book.coverPage }
  const larger = { above: book.coverWidth ?? USUAL_WIDTH, ...page }
  return found ? { ...found, etag, hash: etag, larger } : { missing: `The cover of "${fileName}" is missing; a deep scan restores it.` }
}

/**
 * The thumbnail of a series: of the selected cover, otherwise of its first book with a cover.
 * @throws not_found for a hidden or unknown series
 */
export async function findSeriesThumbnail(dependencies: Dependencies, caller: Caller, seriesId: string): Promise<FoundCover> {
  const { database, settings } = dependencies
  const series = await coverLookupOf(database).series.find(caller, seriesId)
  if (!series) refuse('not_found', `There is no series ${seriesId}, or you may not see it.`)
  const { id, chosenCover, coverBookId } = series
  const chosen = await findChosen(settings, { kind: 'series', id }, chosenCover)
  if (chosen) return chosen
  if (coverBookId === null) return { missing: 'No book of this series has a cover yet.' }
  return await findBookThumbnail(dependencies, caller, coverBookId)
}
