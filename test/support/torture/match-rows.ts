import { type Content, hasSamePages, isEqual } from '#test/support/torture/content.ts'
import type { ModelScan, Row } from '#test/support/torture/row.ts'
import type { SeenBook } from '#test/support/torture/server.ts'

/** What the server does beyond equal content in one library. */
export const ABILITIES = {
  /** A row follows its content even where its old path has another file: shifts, cycles and swaps; progress beyond the pages of a replaced file is cut. */
  followsContent: true,
  /** A missing book is found by its pages in a file with other bytes. */
  followsPages: true,
  /** A book that changes its library keeps its row. */
  crossesLibraries: true,
  /** A series that gets a book of a series with a sharing tag has the tag too. */
  passesTags: true,
}

interface Matched {
  /** Rows with the paths that they have now. */
  taken: Map<Row, string>
  differences: string[]
}

interface Found {
  scan: ModelScan
  /** The files that the scan found. */
  here: ReadonlyMap<string, Content>
  seen: ReadonlyMap<string, SeenBook>
}

/**
 * Finds the row of each file: of every rule in turn, those that are left. Of equal files, which has which row is taken from the server; and a row whose file
 * was replaced may follow its former content. A file that was tagged where it was is still the book, whatever else has its pages; but if its former content
 * turned up elsewhere, the one that is read first is the book.
 */
export function matchRows(rows: readonly Row[], found: Found): Matched {
  const { followsContent, followsPages } = ABILITIES
  const match = new Matching(rows, found)
  match.byPath(
    (row, content) => !followsContent || isEqual(row.content, content) || row.version === found.scan.versionOf(row.library, row.path),
  )
  match.byContent(isEqual)
  if (followsPages) {
    match.byPath((row, content) => hasSamePages(row.content, content))
    match.byContent(hasSamePages)
  }
  match.byPath(() => true)
  return match
}

class Matching implements Matched {
  readonly taken = new Map<Row, string>()
  readonly differences: string[] = []
  readonly #rows: readonly Row[]
  readonly #found: Found
  readonly #left: Map<string, Content>
  readonly #idAt: ReadonlyMap<string, string>

  constructor(rows: readonly Row[], found: Found) {
    const { scan, seen, here } = found
    this.#rows = rows
    this.#found = found
    this.#left = new Map(here)
    this.#idAt = new Map([...seen.values()].filter(({ library }) => library === scan.library).map((book) => [book.filePath, book.id]))
  }

  byPath(isSame: (row: Row, content: Content) => boolean): void {
    for (const row of this.#rows) {
      const content = this.#left.get(row.path)
      if (row.library === this.#found.scan.library && content && !this.taken.has(row) && isSame(row, content)) this.#take(row, row.path)
    }
  }

  #take(row: Row, path: string): void {
    // A row that leaves its place for its former content leaves the file there to others.
    const before = this.taken.get(row)
    if (before !== undefined) this.#left.set(before, this.#found.here.get(before) as Content)
    this.taken.set(row, path)
    this.#left.delete(path)
  }

  byContent(isSame: (one: Content, other: Content) => boolean): void {
    const { library } = this.#found.scan
    for (const [path, content] of [...this.#left]) {
      if (!this.#left.has(path)) continue
      const files = [...this.#left].filter(([, other]) => isSame(content, other)).map(([one]) => one)
      const left = this.#rows.filter((row) => isSame(row.content, content) && this.#hasLeft(row, isSame))
      const rows = left.filter((row) => !this.#isTagged(row))
      const replaced = this.#rows.filter((row) => row.replaced && isSame(row.replaced, content) && this.#isAtHome(row))
      const perhaps = [...left.filter((row) => this.#isTagged(row)), ...replaced]
      const chosen = files.flatMap((file) =>
        [...rows, ...perhaps].filter(({ id }) => id === this.#idAt.get(file)).map((row) => [row, file] as const),
      )
      const count = Math.min(files.length, rows.length)
      if (chosen.length < count || (chosen.length > count && perhaps.length === 0))
        this.differences.push(
          `${library}/${files.join(', ')} should be ${count} of the books ${rows.map((row) => `${row.library}/${row.path}`).join(', ')}`,
        )
      for (const [row, file] of chosen) this.#take(row, file)
    }
  }

  /** Whether the file at the path of a row has other bytes, and its pages. */
  #isTagged({ library, path, content }: Row): boolean {
    const now = this.#found.scan.contentAt(library, path)
    return ABILITIES.followsPages && now !== undefined && !isEqual(content, now) && hasSamePages(content, now)
  }

  #isAtHome(row: Row): boolean {
    return (this.taken.get(row) ?? row.path) === row.path
  }

  /** Whether the content of a row is no longer at its path. */
  #hasLeft(row: Row, isSame: (one: Content, other: Content) => boolean): boolean {
    const { library, contentAt } = this.#found.scan
    if (this.taken.has(row) || (row.library !== library && !ABILITIES.crossesLibraries)) return false
    const now = contentAt(row.library, row.path)
    return now === undefined || (ABILITIES.followsContent && !isSame(row.content, now))
  }
}
