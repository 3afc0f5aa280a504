import type { Certainty, ModelScan, Row } from '#test/support/torture/row.ts'
import { folderOf } from '#test/support/torture/tree.ts'

/** What may become of a book that a scan does not find. `listed`: as if it were there, until the next scan. */
export type Outcome = 'missing' | 'held' | 'listed'

interface LossFacts {
  /** Present books of the library before the scan that an earlier scan has accepted, or perhaps. */
  known: readonly Row[]
  /** Present books that the scan did not find, with those that it found elsewhere. */
  gone: readonly Row[]
  /** Those that it found elsewhere. */
  moved: ReadonlySet<Row>
  /** Those of them, and others, that may count as lost until all files are analyzed: their bytes have changed, or their library. */
  likely: ReadonlySet<Row>
  /** At most so many folders are recorded. */
  recorded: number
  scan: ModelScan
}

const certainty = (atLeast: boolean, atMost: boolean): Certainty => (atLeast ? 'yes' : atMost ? 'perhaps' : 'no')

const HELD_MIN = 5
const VANISHED_MIN = 3

/** All, or more than half of at least five. */
const isMass = (known: number, missing: number): boolean => missing > 0 && (missing >= known || (missing * 2 > known && known >= 5))

/**
 * Which losses are withheld, by docs/scans.md. What depends on the order in which a scan and the analyses of its files end is `perhaps`: whether a new book is
 * accepted already, and whether a moved one has left its folder before the folder is judged.
 */
export function outcomesOf({ known, gone, moved, likely, recorded, scan }: LossFacts) {
  const lost = gone.filter((row) => !moved.has(row) && !likely.has(row))
  const perhaps = gone.filter((row) => likely.has(row))
  const sure = (rows: readonly Row[]) => rows.filter((row) => row.known === 'yes' && !likely.has(row))
  const counted = (rows: readonly Row[]) => rows.filter((row) => row.known !== 'no')
  const [least, most] = [sure(lost).length, counted([...lost, ...perhaps]).length]
  const totals = [sure(known).length, known.length, sure(known).length + most - least]
  const mass = totals.flatMap((total) => [isMass(total, least), isMass(total, most)])
  const isConfirmed = (folder: string) => scan.confirmed === 'all' || scan.confirmed.has(folder)
  const doubted = (rows: readonly Row[]) => rows.some((row) => !isConfirmed(folderOf(row.path)))
  const isMassive = certainty(mass.every(Boolean) && doubted(lost), mass.some(Boolean) && doubted(gone))
  const folders = new Map<string, { known: Row[]; lost: Row[]; left: number }>()
  for (const row of known) {
    const folder = folders.get(folderOf(row.path)) ?? { known: [], lost: [], left: 0 }
    folder.known.push(row)
    if (lost.includes(row) || perhaps.includes(row)) folder.lost.push(row)
    else if (!gone.includes(row)) folder.left += 1
    folders.set(folderOf(row.path), folder)
  }
  const vanished = [...folders].filter(([folder, one]) => one.lost.length > 0 && one.left === 0 && scan.look(folder) === 'gone')
  const surely = vanished.filter(([, one]) => sure(one.lost).length > 0).length
  // Folders of new and of moved books may count.
  const few = new Set(sure(known).map(({ path }) => folderOf(path))).size
  const vanish = certainty(surely >= VANISHED_MIN && surely * 4 > recorded, vanished.length >= VANISHED_MIN && vanished.length * 4 > few)
  const isHeld = (folder: string): Certainty => {
    const one = folders.get(folder)
    if (isConfirmed(folder) || !one) return 'no'
    if (one.lost.some((row) => row.isHeld && !likely.has(row)) || isMassive === 'yes') return 'yes'
    const was = certainty(
      false,
      one.lost.some((row) => row.isHeld),
    )
    const isEmpty = one.left === 0 && scan.look(folder) === 'empty'
    const empty = certainty(isEmpty && sure(one.lost).length >= HELD_MIN, isEmpty && one.known.length >= HELD_MIN)
    const gone = vanished.some(([path]) => path === folder) ? vanish : 'no'
    if (empty === 'yes' || gone === 'yes') return 'yes'
    return was === 'perhaps' || empty === 'perhaps' || gone === 'perhaps' || isMassive === 'perhaps' ? 'perhaps' : 'no'
  }
  const isElsewhere = (row: Row) => [...(scan.files ?? [])].some(([, content]) => content.serial === row.content.serial)
  return {
    isMass: isMassive,
    of(row: Row): ReadonlySet<Outcome> {
      const outcomes = new Set<Outcome>()
      const held = isHeld(folderOf(row.path))
      if (held !== 'no' && row.known !== 'no') outcomes.add('held')
      if (held !== 'yes' || row.known !== 'yes') outcomes.add('missing')
      // One of several files of its size may have been it.
      if (isElsewhere(row) && isMassive !== 'yes') outcomes.add('missing')
      if (scan.isAfterStop) outcomes.add('listed')
      // Of most of a library nothing is marked, and only known books that were not moved are told as withheld.
      if ((row.known !== 'yes' || isElsewhere(row)) && isMassive !== 'no') outcomes.add('listed')
      return outcomes
    },
  }
}
