import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import type { ExportFile } from '#core/exports/series-export-store.ts'

const folderOf = (dataFolder: string) => path.join(dataFolder, 'exports')
/** The ending of incomplete files; nothing else has it. */
const HALF = '.part'

export const exportPath = (dataFolder: string, { id, format }: ExportFile) => path.join(folderOf(dataFolder), `${id}.${format}`)

/** A file being written. It gets its name only when it is complete. */
export interface ExportDraft {
  /** Written so far. */
  bytes: number
  write(text: string): Promise<void>
  /** Completes it: syncs it to disk and gives it its name. */
  keep(): Promise<void>
  /** Closes it; deletes it unless it was kept. */
  close(): Promise<void>
}

export async function openExportDraft(dataFolder: string, which: ExportFile): Promise<ExportDraft> {
  const whole = exportPath(dataFolder, which)
  // Two runs of one export may overlap for a moment when one was considered lost.
  const half = `${whole}.${randomUUID()}${HALF}`
  await mkdir(folderOf(dataFolder), { recursive: true, mode: 0o700 })
  let file: FileHandle | null = await open(half, 'wx', 0o600)
  const draft: ExportDraft = {
    bytes: 0,
    async write(text) {
      if (file === null || text === '') return
      const chunk = Buffer.from(text)
      await file.writeFile(chunk)
      draft.bytes += chunk.length
    },
    async keep() {
      if (file === null) return
      await file.sync()
      await file.close()
      file = null
      await rename(half, whole)
    },
    async close() {
      if (file === null) return
      await file.close()
      file = null
      await rm(half, { force: true })
    },
  }
  return draft
}

export async function removeExportFiles(dataFolder: string, files: readonly ExportFile[]): Promise<void> {
  for (const file of files) await rm(exportPath(dataFolder, file), { force: true })
}

/** Deletes incomplete files of a killed server. Call before anything is written: the folder is ours alone. */
export async function removeHalfFiles(dataFolder: string): Promise<void> {
  for (const name of await listFolder(dataFolder)) {
    if (name.endsWith(HALF)) await rm(path.join(folderOf(dataFolder), name), { force: true })
  }
}

/** Complete files that have not changed since. */
export async function listOldFiles(dataFolder: string, since: Date): Promise<ExportFile[]> {
  const old: ExportFile[] = []
  for (const name of await listFolder(dataFolder)) {
    const [, id, format] = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(json|csv|md)$/.exec(name) ?? []
    if (id === undefined || format === undefined) continue
    const facts = await stat(path.join(folderOf(dataFolder), name)).catch(() => null)
    if (facts && facts.mtime < since) old.push({ id, format: format as ExportFile['format'] })
  }
  return old
}

async function listFolder(dataFolder: string): Promise<string[]> {
  try {
    return await readdir(folderOf(dataFolder))
  } catch (error) {
    // Nothing has been exported yet.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
