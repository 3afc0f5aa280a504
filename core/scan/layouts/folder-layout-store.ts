import type { Knex } from 'knex'
import { BUNDLE_MIN, type FolderDecision } from '#core/scan/layouts/decide-folder.ts'

interface FolderLayoutRow {
  path: string
  kind: FolderDecision['kind']
  published: boolean
}

/** What a walk makes of a folder now. */
interface FoundFolder {
  decision: FolderDecision
  /** Its new books. */
  added: number
}

/** Copying a disk, or the downloads of a night, takes no longer. */
const FILLED_SECONDS = 24 * 3600

/**
 * Records what a walk has found of folders with new books; returns the decisions that hold for `folders`. A decision changes only while its folder is being
 * filled: else one new file could regroup a library.
 */
export async function keepDecisions(
  trx: Knex,
  library: { id: string; path: string },
  { folders, found }: { folders: readonly string[]; found: ReadonlyMap<string, FoundFolder> },
): Promise<Map<string, FolderDecision>> {
  const kept = await listDecisions(trx, library.id, folders)
  // Without a decision, the books that a folder has, in the folders in it, are one series.
  const kindBefore = (path: string) => kept.get(path)?.kind ?? 'series'
  const others = [...found].filter(([path, { decision }]) => decision.kind !== kindBefore(path))
  const changing = await listFilling(trx, library, others)
  const next = new Map<string, FolderDecision>()
  for (const [path, { decision }] of found) {
    const before = kept.get(path)
    const isPublished = decision.isPublished || (before?.isPublished ?? false)
    const kind = changing.has(path) ? waitingKind(decision.kind) : kindBefore(path)
    if (before?.kind !== kind || before?.isPublished !== isPublished) next.set(path, { kind, isPublished })
  }
  if (next.size > 0)
    await trx.raw(`${INSERT} ON CONFLICT (library_id, path) DO UPDATE SET kind = excluded.kind, published = excluded.published`, [
      library.id,
      ...columnsOf(next),
    ])
  return new Map([...kept, ...next])
}

/** A folder that is one series now, and was none, waits for the task that moves its books: where all folders are series, scans start no such task. */
const waitingKind = (now: FolderDecision['kind']): FolderDecision['kind'] => (now === 'series' ? 'persons' : now)

/** Those of the folders whose books came, at least half of them, within the last day, and those that had too few books for another decision. */
async function listFilling(
  trx: Knex,
  library: { id: string; path: string },
  folders: readonly (readonly [path: string, FoundFolder])[],
): Promise<Set<string>> {
  // In the root, each book that has no name in common with another one is a series, so that a decision moves no others.
  const filling = new Set(folders.flatMap(([path, { decision }]) => (path === '' && decision.kind === 'bundle' ? [path] : [])))
  const below = folders.filter(([path]) => path !== '')
  if (below.length === 0) return filling
  const { rows } = await trx.raw(
    // Its books are those in it, and those of the folders in it that belong to its series.
    `SELECT f.path FROM unnest(CAST(:paths AS text[]), CAST(:added AS int[])) AS f (path, added) CROSS JOIN LATERAL (
       SELECT count(*) AS books, count(*) FILTER (WHERE b.created_at > now() - make_interval(secs => :seconds)) AS recent FROM (
         SELECT path, series_id, created_at FROM books WHERE library_id = :libraryId
           AND path > :root || f.path || '/' AND path < :root || f.path || '0' OFFSET 0) AS b
       WHERE position('/' IN substr(b.path, length(:root || f.path) + 2)) = 0 OR (SELECT path FROM series WHERE id = b.series_id) = f.path) AS n
     WHERE n.books < :least OR 2 * (n.recent + f.added) >= n.books + f.added`,
    {
      paths: below.map(([path]) => path),
      added: below.map(([, { added }]) => added),
      root: `${library.path}/`,
      libraryId: library.id,
      seconds: FILLED_SECONDS,
      least: BUNDLE_MIN,
    },
  )
  for (const { path } of rows as { path: string }[]) filling.add(path)
  return filling
}

/** Records what was decided of all books for folders without a decision, and for those that waited. */
export async function settleDecisions(trx: Knex, libraryId: string, decided: ReadonlyMap<string, FolderDecision>): Promise<void> {
  if (decided.size === 0) return
  await trx.raw(
    `${INSERT} ON CONFLICT (library_id, path) DO UPDATE SET kind = excluded.kind
     WHERE folder_layouts.kind = 'persons' AND excluded.kind <> 'persons'`,
    [libraryId, ...columnsOf(decided)],
  )
}

const INSERT = `INSERT INTO folder_layouts (library_id, path, kind, published)
  SELECT CAST(? AS uuid), g.path, g.kind, g.published FROM unnest(CAST(? AS text[]), CAST(? AS text[]), CAST(? AS boolean[])) AS g (path, kind, published)`

/** One order of locking prevents deadlocks. */
function columnsOf(decided: ReadonlyMap<string, FolderDecision>): [string[], string[], boolean[]] {
  const folders = [...decided].sort(([a], [b]) => (a < b ? -1 : 1))
  return [folders.map(([path]) => path), folders.map(([, { kind }]) => kind), folders.map(([, one]) => one.isPublished)]
}

/** @param folders all by default */
export async function listDecisions(database: Knex, libraryId: string, folders?: readonly string[]): Promise<Map<string, FolderDecision>> {
  const query = database('folder_layouts').where('library_id', libraryId).select('path', 'kind', 'published')
  if (folders) query.whereRaw('path = ANY(CAST(? AS text[]))', [[...folders]])
  const rows: FolderLayoutRow[] = await query
  return new Map(rows.map(({ path, kind, published }) => [path, { kind, isPublished: published }]))
}

/** The bundles in some folders, and in the folders in these. */
export async function listBundlesBelow(database: Knex, libraryId: string, folders: readonly string[]): Promise<string[]> {
  if (folders.length === 0) return []
  const { rows } = await database.raw(
    `SELECT DISTINCT l.path FROM unnest(CAST(? AS text[])) AS f (path)
     JOIN folder_layouts l ON l.library_id = ? AND l.kind = 'bundle' AND l.path > f.path || '/' AND l.path < f.path || '0'`,
    [[...folders], libraryId],
  )
  return rows.map(({ path }: { path: string }) => path)
}

/** Forgets all decisions: the layout has changed. */
export async function forgetDecisions(trx: Knex, libraryId: string): Promise<void> {
  await trx('folder_layouts').where('library_id', libraryId).delete()
}
