/** One book as a reading list of another program names it. */
export interface ReadingListEntry {
  series: string
  /** As written: "1", "0.5", "1A"; '' when it is not said. */
  number: string
  /** Often the year in which the series began. */
  volume: string
  year: string
}

/** A reading list in the CBL form that comic readers exchange. */
export interface ReadingList {
  name: string
  entries: ReadingListEntry[]
}

/** Reads the bytes of a .cbl file; `refused` says in words why they are none. */
export type ReadReadingList = (bytes: Uint8Array) => Promise<ReadingListOutcome>
export type ReadingListOutcome = ReadingList | { refused: string }

/** The longest lists people exchange (all of an event of decades) have about 3,000 books. */
export const READING_LIST_ENTRIES_MAX = 5_000
