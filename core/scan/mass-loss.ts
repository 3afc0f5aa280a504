/** More than half of fewer books than this may be gone, and yet somebody may have deleted them on purpose. */
const KNOWN_MIN = 5

/** What a scan did not do, because the disk is probably missing. */
export interface Guard {
  /** Books recorded before, in folders that could be read. */
  known: number
  /** Those of them that are gone. What is reported leaves out files that may have been moved. */
  missing: number
}

/** Whether so many are gone at once that an unmounted disk is the likelier reason: all, or more than half of at least five. */
export function isMassLoss({ known, missing }: Guard): boolean {
  return missing > 0 && (missing >= known || (missing * 2 > known && known >= KNOWN_MIN))
}

const number = new Intl.NumberFormat('en-US')

/** The message in the report of a scan; numbers and advice come before the path, which may be long. */
export function describeLoss({ known, missing }: Guard, path: string): string {
  const all = missing >= known ? 'All' : `${number.format(missing)} of the`
  return `${all} ${number.format(known)} known books are gone. Nothing was marked as deleted: is the disk mounted? If they are gone for good, scan with confirm=true (the command scan: with --confirm). Folder: "${path}"`
}

/** The same for books that were marked as deleted over time, and would now be purged. */
export function describeUnpurged({ known, missing }: Guard, libraryId: string): string {
  return `${number.format(missing)} of ${number.format(known)} books have been missing long enough to be purged, but these are too many to purge automatically. To purge them: DELETE /api/v1/libraries/${libraryId}/purge-deleted`
}
