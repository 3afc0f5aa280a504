import { type Content, hasSamePages, isEqual } from '#test/support/torture/content.ts'
import { type Outcome, outcomesOf } from '#test/support/torture/losses.ts'
import { ABILITIES, matchRows } from '#test/support/torture/match-rows.ts'
import type { ModelScan, Row } from '#test/support/torture/row.ts'
import type { SeenBook, SeenScan } from '#test/support/torture/server.ts'
import { folderOf, type LibraryName } from '#test/support/torture/tree.ts'

const isIn = (part: string, path: string): boolean => part === '' || path.startsWith(`${part}/`)

/** The books of both libraries as they should be. Where files are equal, which row has which of them is taken from the server. */
export class Model {
  readonly rows: Row[] = []

  at(library: LibraryName, path: string): Row | undefined {
    return this.rows.find((row) => row.library === library && row.path === path)
  }

  /** Books that lists show. */
  present(library?: LibraryName): Row[] {
    return this.rows.filter((row) => !row.isMissing && (library === undefined || row.library === library))
  }

  /** Brings the model up to date after a scan, and returns what the server made differently. */
  scan(scan: ModelScan, seen: ReadonlyMap<string, SeenBook>, status: SeenScan): string[] {
    if (scan.files === null) return status.status === 'failed' ? [] : [`a scan without the root is ${status.status}`]
    const here = new Map([...scan.files].filter(([path]) => isIn(scan.part, path)))
    const before = this.rows.filter((row) => row.library === scan.library)
    const wasKnown = before.some((row) => row.known !== 'no' && !row.isMissing)
    const present = before.filter((row) => !row.isMissing)
    const { taken, differences } = matchRows(this.rows, { scan, here, seen })
    const moved = new Set([...taken].filter(([row, path]) => row.path !== path || row.library !== scan.library).map(([row]) => row))
    // A file that has taken the path of a book hides that it is gone.
    const gone = present.filter((row) => isIn(scan.part, row.path) && !here.has(row.path))
    // New files may be lost books until they are analyzed: nothing is reported, or accepted, before.
    const mayWait = gone.length > 0 && [...here.keys()].some((path) => !before.some((row) => row.path === path))
    // Some may be in a library whose scan comes next.
    const isElsewhere = (row: Row) => (seen.get(row.id)?.library ?? row.library) !== row.library
    const likely = new Set(
      [...moved].filter((row) => row.library !== scan.library || row.content.serial !== here.get(taken.get(row) as string)?.serial),
    )
    // A new file of its size may be it, until it is analyzed.
    const fresh = [...scan.files].filter(([path]) => !before.some((row) => row.path === path)).map(([, { serial }]) => serial)
    for (const row of gone) if (isElsewhere(row) || fresh.includes(row.content.serial)) likely.add(row)
    const recorded = new Set([...before.map(({ path }) => folderOf(path)), ...[...scan.files.keys()].map(folderOf)])
    const isKnown = (row: Row) => row.known !== 'no' && !row.isMissing
    const left = scan.left.filter(isKnown)
    for (const row of left) likely.add(row)
    const losses = outcomesOf({
      known: [...present.filter(isKnown), ...left],
      gone: [...gone, ...left],
      moved,
      likely,
      recorded: recorded.size,
      scan,
    })
    const places = this.rows.map(({ library, path }) => ({ library, path }))
    this.#take(taken, scan, here)
    // A file that has taken the place of a book gets a row at once, also where the scan did not look.
    const others = places.filter(({ library, path }) => !here.has(path) || library !== scan.library)
    const wasMass = status.status === 'failed'
    const mayPass = mayWait || scan.isAfterStop
    if (losses.isMass !== 'perhaps' && !(losses.isMass === 'yes' && mayPass) && (losses.isMass === 'yes') !== wasMass)
      differences.push(`scan of ${scan.library} is ${status.status}, but mass loss: ${losses.isMass} (${status.errors.join()})`)
    // Those of a library that is scanned too are compared with its own files.
    const mine = this.rows.filter((row) => row.library === scan.library || !scan.together.includes(row.library))
    if (ABILITIES.followsContent)
      for (const row of [...this.rows]) {
        const copy = this.#copyOf(row, seen)
        if (copy && (!taken.has(row) || row.replaced) && (mine.includes(row) || !seen.has(copy.id))) this.#follow(row, copy, scan, seen)
      }
    if (ABILITIES.followsContent) for (const row of mine) if (!taken.has(row) && !gone.includes(row)) this.#displace(row, scan, seen)
    for (const row of gone)
      if (!moved.has(row) && !isElsewhere(row) && !here.has(row.path)) differences.push(...this.#lose(row, losses.of(row), seen))
    const added = [...here.keys()].map((path) => ({ library: scan.library, path })).filter(({ library, path }) => !this.at(library, path))
    for (const { library, path } of [...added, ...others]) {
      const content = scan.contentAt(library, path)
      const book = [...seen.values()].find((one) => one.library === library && one.filePath === path)
      if (book && content && !this.rows.some(({ id }) => id === book.id)) {
        const known = wasKnown ? 'no' : 'perhaps'
        this.rows.push(newRow(book, { library, content, version: scan.versionOf(library, path), known }))
      } else if (library === scan.library && here.has(path)) differences.push(`no new book at ${library}/${path}`)
    }
    if (!wasMass)
      for (const row of this.rows)
        if (row.library === scan.library) row.known = row.known === 'no' || (mayWait && row.known === 'perhaps') ? 'perhaps' : 'yes'
    return differences
  }

  #take(taken: ReadonlyMap<Row, string>, scan: ModelScan, here: ReadonlyMap<string, Content>): void {
    for (const [row, path] of taken) {
      Object.assign(row, { path, library: scan.library, isMissing: false, isHeld: false })
      this.analyze(row, { content: here.get(path) as Content, version: scan.versionOf(scan.library, path), isRead: scan.isDeep })
    }
  }

  /** What a row says of its file after an analysis. @param file.isRead also if its size and date have not changed */
  analyze(row: Row, { content, version, isRead }: { content: Content; version: string; isRead: boolean }): void {
    if (row.version === version) {
      if (isRead) row.isRotten = !isEqual(content, row.content)
      return
    }
    if (ABILITIES.followsContent && !isEqual(content, row.content)) row.replaced = row.content
    if (row.progress && !hasSamePages(content, row.content)) this.#cut(row, row.progress, content)
    Object.assign(row, { content, version, isRotten: false })
  }

  /** Progress beyond the last page returns when the content before does, but not after a third one. */
  #cut(row: Row, progress: NonNullable<Row['progress']>, content: Content): void {
    const isBack = row.cut !== null && hasSamePages(content, row.cut)
    if (row.cut && !isBack) row.progress = { ...progress, currentPage: Math.min(progress.currentPage, row.content.pages) }
    row.cut = !isBack && (row.progress as typeof progress).currentPage > content.pages ? row.content : null
  }

  /**
   * A book without a file, or whose file was replaced, may follow its content to a copy that nobody has read or named, or that was another book until then.
   * Nobody may know yet that the copy is gone too.
   */
  #copyOf(row: Row, seen: ReadonlyMap<string, SeenBook>): Row | undefined {
    const book = seen.get(row.id)
    const copy = book && this.at(book.library, book.filePath)
    if (!copy || copy === row || (!copy.replaced && (copy.progress || copy.title !== null))) return undefined
    if (book.deleted && seen.has(copy.id)) return undefined
    return [row.content, row.replaced].some((one) => one && hasSamePages(copy.content, one)) ? copy : undefined
  }

  /** The row of the copy is gone then, has the file of the book, or is the other book again, which may be missing. */
  #follow(row: Row, copy: Row, scan: ModelScan, seen: ReadonlyMap<string, SeenBook>): void {
    const { library, path, content, version, known } = copy
    const other = seen.get(copy.id)
    if (other) {
      const file = other.deleted ? undefined : scan.contentAt(other.library, other.filePath)
      const now = { content: file ?? copy.replaced ?? content, version: file ? scan.versionOf(other.library, other.filePath) : '' }
      Object.assign(copy, { ...now, library: other.library, path: other.filePath, isMissing: other.deleted, replaced: null })
    } else this.rows.splice(this.rows.indexOf(copy), 1)
    const book = seen.get(row.id) as SeenBook
    const [isMissing, isHeld] = [book.deleted, book.missing?.why === 'withheld']
    Object.assign(row, { library, path, content, version, known, isMissing, isHeld, replaced: null, cut: null })
  }

  /** A book whose path another one has taken has the former path of that one, and is missing there. */
  #displace(row: Row, scan: ModelScan, seen: ReadonlyMap<string, SeenBook>): void {
    const book = seen.get(row.id)
    if (!book || (book.library === row.library && book.filePath === row.path)) return
    const content = scan.contentAt(book.library, book.filePath)
    // Its content may be there too, where the scan did not look: the path of a book that was found elsewhere is read at once.
    if (content && !isEqual(content, row.content) && !hasSamePages(content, row.content)) return
    const isHeld = book.missing?.why === 'withheld'
    Object.assign(row, { library: book.library, path: book.filePath, isHeld, isMissing: book.deleted })
    if (content) this.analyze(row, { content, version: scan.versionOf(book.library, book.filePath), isRead: false })
  }

  #lose(row: Row, outcomes: ReadonlySet<Outcome>, seen: ReadonlyMap<string, SeenBook>): string[] {
    const book = seen.get(row.id)
    const outcome: Outcome = book?.deleted ? 'missing' : book?.missing?.why === 'withheld' ? 'held' : 'listed'
    row.isMissing = outcome === 'missing'
    row.isHeld = outcome === 'held'
    return outcomes.has(outcome) ? [] : [`the lost book ${row.library}/${row.path} is ${outcome} instead of ${[...outcomes].join(' or ')}`]
  }
}

const newRow = (book: SeenBook, facts: Pick<Row, 'library' | 'content' | 'version' | 'known'>): Row => ({
  ...facts,
  id: book.id,
  path: book.filePath,
  seriesId: book.seriesId,
  isMissing: false,
  isHeld: false,
  isRotten: false,
  replaced: null,
  cut: null,
  progress: null,
  title: null,
})
