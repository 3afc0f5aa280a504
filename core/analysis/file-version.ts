import type { LibraryFile } from '#core/fields/analysis.ts'
import { fileTime } from '#core/foundation/column-number.ts'
import { lstatInside } from '#core/foundation/open-inside.ts'

/** Size and time that identify the version of a file. */
export interface FileVersion {
  bytes: string
  mtimeNs: string
}

export const isSameVersion = (one: FileVersion, other: FileVersion) => one.bytes === other.bytes && one.mtimeNs === other.mtimeNs

/** Equals no version. */
export const NO_FILE: FileVersion = { bytes: '', mtimeNs: '' }

/** Null when there is no file at the path any more, or none where its link leads; the recorded version when the path cannot be read. */
export async function readVersion(file: LibraryFile, known: FileVersion): Promise<FileVersion | null> {
  try {
    const stats = await lstatInside(file)
    return { bytes: String(stats.size), mtimeNs: String(fileTime(stats)) }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    // A parent folder may not be entered: the analysis will report it.
    return known
  }
}

/**
 * The present versions of several files, by path: null where there is none. Files whose disk does not answer in time are missing.
 * @param msMax null: waits for every disk
 */
export async function readVersions(
  files: readonly (LibraryFile & { known: FileVersion })[],
  msMax: number | null,
): Promise<Map<string, FileVersion | null>> {
  const versions = new Map<string, FileVersion | null>()
  const reading = Promise.all(files.map(async ({ known, ...file }) => versions.set(file.path, await readVersion(file, known))))
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    // After a pause of this process, answers that are there already come first.
    if (msMax !== null) timer = setTimeout(() => setImmediate(resolve), msMax)
  })
  await Promise.race([reading, late])
  clearTimeout(timer)
  return new Map(versions)
}
