import { type Content, hasSamePages, isEqual } from '#test/support/torture/content.ts'
import type { Certainty, ModelScan, Row } from '#test/support/torture/row.ts'
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
 * was replaced may follow its former content. A file that was tagged at its path is still the book there, whatever new file has its former content or its
 * pages, unless another row has just the content that it has now.
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
    match.byContent(isEqual)
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
      const isNew = !this.#rows.some((row) => row.library === library && files.includes(row.path))
      const left = this.#rows.filter((row) => isSame(row.content, content)).map((row) => [row, this.#hasLeft(row, isSame, isNew)] as const)
      const rows = left.filter(([, certainty]) => certainty === 'yes').map(([row]) => row)
      const perhaps = this.#rows.filter((row) => row.replaced && isSame(row.replaced, content) && this.#isAtHome(row))
      perhaps.push(...left.filter(([, certainty]) => certainty === 'perhaps').map(([row]) => row))
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

  #isAtHome(row: Row): boolean {
    return (this.taken.get(row) ?? row.path) === row.path
  }

  /** Whether neither the content nor the pages of a row are at its path, or another row has that by now; `perhaps` if its file is not read in this scan. */
  #hasLeft(row: Row, isSame: (one: Content, other: Content) => boolean, isNew: boolean): Certainty {
    const { scan, here } = this.#found
    if (this.taken.has(row) || (row.library !== scan.library && !ABILITIES.crossesLibraries)) return 'no'
    const now = scan.contentAt(row.library, row.path)
    const isRead = row.library === scan.library && here.has(row.path)
    if (now === undefined || (isRead && !this.#left.has(row.path))) return 'yes'
    if (!ABILITIES.followsContent || isSame(row.content, now)) return 'no'
    if (ABILITIES.followsPages && hasSamePages(row.content, now)) return isNew ? 'no' : 'perhaps'
    return isRead ? 'yes' : 'perhaps'
  }
}
