/** Fewer than this many may be more than half of a small library and yet be what somebody tidied up. */
const LOSS_MIN = 20

/** What a scan did not do, because it looked like a disk that is away. */
export interface Guard {
  /** Books known before, as far as their folders could be looked at. */
  known: number
  /** Those of them that are gone; files that may have moved do not count. */
  missing: number
}

/** Whether so many are gone at once that a disk which is not mounted is the likelier reason: all, or more than half and at least 20. */
export function isMassLoss({ known, missing }: Guard): boolean {
  return missing > 0 && (missing >= known || (missing * 2 > known && missing >= LOSS_MIN))
}

const number = new Intl.NumberFormat('en-US')

/** What the report of a scan says; the numbers and the way out come before the path, which may be long. */
export function describeLoss({ known, missing }: Guard, path: string): string {
  const all = missing >= known ? 'All' : `${number.format(missing)} of the`
  return `${all} ${number.format(known)} known books are gone. Nothing was marked as deleted: is the disk mounted? If they are gone for good, scan with confirm=true (the command scan: with --confirm). Folder: "${path}"`
}

/** The same of books that were marked as deleted by and by, and would now be removed for good. */
export function describeUnpurged({ known, missing }: Guard, libraryId: string): string {
  return `${number.format(missing)} of ${number.format(known)} books have been gone for long enough to be removed, which is too many to happen by itself. To remove them: DELETE /api/v1/libraries/${libraryId}/purge-deleted`
}
