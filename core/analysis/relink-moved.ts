import { readdir, stat } from 'node:fs/promises'
import type { Knex } from 'knex'
import { findBooksToAnalyze } from '#core/analysis/book-to-analyze-store.ts'
import { type FileVersion, isSameVersion, NO_FILE, readVersion, readVersions } from '#core/analysis/file-version.ts'
import { deleteLeftSeries, hasPresentBooks, joinSeries, lockSeriesPair } from '#core/analysis/follow-series-store.ts'
import { isFormerName } from '#core/analysis/former-name.ts'
import { type Claimed, type FoundFile, findClaimed, listMatches, type MatchingBook } from '#core/analysis/moved-book-query.ts'
import { type DisplacedBook, type LinkedSeries, relinkBook } from '#core/analysis/relink-store.ts'
import { recordReplaced, restoreReplaced } from '#core/analysis/replaced-content-store.ts'
import { folderOf } from '#core/catalog/library-folder.ts'
import type { LibraryFile } from '#core/fields/analysis.ts'
import { withSortTitle } from '#core/fields/sort-title.ts'
import { askDisk } from '#core/foundation/disk-calls.ts'
import { holdsNothing } from '#core/foundation/foreign-folder.ts'
import { applyChange } from '#core/metadata/apply-change.ts'
import { loadStates, storeStates } from '#core/metadata/metadata-state-store.ts'
import { storeFolderTitles } from '#core/metadata/series-aggregate-store.ts'

/** A row that follows its content to a file, or one with equal pages. */
type MovedBook = MatchingBook & DisplacedBook

/** A disk that wakes up answers within this time. A file whose disk does not answer has not moved. */
const DISK_MS = 20_000

/**
 * The rows whose content has moved to these files, by the rows of the files, the best first; a file without any is missing. `open`: rows that have the content,
 * and another file at their path that is not read yet.
 */
export async function listMoved(
  database: Knex,
  found: readonly FoundFile[],
): Promise<{ moved: Map<string, MovedBook[]>; open: Map<string, MatchingBook[]> }> {
  if (found.length === 0) return { moved: new Map(), open: new Map() }
  const matches = await listMatches(database, found)
  const versions = await readVersions(
    matches.map(({ libraryPath, path, linkTargets }) => ({ root: libraryPath, path, linkTargets, known: NO_FILE })),
    DISK_MS,
  )
  const fileOf = new Map(found.map((file) => [file.id, file]))
  const places = await Promise.all(matches.map((match) => placeOf(match, versions.get(match.path), fileOf.get(match.foundId) as FoundFile)))
  const at = matches.map((match, index) => ({ ...match, place: places[index] as Place, isUnread: false }))
  const moved = at.flatMap(({ place, ...match }) => (place === 'gone' || place === 'taken' ? [{ ...match, place }] : []))
  const open = at.filter(({ place }) => place === 'open')
  return { moved: Map.groupBy(moved, ({ foundId }) => foundId), open: Map.groupBy(open, ({ foundId }) => foundId) }
}

/** Where the content of a row is: `open` while only the analysis of its file can tell, `here` if the file is as it was. */
type Place = MovedBook['place'] | 'open' | 'here'

/**
 * @param found the version of the file at its path; null if there is none, absent if the disk does not answer
 * @param file the one that has the content
 */
async function placeOf(book: MatchingBook, found: FileVersion | null | undefined, file: FoundFile): Promise<Place> {
  if (found === undefined || found === NO_FILE) return 'here'
  if (found === null) return book.isDeleted || (await isMounted(book)) ? 'gone' : 'here'
  if (await isFormerName({ root: book.libraryPath, path: book.path }, { root: file.library_path, path: file.path })) return 'gone'
  if (book.isReplaced) return 'taken'
  if (!book.isPending && isSameVersion(found, book)) return 'here'
  // A file of another size may have the same pages: then it is the book, with other tags, and a new file with its former content is a copy.
  const mayHavePages = book.isByPages || (file.content === null && book.pagesHash !== null)
  return !mayHavePages && found.bytes !== book.bytes ? 'taken' : 'open'
}

/** A disk that is not mounted leaves an empty folder, or none: its files have not moved. */
async function isMounted({ libraryPath, path, devices }: MatchingBook): Promise<boolean> {
  const known = devices ?? {}
  for (let folder = folderOf(libraryPath, path); ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    if (folder !== '' && !Object.hasOwn(known, folder)) continue
    const place = folder === '' ? libraryPath : `${libraryPath}/${folder}`
    const found = await askDisk(libraryPath, () => stat(place)).catch(() => null)
    if (found === null && folder !== '') continue
    if (found === null) return false
    // The numbers of some devices change with every start.
    return known[folder] === undefined || found.dev === known[folder] || !(await isEmpty(libraryPath, place))
  }
}

const isEmpty = async (root: string, folder: string): Promise<boolean> =>
  holdsNothing(await askDisk(root, () => readdir(folder)).catch(() => []))

/**
 * The row of a moved book gets the path of the file, and keeps its id, progress, locks and metadata. The row of the file is deleted if it is new, or takes the
 * place of the book. Null when another file was faster; else the series that the book has left, if any.
 */
export async function relinkMoved(
  trx: Knex.Transaction,
  found: FoundFile,
  book: MovedBook,
): Promise<{ leftSeriesId: string | null } | null> {
  const series = await relinkBook(trx, found, book)
  if (!series) return null
  if (book.isReplaced) await restoreReplaced(trx, book.id, { fileHash: found.sha256, pagesHash: found.pagesHash })
  // A file with equal content, found later, is the better match; all pages are there meanwhile.
  else if (book.isByPages && book.fileHash !== null) await recordReplaced(trx, book.id, { fileHash: book.fileHash, pagesHash: null }, 0)
  return { leftSeriesId: await followSeries(trx, series, { book, to: found.library_path }) }
}

/**
 * When a folder was renamed, or all books of a series went to another library, the series goes with them. Returns the one that the book has left, if any.
 * @param move.to the path of the library where the book is now
 */
async function followSeries(
  trx: Knex.Transaction,
  series: LinkedSeries,
  { book, to }: { book: DisplacedBook; to: string },
): Promise<string | null> {
  if (series.oldId === series.newId) return null
  const pair = book.place === 'gone' ? await lockSeriesPair(trx, series) : null
  const isMoved =
    pair !== null &&
    ((await isGone({ root: book.libraryPath, path: pair.old.path }, { root: to, path: pair.fresh.path })) ||
      !(await hasPresentBooks(trx, series.oldId)))
  if (!isMoved) {
    await deleteLeftSeries(trx, series)
    return series.oldId
  }
  await joinSeries(trx, pair)
  await renameSeries(trx, pair.old.id, pair.fresh.folder_title ?? pair.fresh.title)
  return null
}

/** The new folder name becomes its title, unless a file or a user has given a better one. */
async function renameSeries(trx: Knex, seriesId: string, title: string): Promise<void> {
  const before = (await loadStates(trx, 'series', [seriesId], [])).get(seriesId)
  if (!before) return
  const { next } = applyChange('series', before, { values: { title } }, 'file_name')
  await storeStates(trx, 'series', [{ before, next: withSortTitle(next) }])
  await storeFolderTitles(trx, new Map([[seriesId, title]]))
}

/** A row whose file was replaced follows its content to the file of another row, which takes the place of the first. False when one of them has changed. */
export async function relinkReplaced(
  trx: Knex.Transaction,
  book: { id: string; library_id: string; library_path: string; path: string; file_hash: string | null },
  claimed: Claimed,
  place: DisplacedBook['place'] = 'taken',
): Promise<boolean> {
  const displaced = { id: book.id, libraryId: book.library_id, libraryPath: book.library_path, path: book.path, fileHash: book.file_hash }
  const moving = { ...displaced, place, isUnread: true }
  const series = await relinkBook(trx, claimed, moving)
  if (!series) return false
  await followSeries(trx, series, { book: moving, to: claimed.library_path })
  if (claimed.content) await restoreReplaced(trx, claimed.id, claimed.content)
  return true
}

/** Whether nothing is at the first path, or only what is listed at the second one. Both are relative to their libraries. */
async function isGone(former: LibraryFile, now: LibraryFile): Promise<boolean> {
  const place = inLibrary(former)
  return (await readVersion(place, NO_FILE)) === null || (await isFormerName(place, inLibrary(now)))
}

const inLibrary = ({ root, path }: LibraryFile): LibraryFile => ({ root, path: `${root}/${path}` })

/**
 * A row without a file follows its content, if that of another row has it: a new one, which is deleted, or one whose own content was replaced, which does the
 * same then. Returns the rows whose new files must be read.
 */
export async function followContent(trx: Knex.Transaction, bookId: string): Promise<string[]> {
  const moved: string[] = []
  for (let id: string | null = bookId; id !== null; ) {
    const [book] = await findBooksToAnalyze(trx, [id])
    const claimed = book?.file_hash ? await findClaimed(trx, { ...book, file_hash: book.file_hash }) : null
    if (!book || !claimed || !(await relinkReplaced(trx, book, claimed, 'gone'))) break
    moved.push(id)
    id = claimed.content && claimed.id
  }
  return moved
}
