import type { Knex } from 'knex'
import { type Caller, isAdministrator } from '#core/account/caller.ts'
import { visibleLibraryPath } from '#core/account/path-view.ts'
import { visibleLibrary, visibleTo } from '#core/account/visibility.ts'
import type { Library } from '#core/catalog/library.ts'
import type { LibraryRow } from '#core/catalog/library-store.ts'
import { countRows } from '#core/database/select.ts'
import { refuse } from '#core/foundation/errors.ts'

interface CountedRow extends LibraryRow {
  book_count: string | number
  series_count: string | number
}

/** One page of the libraries that the caller may see, by name, and the total. Counts include only what the caller may see. */
export async function listLibraries(
  database: Knex,
  caller: Caller,
  list: { offset: number; limit: number },
): Promise<{ items: Library[]; total: number }> {
  const [rows, total] = await Promise.all([
    selectLibraries(database, caller)
      .orderByRaw('libraries.name COLLATE carrel_natural, libraries.id')
      .offset(list.offset)
      .limit(list.limit) as Promise<CountedRow[]>,
    countRows(database('libraries').modify(visibleLibrary(caller, 'libraries.id'))),
  ])
  return { items: rows.map((row) => libraryOf(row, caller)), total }
}

/** @throws not_found also for a library that the caller may not see */
export async function getLibrary(database: Knex, caller: Caller, libraryId: string): Promise<Library> {
  const [row] = (await selectLibraries(database, caller).where('libraries.id', libraryId)) as CountedRow[]
  return row ? libraryOf(row, caller) : refuse('not_found', `There is no library ${libraryId}.`)
}

function selectLibraries(database: Knex, caller: Caller): Knex.QueryBuilder {
  const books = () =>
    database('books').whereRaw('books.library_id = libraries.id').whereNull('books.deleted_at').modify(visibleTo(caller, 'books.series_id'))
  return database('libraries')
    .modify(visibleLibrary(caller, 'libraries.id'))
    .select(
      'libraries.*',
      books().count('*').as('book_count'),
      books().select(database.raw('count(DISTINCT books.series_id)')).as('series_count'),
    )
}

function libraryOf(row: CountedRow, caller: Caller): Library {
  return {
    id: row.id,
    name: row.name,
    path: visibleLibraryPath(caller, row.path),
    description: row.description,
    isActive: row.is_active,
    seriesStrategy: row.series_strategy as Library['seriesStrategy'],
    seriesConfig: row.series_config,
    bookStrategy: row.book_strategy as Library['bookStrategy'],
    bookConfig: row.book_config,
    numberStrategy: row.number_strategy as Library['numberStrategy'],
    numberConfig: row.number_config,
    defaultReadingDirection: row.default_reading_direction as Library['defaultReadingDirection'],
    allowedFormats: row.allowed_formats,
    excludedPatterns: row.excluded_patterns,
    ...(isAdministrator(caller) && { linkTargets: row.link_targets }),
    scanningConfig: row.scanning_config as Library['scanningConfig'],
    titlePreprocessingRules: row.title_preprocessing_rules,
    autoMatchConditions: row.auto_match_conditions,
    bookCount: Number(row.book_count),
    seriesCount: Number(row.series_count),
    lastScannedAt: row.last_scanned_at?.toISOString() ?? null,
    nextScanAt: (row.is_active && row.next_scan_at?.toISOString()) || null,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}
