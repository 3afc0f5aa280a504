import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { findCover } from '#core/catalog/book-file.ts'
import { type CoverFile, findChosenCover } from '#core/catalog/choose-cover.ts'
import { findSeriesCoverBook } from '#core/catalog/series-query.ts'
import { checkOwner } from '#core/metadata/chosen-cover-store.ts'

interface Dependencies {
  database: Knex
  settings: { dataFolder: string }
}

/** The cover of a book or series that the caller may see, or a sentence that says why it has none. */
export type FoundCover = CoverFile | { missing: string }

/** The thumbnail of a book: of the selected cover, otherwise of the extracted one. @throws not_found for a hidden or unknown book */
export async function findBookThumbnail(dependencies: Dependencies, caller: Caller, bookId: string): Promise<FoundCover> {
  await checkOwner(dependencies.database, caller, { kind: 'book', id: bookId })
  const chosen = await findChosenCover(dependencies, { kind: 'book', id: bookId.toLowerCase() })
  return chosen ?? (await findCover(dependencies.database, caller, { bookId, dataFolder: dependencies.settings.dataFolder }))
}

/**
 * The thumbnail of a series: of the selected cover, otherwise of its first book with a cover.
 * @throws not_found for a hidden or unknown series
 */
export async function findSeriesThumbnail(dependencies: Dependencies, caller: Caller, seriesId: string): Promise<FoundCover> {
  await checkOwner(dependencies.database, caller, { kind: 'series', id: seriesId })
  const chosen = await findChosenCover(dependencies, { kind: 'series', id: seriesId.toLowerCase() })
  if (chosen) return chosen
  const bookId = await findSeriesCoverBook(dependencies.database, caller, seriesId)
  if (bookId === null) return { missing: 'No book of this series has a cover yet.' }
  return await findBookThumbnail(dependencies, caller, bookId)
}
