import type { Content } from '#test/support/torture/content.ts'
import type { LibraryName } from '#test/support/torture/tree.ts'

export type Certainty = 'no' | 'perhaps' | 'yes'

/** A book that the server knows. */
export interface Row {
  id: string
  library: LibraryName
  path: string
  /** At its last analysis. */
  content: Content
  /** Size and date then. */
  version: string
  /** Its file was found changed without its date. */
  isRotten: boolean
  /** The content that its file had before. */
  replaced: Content | null
  /** The content in which somebody had read further than the present one has pages. */
  cut: Content | null
  isMissing: boolean
  /** A scan has not found it, and did not mark it. */
  isHeld: boolean
  /** Whether an accepted scan has found it: only these count as lost. Scans may accept a book one scan later. */
  known: Certainty
  seriesId: string
  progress: { currentPage: number; completed: boolean } | null
  /** Entered by a person. */
  title: string | null
}

export interface ModelScan {
  library: LibraryName
  /** The libraries that are scanned in the same step. */
  together: readonly LibraryName[]
  /** Null while the root is lost. */
  files: ReadonlyMap<string, Content> | null
  /** Books as they were in this library before a scan of the other one, at the same time, found them there: this scan may have missed them first. */
  left: readonly Row[]
  look(folder: string): 'gone' | 'empty' | 'filled'
  versionOf(library: LibraryName, path: string): string
  /** Whether the one before was killed or canceled: what that one has recorded may hide losses from this one, and the next one finds them. */
  isAfterStop: boolean
  /** Whether every file is read. */
  isDeep: boolean
  /** Of a path in any library. */
  contentAt(library: LibraryName, path: string): Content | undefined
  /** The folder that was scanned; '' for the whole library. */
  part: string
  confirmed: 'all' | ReadonlySet<string>
}
