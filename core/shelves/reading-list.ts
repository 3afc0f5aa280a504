/** One book in a reading list of another program. */
export interface ReadingListEntry {
  series: string
  /** As written: "1", "0.5", "1A"; '' when missing. */
  number: string
  /** Often the year in which the series began. */
  volume: string
  year: string
}

/** A reading list in CBL format, which comic readers exchange. */
export interface ReadingList {
  name: string
  entries: ReadingListEntry[]
}

/** Parses the bytes of a .cbl file; `refused` says why they are invalid. */
export type ReadReadingList = (bytes: Uint8Array) => Promise<ReadingListOutcome>
export type ReadingListOutcome = ReadingList | { refused: string }

/** The longest lists that people exchange (all of an event of decades) have about 3,000 books. */
export const READING_LIST_ENTRIES_MAX = 5_000
