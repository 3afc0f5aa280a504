import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { findCover } from '#core/catalog/book-file.ts'
import { type CoverFile, findChosenCover } from '#core/catalog/choose-cover.ts'
import { findSeriesCoverBook } from '#core/catalog/series-query.ts'
import { checkOwner } from '#core/metadata/chosen-cover-store.ts'

interface Parts {
  database: Knex
  settings: { dataFolder: string }
}

/** The cover of something that the caller may see; or, in a sentence, why it has none. */
export type ShownCover = CoverFile | { missing: string }

/** The cover that stands for a book, small: the chosen one, else the one its file brings. @throws not_found for a hidden or unknown book */
export async function findBookThumbnail(parts: Parts, caller: Caller, bookId: string): Promise<ShownCover> {
  await checkOwner(parts.database, caller, { kind: 'book', id: bookId })
  const chosen = await findChosenCover(parts, { kind: 'book', id: bookId.toLowerCase() })
  return chosen ?? (await findCover(parts.database, caller, { bookId, dataFolder: parts.settings.dataFolder }))
}

/**
 * The cover that stands for a series, small: the chosen one, else that of its first book with one.
 * @throws not_found for a hidden or unknown series
 */
export async function findSeriesThumbnail(parts: Parts, caller: Caller, seriesId: string): Promise<ShownCover> {
  await checkOwner(parts.database, caller, { kind: 'series', id: seriesId })
  const chosen = await findChosenCover(parts, { kind: 'series', id: seriesId.toLowerCase() })
  if (chosen) return chosen
  const bookId = await findSeriesCoverBook(parts.database, caller, seriesId)
  if (bookId === null) return { missing: 'No book of this series has a cover yet.' }
  return await findBookThumbnail(parts, caller, bookId)
}
