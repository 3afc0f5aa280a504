import { dirname } from 'node:path'
import type { LibraryFile } from '#core/fields/analysis.ts'

/** A file in a library whose folder is the folder of the file. */
export const fileAt = (path: string): LibraryFile => ({ root: dirname(path), path })
