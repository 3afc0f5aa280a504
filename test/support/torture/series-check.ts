import type { Row } from '#test/support/torture/row.ts'
import type { SeenBook } from '#test/support/torture/server.ts'
import type { Strategy } from '#test/support/torture/steps.ts'
import { folderOf, type LibraryName } from '#test/support/torture/tree.ts'

/** Names that are no path begin with this. */
const NAME = '#'
const UNSORTED = `${NAME}Unsorted`
const PART = /^(Vol \d|Specials)$/

/** The folder, file or name that is the series of a path; only for names as the walk gives them. */
function placeOf(path: string, strategy: Strategy): string {
  const folder = folderOf(path)
  const [top = '', second] = folder.split('/')
  if (strategy === 'publisher_hierarchy') return second === undefined ? UNSORTED : `${top}/${second}`
  if (strategy === 'custom') return folder === '' ? UNSORTED : `${NAME}${top}`
  // Each file is called as a series of its own.
  if (strategy === 'flat') return NAME + path
  if (folder === '') return path
  if (strategy === 'series_volume') return folder
  if (strategy === 'series_volume_chapter') return folderOf(folder) || folder
  let at = folder
  const nameOf = (one: string) => one.slice(one.lastIndexOf('/') + 1)
  const isPart = (one: string) => PART.test(nameOf(one)) || nameOf(one) === nameOf(folderOf(one))
  while (folderOf(at) !== '' && isPart(at)) at = folderOf(at)
  return at
}

/** Series of one library by their places, as they were at the last look. */
interface Known {
  strategy: Strategy
  idAt: Map<string, string>
}

interface Look {
  library: LibraryName
  strategy: Strategy
  /** Before the series of this look are written to them. */
  rows: readonly Row[]
  seen: ReadonlyMap<string, SeenBook>
  /** Whether the folder or file of a place is still there. */
  isThere(place: string): boolean
}

/**
 * That books are together as their folders say; that a series keeps its row while its place has books, and when its folder is renamed. Also brings
 * `seriesId` of the rows up to date.
 */
export class SeriesCheck {
  readonly #known: Partial<Record<LibraryName, Known>> = {}

  look({ library, strategy, rows, seen, isThere }: Look): string[] {
    const differences: string[] = []
    const before = this.#known[library]
    const mine = rows.filter((row) => row.library === library)
    // A series may have gone elsewhere without the books that are missing, also those that are withheld.
    const present = mine.filter(({ isMissing, isHeld }) => !isMissing && !isHeld)
    const idAt = new Map<string, string>()
    for (const row of present) {
      const [place, id] = [placeOf(row.path, strategy), seen.get(row.id)?.seriesId as string]
      const other = idAt.get(place)
      if (other !== undefined && other !== id) differences.push(`the books of ${library}/${place} are in two series`)
      idAt.set(place, id)
    }
    if (new Set(idAt.values()).size !== idAt.size) differences.push(`two places of ${library} share a series`)
    if (before && before.strategy === strategy) {
      for (const [place, id] of idAt) {
        const old = before.idAt.get(place)
        if (old !== undefined && old !== id) differences.push(`${library}/${place} has another series than before`)
      }
      differences.push(...this.#findRenamed({ library, strategy, rows, seen, isThere }, before.idAt, idAt))
    }
    for (const row of mine) row.seriesId = seen.get(row.id)?.seriesId ?? row.seriesId
    // Places of missing books count too: a series waits for its folder there.
    for (const row of mine.filter((one) => !present.includes(one))) {
      const place = placeOf(row.path, strategy)
      if (!idAt.has(place) && !present.some(({ seriesId }) => seriesId === row.seriesId)) idAt.set(place, row.seriesId)
    }
    this.#known[library] = { strategy, idAt }
    return differences
  }

  /** A new place, all of whose old books are of one series whose place is gone, and of which nobody else has a book, is that series. */
  #findRenamed({ library, rows, strategy, isThere }: Look, before: Map<string, string>, idAt: Map<string, string>): string[] {
    const differences: string[] = []
    const present = rows.filter((row) => row.library === library && !row.isMissing)
    for (const [place, id] of idAt) {
      if (before.has(place)) continue
      const here = present.filter((row) => placeOf(row.path, strategy) === place)
      // A book that was added just now has the series of this look already.
      const from = new Set(here.map(({ seriesId }) => seriesId).filter((one) => one !== id || [...before.values()].includes(one)))
      const [old] = from
      const oldPlace = [...before].find(([, one]) => one === old)?.[0]
      if (from.size !== 1 || old === undefined || oldPlace === undefined || oldPlace.startsWith(NAME) || isThere(oldPlace)) continue
      const isOne = (path: string) => path.endsWith('.cbz')
      if (isOne(oldPlace) !== isOne(place)) continue
      const isShared = present.some((row) => row.seriesId === old && placeOf(row.path, strategy) !== place)
      if (!isShared && id !== old) differences.push(`${oldPlace} was renamed ${place} in ${library}, and lost its series`)
    }
    return differences
  }
}
