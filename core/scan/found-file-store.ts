import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import { forgetSuspects } from '#core/analysis/suspect-store.ts'
import type { LibraryRow } from '#core/catalog/library-store.ts'
import { keptSum } from '#core/catalog/list-state-query.ts'
import { eachId } from '#core/database/each-by-id.ts'
import { repeatPassing } from '#core/database/repeat-passing.ts'
import { announceBooks } from '#core/events/event-store.ts'
import { raiseAgeRatings } from '#core/metadata/aggregate-series.ts'
import { markBooksChanged } from '#core/metadata/series-aggregate-store.ts'
import { decideFolders } from '#core/scan/layouts/place-files.ts'
import { layoutOf } from '#core/scan/layouts/series-config.ts'
import { protectMoved } from '#core/scan/moves/protect-moved.ts'
import { insertBooks, type NewBooks, type SeenFile } from '#core/scan/new-book-store.ts'

/** Rows per step through a library; keeps a statement around a megabyte. */
const PAGE = 2_000

/** Options for recording files. */
interface RecordedScan extends NewBooks {
  /** Returns every book, changed or not. */
  deep: boolean
}

/** The folders whose database rows matched the disk at their last scan, with their digests. */
export async function listFolderDigests(database: Knex, libraryId: string): Promise<Map<string, string>> {
  const rows = await database('scanned_folders').where('library_id', libraryId).select('path', 'digest')
  return new Map(rows.map((row: { path: string; digest: string }) => [row.path, row.digest]))
}

/** Whether a book of any library exists that has no hash yet but may get one: its file could still turn out to be a moved book. */
export async function hasUnhashedBooks(database: Knex): Promise<boolean> {
  const book = await database('books')
    .whereNull('deleted_at')
    .whereNull('file_hash')
    .where((either) => either.where('state', 'pending').orWhere('retry_due', true))
    .first('id')
  return book !== undefined
}

/** Paths of existing books that could not be read in their last analysis; every scan retries them. */
export async function listRetryPaths(database: Knex, libraryId: string): Promise<string[]> {
  return await database('books').where('library_id', libraryId).whereNull('deleted_at').where('retry_due', true).pluck('path')
}

/** From the kept numbers: counting a hundred thousand rows takes a tenth of the time of a rescan. */
const PRESENT = keptSum(`kind IN ('books_pending', 'books_analyzed', 'books_failed') AND key = :libraryId`)

export async function countPresentBooks(database: Knex, libraryId: string): Promise<number> {
  const { rows } = await database.raw(`SELECT ${PRESENT}::int AS count`, { libraryId })
  return rows[0].count
}

/** Books that existed when the last scan was accepted and still exist: newer ones do not compensate for missing ones. */
export async function countKnownBooks(database: Knex, libraryId: string): Promise<number> {
  const { rows } = await database.raw(
    `SELECT (${PRESENT} - (SELECT count(*) FROM books WHERE library_id = :libraryId AND provisional AND deleted_at IS NULL))::int AS count`,
    { libraryId },
  )
  return rows[0].count
}

/** Series of a library with existing books. */
export async function countSeries(database: Knex, libraryId: string): Promise<number> {
  const { rows } = await database.raw(
    // One look into an index for each series: a join reads all books.
    `SELECT count(*)::int AS count FROM series s
     WHERE s.library_id = ? AND (SELECT true FROM books b WHERE b.series_id = s.id AND b.deleted_at IS NULL LIMIT 1)`,
    [libraryId],
  )
  return rows[0].count
}

/** Who has more of them needs another strategy, not their number. Each request for the status counts them, because layouts change between scans too. */
export const UNSORTED_COUNTED_MAX = 1_000

/** Existing books that the strategy of their library found no series for; one more than the maximum if there are more. */
export async function countUnsorted(database: Knex, libraryId: string, countedMax = UNSORTED_COUNTED_MAX): Promise<number> {
  const { rows } = await database.raw(
    `SELECT count(*)::int AS count FROM (
       SELECT 1 FROM series s JOIN books b ON b.series_id = s.id
       WHERE s.library_id = ? AND s.path = '' AND s.name_key = 'unsorted' AND b.deleted_at IS NULL LIMIT ?) AS counted`,
    [libraryId, countedMax + 1],
  )
  return rows[0].count
}

/** How many new, unanalyzed files there are of each size in bytes, in this library and in all others: each may be a moved book. */
export async function countNewFiles(database: Knex, libraryId: string): Promise<Map<number, number>> {
  const rows = (await database('books')
    .where((either) => either.where({ library_id: libraryId, provisional: true }).orWhereNot('library_id', libraryId))
    .where('state', 'pending')
    .whereNull('deleted_at')
    .whereNull('file_hash')
    .groupBy('file_size')
    .select('file_size')
    .count({ count: '*' })) as { file_size: string | number; count: string | number }[]
  return new Map(rows.map((row) => [Number(row.file_size), Number(row.count)]))
}

/** Accepts a scan: the books that it found count as known from now on. */
export async function acceptFound(database: Knex, libraryId: string): Promise<void> {
  // Analyses that relink books lock several in an order of their own, so this never waits: skipped rows are left to the next scan.
  await database.raw(
    `UPDATE books SET provisional = false WHERE id = ANY(ARRAY(
       SELECT id FROM books WHERE library_id = ? AND provisional ORDER BY id FOR NO KEY UPDATE SKIP LOCKED))`,
    [libraryId],
  )
}

/** A complete scan has found these books missing; books that an earlier scan found missing keep that scan. */
export async function noteMissed(database: Knex, libraryId: string, scanId: string): Promise<void> {
  await database.raw(
    `UPDATE books SET missed_by = ? WHERE deleted_at IS NOT NULL AND id = ANY(ARRAY(
       SELECT id FROM books WHERE library_id = ? AND deleted_at IS NOT NULL AND missed_by IS NULL ORDER BY id FOR NO KEY UPDATE SKIP LOCKED))`,
    [scanId, libraryId],
  )
}

interface KnownFile {
  n: number
  id: string | null
  bytes: string
  mtime: string
  deleted: boolean
  pending: boolean
  retryDue: boolean
  sidecars: string | null
}

/**
 * Updates the rows of these files: new ones are added as pending, changed ones become pending again, deleted ones are restored.
 * Returns the books that need analysis, in the order of the files.
 */
export async function recordFiles(database: Knex, scan: RecordedScan, files: SeenFile[]): Promise<string[]> {
  // A series row may vanish between finding and using it, when a renamed folder gets its old row back; moved books lock rows too (see relink-store.ts).
  return await repeatPassing(async () => {
    const { wanted, arrived } = await database.transaction(async (trx) => await recordOnce(trx, scan, files))
    // After the transaction, whose locks on books an analysis may wait for while it locks their series.
    await markBooksChanged(database, arrived)
    await raiseAgeRatings(database, arrived)
    return wanted
  })
}

async function recordOnce(
  trx: Knex.Transaction,
  { deep, ...scan }: RecordedScan,
  files: SeenFile[],
): Promise<{ wanted: string[]; arrived: string[] }> {
  const known = await listDifferent(trx, { library: scan.library, deep }, files)
  const wanted = new Map<number, string>()
  const fresh: { n: number; id: string; file: SeenFile }[] = []
  const changed: { id: string; path: string; bytes: number; mtime: string; again: boolean; sidecars: string | null; described: boolean }[] =
    []
  const arrived: string[] = []
  for (const row of known) {
    const file = files[row.n - 1] as SeenFile
    if (row.id === null) {
      fresh.push({ n: row.n, id: randomUUID(), file })
      continue
    }
    const { bytes } = file
    const mtime = String(file.mtimeNs)
    const again = Number(row.bytes) !== bytes || row.mtime !== mtime
    const described = row.sidecars !== file.sidecars
    if (again || row.deleted || described)
      changed.push({ id: row.id, path: `${scan.library.path}/${file.path}`, bytes, mtime, again, sidecars: file.sidecars, described })
    if (row.deleted) arrived.push(row.id)
    // A restored book may have been pending when it was deleted. One that could not be read and has not changed is retried; its data stays.
    if (again || described || row.retryDue || deep || row.pending) wanted.set(row.n, row.id)
  }
  if (changed.length > 0) {
    await trx.raw(
      `UPDATE books b SET file_size = f.bytes, file_mtime_ns = f.mtime, sidecars = f.sidecars, deleted_at = NULL, updated_at = now(),
         hashed_size = CASE WHEN f.again AND b.state <> 'pending' THEN b.file_size ELSE b.hashed_size END,
         state = CASE WHEN f.again THEN 'pending' ELSE b.state END, retry_due = (b.retry_due OR f.described) AND NOT f.again
       FROM unnest(?::uuid[], ?::text[], ?::bigint[], ?::bigint[], ?::boolean[], ?::text[], ?::boolean[])
         AS f (id, path, bytes, mtime, again, sidecars, described)
       WHERE b.id = f.id AND b.path = f.path`,
      [
        changed.map((row) => row.id),
        changed.map((row) => row.path),
        changed.map((row) => row.bytes),
        changed.map((row) => row.mtime),
        changed.map((row) => row.again),
        // The driver's types do not allow null inside an array; PostgreSQL does.
        changed.map((row) => row.sidecars) as string[],
        changed.map((row) => row.described),
      ],
    )
    await announceBooks(trx, arrived, ['deleted'])
    await decideDescribed(trx, scan, changed)
    // Suspicion against the old version does not apply to the new one.
    const again = changed.filter((row) => row.again).map((row) => row.id)
    if (again.length > 0) await forgetSuspects(trx, again)
  }
  if (fresh.length > 0) {
    const inserted = await insertBooks(trx, scan, fresh)
    for (const { n, id } of fresh) if (inserted.has(id)) wanted.set(n, id)
    arrived.push(...inserted)
    await protectMoved(trx, [...inserted])
  }
  return { wanted: [...wanted].sort(([a], [b]) => a - b).map(([, id]) => id), arrived }
}

/** A file that describes a book may say what its folder is, as that of Calibre does. */
async function decideDescribed(
  trx: Knex.Transaction,
  { library, walked }: NewBooks,
  changed: readonly { path: string; described: boolean }[],
): Promise<void> {
  const paths = changed.flatMap(({ path, described }) => (described ? [path.slice(library.path.length + 1)] : []))
  if (!walked || paths.length === 0) return
  const layout = layoutOf(library.series_strategy, library.series_config)
  await decideFolders(trx, { library, layout, walked }, { paths, areNew: false })
}

async function listDifferent(
  trx: Knex,
  { library, deep }: { library: LibraryRow; deep: boolean },
  files: SeenFile[],
): Promise<KnownFile[]> {
  // OFFSET 0 prevents a join: the planner would read the whole library for every batch (80 ms instead of 10 at 100,000 books).
  const { rows } = await trx.raw(
    `SELECT f.n::int, b.id, b.file_size::text AS bytes, b.file_mtime_ns::text AS mtime, b.deleted_at IS NOT NULL AS deleted,
       b.state = 'pending' AS pending, b.retry_due AS "retryDue", b.sidecars
     FROM unnest(?::text[], ?::bigint[], ?::bigint[], ?::text[]) WITH ORDINALITY AS f (path, bytes, mtime, sidecars, n)
     LEFT JOIN LATERAL (SELECT * FROM books WHERE library_id = ? AND path = f.path OFFSET 0) b ON true
     WHERE ? OR b.id IS NULL OR b.file_size <> f.bytes OR b.file_mtime_ns <> f.mtime OR b.retry_due OR b.deleted_at IS NOT NULL
       OR b.sidecars IS DISTINCT FROM f.sidecars`,
    [
      files.map((file) => `${library.path}/${file.path}`),
      files.map((file) => file.bytes),
      files.map((file) => String(file.mtimeNs)),
      files.map((file) => file.sidecars) as string[],
      library.id,
      deep,
    ],
  )
  return rows
}

/** A folder with books, relative to the library. */
export interface ChangedFolder {
  path: string
  digest: string
  files: number
  /** The version of the file that describes its series. */
  seriesFile: string | null
}

/** Records that the database rows of these folders now match the disk. */
export async function recordFolders(database: Knex, libraryId: string, folders: readonly ChangedFolder[]): Promise<void> {
  if (folders.length === 0) return
  await database.raw(
    `INSERT INTO scanned_folders (library_id, path, digest, files) SELECT ?, f.path, f.digest, f.files
     FROM unnest(?::text[], ?::text[], ?::int[]) AS f (path, digest, files)
     ON CONFLICT (library_id, path) DO UPDATE SET digest = excluded.digest, files = excluded.files`,
    [libraryId, folders.map((one) => one.path), folders.map((one) => one.digest), folders.map((one) => one.files)],
  )
}

/** Deletes the digests of folders, of all when none are given, so that the next scan compares every book in them. */
export async function forgetFolders(database: Knex, libraryId: string, paths?: string[]): Promise<void> {
  const query = database('scanned_folders').where('library_id', libraryId)
  if (paths) query.whereRaw('path = ANY(?::text[])', [paths])
  await query.delete()
}

/** Books that have waited for analysis since before the given time: their task was lost or canceled. */
export function eachForgottenBook(database: Knex, libraryId: string, before: Date): AsyncGenerator<string[]> {
  const query = database('books').where('library_id', libraryId).where('state', 'pending').whereNull('deleted_at')
  return eachId(query.where('updated_at', '<', before), PAGE)
}
