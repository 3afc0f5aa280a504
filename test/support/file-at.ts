import { dirname } from 'node:path'
import type { LibraryFile } from '#core/metadata/analysis.ts'

/** A file of a library that is the folder it lies in. */
export const fileAt = (path: string): LibraryFile => ({ root: dirname(path), path })
