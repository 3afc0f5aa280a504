/** The thread of file-writer.ts: replaces files one by one, with calls that wait for the disk. */
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { type FileToReplace, halfPath, type ReplaceError } from '#core/covers/file-writer.ts'
import { serveJobs } from '#core/foundation/thread-jobs.ts'

function write(half: string, bytes: Uint8Array): void {
  try {
    writeFileSync(half, bytes)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    mkdirSync(dirname(half), { recursive: true, mode: 0o700 })
    writeFileSync(half, bytes)
  }
}

function replace({ path, bytes }: FileToReplace): ReplaceError | null {
  const half = halfPath(path)
  try {
    write(half, bytes)
    renameSync(half, path)
    return null
  } catch (error) {
    rmSync(half, { force: true })
    const { message, code } = error as NodeJS.ErrnoException
    return { message, code }
  }
}

serveJobs((files: readonly FileToReplace[]) => files.map(replace))
