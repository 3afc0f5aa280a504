import { opendir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Knex } from 'knex'
import { BOOK_COVERS_FOLDER } from '#core/book/book-file.ts'
import { listKnownCovers, listKnownOwners } from '#core/cover/chosen-cover-store.ts'
import { type CoverOwner, coversFolderOf } from '#core/cover/cover.ts'

/** Names looked up at a time: what is held in memory, and one short statement. */
const STEP = 1_000
/** The files of an upload are there before its row is; none takes this long. */
const UPLOAD_MS_MAX = 3_600_000

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=$|[.-])/

interface Parts {
  database: Knex
  dataFolder: string
}

/**
 * Removes the files of covers whose book, series or upload is not in the database: a server that was killed between the two left them. Rows are
 * looked up after the files were seen and ids never come back, so nothing that is in use is touched; nor is what has no name of ours.
 * Answers how many covers and folders of covers went.
 */
export async function sweepCovers(parts: Parts, signal?: AbortSignal): Promise<number> {
  const { database, dataFolder } = parts
  let removed = await sweepTree(join(dataFolder, BOOK_COVERS_FOLDER), async (paths) => {
    const known = await listKnownOwners(database, 'book', [...paths.keys()])
    return { gone: [...paths].filter(([id]) => !known.has(id)).flatMap(([, files]) => files), kept: [] }
  })
  for (const kind of ['book', 'series'] as const) {
    removed += await sweepTree(coversFolderOf(dataFolder, kind), (paths) => sortFolders(parts, kind, paths))
  }
  return removed

  async function sweepTree(root: string, sort: Sort): Promise<number> {
    let count = 0
    for (const folder of await readdir(root).catch(none)) {
      for await (const paths of steps(join(root, folder))) {
        signal?.throwIfAborted()
        const { gone, kept } = await sort(paths)
        for (const path of gone) await rm(path, { recursive: true, force: true })
        count += gone.length + (await sweepUploads(database, kept))
      }
    }
    return count
  }
}

/** What of some paths, by the id in their name, is to go, and which folders of uploads stay. */
type Sort = (paths: ReadonlyMap<string, string[]>) => Promise<{ gone: string[]; kept: string[] }>

async function sortFolders({ database }: Parts, kind: CoverOwner['kind'], paths: ReadonlyMap<string, string[]>) {
  const known = await listKnownOwners(database, kind, [...paths.keys()])
  const { gone = [], kept = [] } = Object.groupBy([...paths], ([id]) => (known.has(id) ? 'kept' : 'gone'))
  return { gone: gone.flatMap(([, found]) => found), kept: kept.flatMap(([, found]) => found) }
}

/** Removes from folders of uploads what belongs to no row. */
async function sweepUploads(database: Knex, folders: readonly string[]): Promise<number> {
  let count = 0
  for (const folder of folders) {
    for await (const paths of steps(folder)) {
      const known = await listKnownCovers(database, [...paths.keys()])
      for (const [id, files] of paths) {
        if (known.has(id)) continue
        const times = await Promise.all(files.map((file) => stat(file).catch(() => null)))
        if (times.some((facts) => facts && Date.now() - facts.mtimeMs < UPLOAD_MS_MAX)) continue
        for (const file of files) await rm(file, { force: true })
        count += 1
      }
    }
  }
  return count
}

/** What lies in a folder, by the id that its name begins with, some at a time. */
async function* steps(folder: string): AsyncGenerator<Map<string, string[]>> {
  const entries = await opendir(folder).catch(() => null)
  if (!entries) return
  let paths = new Map<string, string[]>()
  for await (const { name } of entries) {
    const id = UUID.exec(name)?.[0]
    if (id === undefined) continue
    paths.set(id, [...(paths.get(id) ?? []), join(folder, name)])
    if (paths.size < STEP) continue
    yield paths
    paths = new Map()
  }
  if (paths.size > 0) yield paths
}

/** The folder comes with the first cover. */
function none(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return []
  throw error
}
