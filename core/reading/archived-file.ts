/** A file that goes into an archive, as its record describes it. */
export interface ArchivedFile {
  /** In the archive: safe, and unlike all others. */
  name: string
  /** Absolute; after links are resolved, the file must be inside `inside`. */
  path: string
  inside: string
  /** Or one of these folders, through a link. */
  linkTargets?: readonly string[]
  bytes: number
  /** Nanoseconds since the epoch, decimal. */
  mtimeNs: string
  /** Whether the file may still be sent, checked immediately before: a download takes hours, and permissions may change meanwhile. */
  isAllowed: () => Promise<boolean>
}
