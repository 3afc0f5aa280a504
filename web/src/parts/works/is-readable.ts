/** Of the record of a book. */
interface Facts {
  pageCount: number
  analysisError?: string | null | undefined
  deleted: boolean
}

/** Whether there are pages to open: the last analysis has read the file, and it is not gone. */
export const isReadable = ({ pageCount, analysisError, deleted }: Facts): boolean => pageCount > 0 && !analysisError && !deleted
