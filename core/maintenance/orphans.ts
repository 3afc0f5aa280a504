import { opendir, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import type { Knex } from 'knex'
import { COVER_OWNERS, type CoverOwner } from '#core/covers/cover.ts'
import { listKnownIds } from '#core/database/known-ids-query.ts'
import { UUID_PATTERN } from '#core/foundation/schema.ts'
import { listKnownCovers } from '#core/maintenance/orphan-query.ts'
import { deleteUnusedPeople } from '#core/metadata/people-store.ts'
import type { TaskAdder, TaskRun } from '#core/tasks/task.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'

/** Files per statement. */
const STEP = 500
/** A younger file may be a cover that is being written now. */
const YOUNG_MS = 3_600_000
/** Files that a report lists: users look at some of them. */
const LISTED_MAX = 1_000
/** Messages about files that could not be removed; further ones would say the same. */
const ERRORS_MAX = 20
const TYPE = 'cleanup_orphaned_files'

/** The folders are named by two digits of an id: see coverPath and coversFolder. */
const PREFIXES = Array.from({ length: 256 }, (_, index) => index.toString(16).padStart(2, '0'))
const THUMBNAIL = new RegExp(`^(${UUID_PATTERN})\\.jpg(?:\\.tmp)?$`)
const OWNER = new RegExp(`^${UUID_PATTERN}$`)
const COVER = new RegExp(`^(${UUID_PATTERN})-(?:large|small)\\.jpg(?:\\.tmp)?$`)

interface Dependencies {
  database: Knex
  dataFolder: string
}

/** A file of the data folder that belongs to no record or cover any more. */
interface OrphanedFile {
  kind: 'thumbnail' | 'cover'
  /** Absolute. */
  path: string
  /** The id of its book, series, collection or read list. */
  ownerId: string
  bytes: number
}

/** `errors` describes only the first failures. */
interface RemovedOrphans {
  thumbnails: number
  covers: number
  /** Removed people without books and series. */
  people: number
  bytes: number
  failures: number
  errors: string[]
}

/** Counts orphaned files, and lists the first ones. Paths are relative to the data folder. */
export async function countOrphans(
  dependencies: Dependencies,
  signal: AbortSignal,
): Promise<{ thumbnails: number; covers: number; bytes: number; files: OrphanedFile[] }> {
  const found = { thumbnails: 0, covers: 0, bytes: 0, files: [] as OrphanedFile[] }
  for await (const { orphans } of findOrphans(dependencies, signal)) {
    for (const orphan of orphans) {
      found[orphan.kind === 'cover' ? 'covers' : 'thumbnails']++
      found.bytes += orphan.bytes
      if (found.files.length < LISTED_MAX) found.files.push({ ...orphan, path: relative(dependencies.dataFolder, orphan.path) })
    }
  }
  return found
}

/** Removes orphaned files, and people without books and series, at a user's request. Recently written files stay. */
export async function removeOrphans(dependencies: Dependencies, run: Pick<TaskRun, 'signal' | 'progress'>): Promise<RemovedOrphans> {
  const done: RemovedOrphans = { thumbnails: 0, covers: 0, people: 0, bytes: 0, failures: 0, errors: [] }
  for await (const { orphans, at, of } of findOrphans(dependencies, run.signal)) {
    for (const orphan of orphans) {
      try {
        await rm(orphan.path, { force: true })
        done[orphan.kind === 'cover' ? 'covers' : 'thumbnails']++
        done.bytes += orphan.bytes
        // The folder of an owner is removed with its last cover.
        if (orphan.kind === 'cover') await rmdir(dirname(orphan.path)).catch(() => {})
      } catch (error) {
        done.failures++
        const code = (error as NodeJS.ErrnoException).code ?? 'unknown'
        const path = relative(dependencies.dataFolder, orphan.path)
        if (done.errors.length < ERRORS_MAX) done.errors.push(`"${path}" could not be removed (${code}).`)
      }
    }
    run.progress(at, of)
  }
  done.people = await deleteUnusedPeople(dependencies.database)
  return done
}

/** Registers the handler with the queue; call before its start(). */
export function handleOrphanRemoval({ database, dataFolder, tasks }: Dependencies & { tasks: TaskQueue }): void {
  tasks.handle(TYPE, { concurrency: 1 }, (run) => removeOrphans({ database, dataFolder }, run))
}

/** Queues the task that removes orphaned files. */
export async function requestOrphanRemoval({ tasks }: { tasks: TaskAdder }): Promise<{ taskId: string; message: string }> {
  const { taskId, created } = await tasks.add({ type: TYPE, dedupeKey: TYPE })
  return { taskId, message: created ? 'A task will remove orphaned files.' : 'A task that removes orphaned files is already queued.' }
}

interface Found {
  path: string
  ownerId: string
  coverId: string | null
}

/** Searches the folders of thumbnails and covers; `at` of `of` folders are done. */
async function* findOrphans(
  { database, dataFolder }: Dependencies,
  signal: AbortSignal,
): AsyncGenerator<{ orphans: OrphanedFile[]; at: number; of: number }> {
  const folders = [
    ...PREFIXES.map((prefix) => ({ list: listThumbnails(join(dataFolder, 'thumbnails', 'books', prefix)), of: 'book' as const })),
    ...(Object.keys(COVER_OWNERS) as CoverOwner['kind'][]).flatMap((of) =>
      PREFIXES.map((prefix) => ({ list: listCovers(join(dataFolder, 'covers', of, prefix)), of })),
    ),
  ]
  for (const [index, { list, of }] of folders.entries()) {
    signal.throwIfAborted()
    for await (const files of inSteps(list)) {
      const unknown = await withoutKnown(database, of, files)
      const orphans = (await Promise.all(unknown.map(describe))).filter((orphan) => orphan !== null)
      yield { orphans, at: index, of: folders.length }
    }
    yield { orphans: [], at: index + 1, of: folders.length }
  }
}

async function withoutKnown(database: Knex, of: CoverOwner['kind'], files: readonly Found[]): Promise<Found[]> {
  const owners = await listKnownIds(
    database,
    COVER_OWNERS[of],
    files.map(({ ownerId }) => ownerId),
  )
  const coverIds = files.flatMap(({ coverId }) => coverId ?? [])
  const covers = coverIds.length > 0 ? await listKnownCovers(database, coverIds) : new Set<string>()
  return files.filter(({ ownerId, coverId }) => (coverId === null ? !owners.has(ownerId) : !covers.has(coverId)))
}

/** Null if it is not a file, does not exist any more, or is too young. */
async function describe({ path, ownerId, coverId }: Found): Promise<OrphanedFile | null> {
  const facts = await stat(path).catch(() => null)
  if (!facts?.isFile() || Date.now() - facts.mtimeMs < YOUNG_MS) return null
  return { kind: coverId === null ? 'thumbnail' : 'cover', path, ownerId, bytes: facts.size }
}

/** Files with names of thumbnails; other files may be a user's own. */
async function* listThumbnails(folder: string): AsyncGenerator<Found> {
  for await (const name of namesIn(folder)) {
    const ownerId = THUMBNAIL.exec(name)?.[1]
    if (ownerId) yield { path: join(folder, name), ownerId, coverId: null }
  }
}

async function* listCovers(folder: string): AsyncGenerator<Found> {
  for await (const ownerId of namesIn(folder)) {
    if (!OWNER.test(ownerId)) continue
    for await (const name of namesIn(join(folder, ownerId))) {
      const coverId = COVER.exec(name)?.[1]
      if (coverId) yield { path: join(folder, ownerId, name), ownerId, coverId }
    }
  }
}

/** Yields nothing if there is no such folder. */
async function* namesIn(folder: string): AsyncGenerator<string> {
  const open = await opendir(folder).catch(() => null)
  if (open) for await (const { name } of open) yield name
}

async function* inSteps(list: AsyncIterable<Found>): AsyncGenerator<Found[]> {
  let files: Found[] = []
  for await (const file of list) {
    files.push(file)
    if (files.length < STEP) continue
    yield files
    files = []
  }
  if (files.length > 0) yield files
}
