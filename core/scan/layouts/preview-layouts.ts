import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SeriesStrategy } from '#core/catalog/library.ts'
import { fieldsOfPlaced } from '#core/fields/placed-values.ts'
import { hashText } from '#core/scan/hash-text.ts'
import { decisionFor, type FolderDecision, type Owner, ownerOf, SeriesNames } from '#core/scan/layouts/decide-folder.ts'
import { seriesKey } from '#core/scan/layouts/folder-name.ts'
import { type BookPlace, type PatternGroups, placeBook, placedBook, placeKey, type Rule } from '#core/scan/layouts/place-book.ts'
import type { SeriesLayout } from '#core/scan/layouts/series-config.ts'

/** Enough to see whether the folder has the expected layout. */
const SERIES_MAX = 1_000
const SAMPLES_MAX = 5
/** Two of the names in a series of unrelated titles; more would be counted in a larger table for nothing. */
const NAMES_MIN = 2

/** A book as the names of its file and folders call it. */
interface FoundBook {
  fileName: string
  title: string
  volume: number | null
  chapter: number | null
  number: number | null
  /** From 0, in the order of the walk; null for a book that has none. */
  position: number | null
}

export interface FoundSeries {
  name: string
  /** Below the folder. */
  path: string
  rule: Rule
  why: string
  bookCount: number
  /** The first ones. */
  books: FoundBook[]
}

/** What another strategy would make of the same files. */
interface Alternative {
  strategy: SeriesStrategy
  series: number
  /** Series of one book. */
  single: number
  /** Series whose files have the names of several series. */
  mixed: number
}

const WHY: Record<Rule, string> = {
  calibre: 'It is a book of a Calibre library.',
  oneshots: 'Its folder holds one-shots: each file is a series of one.',
  part: 'Its folders are parts (volumes, chapters, years) of the folder above.',
  side: 'A folder of specials belongs to the series of the folder above.',
  bundle: 'Its folder holds files of several series, which are told apart by the names of the files.',
  folder: 'Its folder is the series.',
  author: 'Its folder holds the books of a person.',
  root: 'The file lies directly in the library: it is a series of one.',
  metadata: 'The metadata of the files names the series.',
  file_name: 'The names of the files name the series.',
  pattern: 'The pattern of the library names the series.',
  levels: 'It is the folder below the skipped levels.',
  unsorted: 'The strategy finds no series for these files.',
}

/** Numbers in each piece of a list. */
const PIECE = 4_096

/** Numbers of 64 bits, in pieces: an array of objects for a hundred thousand files and seven strategies would take a hundred megabytes, and one that grows is copied. */
class NumberList {
  readonly #pieces: Float64Array[] = []
  length = 0

  push(value: number): void {
    const at = this.length++ % PIECE
    if (at === 0) this.#pieces.push(new Float64Array(PIECE))
    ;(this.#pieces.at(-1) as Float64Array)[at] = value
  }

  at(index: number): number {
    return (this.#pieces[Math.floor(index / PIECE)] as Float64Array)[index % PIECE] as number
  }
}

interface Tried {
  layout: SeriesLayout
  /** The series of each file. */
  series: NumberList
}

/** Files of one folder, or some of them. */
interface PreviewPart {
  folder: string
  names: readonly string[]
  decision: FolderDecision | null
  /** Of the root: keys of the series names that several of its files have. */
  shared: readonly string[] | null
  /** Of the patterns of the chosen layout, in the order of the names; null for a layout without patterns. */
  groups: readonly PatternGroups[] | null
}

/** The layouts that are compared. */
interface ComparedLayouts {
  layouts: readonly SeriesLayout[]
  /** The index of the one that is shown. */
  chosen: number
}

/** What the strategies make of the files. */
export interface ComparedSeries {
  /** Sorted by path and name. */
  series: FoundSeries[]
  alternatives: Alternative[]
  suggested: SeriesStrategy
  isTruncated: boolean
}

/** Strategies that give all files of a folder one series. */
const BY_FOLDER = new Set<SeriesStrategy>(['series_volume', 'series_volume_chapter', 'publisher_hierarchy'])

/** Collects what the strategies make of files that a walk finds, before any of them is analyzed. */
export class LayoutPreview {
  readonly #chosen: SeriesLayout
  readonly #tried: readonly Tried[]
  readonly #found = new Map<string, FoundSeries>()
  /** Those that make a difference. */
  readonly #decisions = new Map<string, FolderDecision>()
  /** Owners of which a folder of years or editions, so far, is a bundle. */
  readonly #holders = new Set<string>()
  /** The series name of each file; 0 for none. */
  readonly #names = new NumberList()
  #isTruncated = false

  constructor({ layouts, chosen }: ComparedLayouts) {
    this.#chosen = layouts[chosen] as SeriesLayout
    this.#tried = layouts.map((layout) => ({ layout, series: new NumberList() }))
  }

  add({ folder, names, decision, shared, groups: found }: PreviewPart): void {
    if (decision && !isPlain(decision)) this.#decisions.set(folder, decision)
    const inRoot = new Set(shared)
    const owners = new Map([...new Set(this.#tried.map(({ layout }) => layout.words))].map((words) => [words, ownerOf(folder, words)]))
    const contexts = this.#tried.map(({ layout }) => {
      const owner = owners.get(layout.words) as Owner
      if (owner.mayHoldSeries && decision?.kind === 'bundle') this.#holders.add(owner.folder)
      return { owner, decision: decisionFor(owner, this.#decisions.get(owner.folder), this.#holders.has(owner.folder)), shared: inRoot }
    })
    const reader = new SeriesNames()
    for (const [index, name] of names.entries()) {
      const path = folder === '' ? name : `${folder}/${name}`
      const inName = reader.read(name)
      this.#names.push(inName === null ? 0 : hashText(seriesKey(inName)))
      for (const [at, { layout, series }] of this.#tried.entries()) {
        const groups = layout === this.#chosen && found ? { groups: found[index] ?? null } : {}
        if (index > 0 && folder !== '' && layout !== this.#chosen && BY_FOLDER.has(layout.strategy)) {
          series.push(series.at(series.length - 1))
          continue
        }
        const place = placeBook(layout, { path, inName, ...groups }, contexts[at] as (typeof contexts)[number])
        series.push(hashText(placeKey(place.series)))
        if (layout === this.#chosen) this.#show(name, place)
      }
    }
  }

  #show(fileName: string, place: BookPlace): void {
    const { series, rule } = place
    const key = placeKey(series)
    let shown = this.#found.get(key)
    if (!shown) {
      if (this.#found.size >= SERIES_MAX) {
        this.#isTruncated = true
        return
      }
      shown = { name: series.title, path: series.path, rule, why: WHY[rule], bookCount: 0, books: [] }
      this.#found.set(key, shown)
    }
    shown.bookCount++
    // The special rule says more than that the folder is the series.
    if (shown.rule === 'folder' && rule !== 'folder') Object.assign(shown, { rule, why: WHY[rule] })
    if (shown.books.length >= SAMPLES_MAX) return
    const placed = placedBook(fileName, place)
    const { title, volume, chapter, number } = fieldsOfPlaced(fileName, placed)
    const before = shown.books.filter(({ position }) => position !== null).length
    shown.books.push({ fileName, title, volume, chapter, number, position: placed.isSide || series.oneshot ? null : before })
  }

  /** Suggests the first strategy of those that leave the fewest series mixed. Other work has a turn between two steps of 30 ms. */
  async compare(): Promise<ComparedSeries> {
    const { length } = this.#names
    // One for all strategies: the memory of arrays that are dropped is free only much later.
    const room = new Float64Array(length)
    const names = new Uint32Array(length)
    const ranks = new Uint32Array(length)
    writeRanks(this.#names, { ranks: names, room })
    const alternatives: Alternative[] = []
    for (const { layout, series } of this.#tried) {
      await nextTurn()
      writeRanks(series, { ranks, room })
      await nextTurn()
      alternatives.push({ strategy: layout.strategy, ...countSeries(ranks, { names, room }) })
    }
    const [best] = alternatives.toSorted((a, b) => a.mixed - b.mixed)
    return {
      series: [...this.#found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, series]) => series),
      alternatives,
      suggested: best?.strategy ?? this.#chosen.strategy,
      isTruncated: this.#isTruncated,
    }
  }
}

/** Whether the folder is treated like one without a decision. */
const isPlain = ({ kind, isPublished }: FolderDecision): boolean => !isPublished && (kind === 'series' || kind === 'persons')

/** Small numbers in place of hashes, equal for equal ones; 0 stays 0. Sorted, because a Map of them would take ten times the memory. */
function writeRanks(hashes: NumberList, { ranks, room }: { ranks: Uint32Array; room: Float64Array }): void {
  for (let index = 0; index < hashes.length; index++) room[index] = hashes.at(index)
  room.sort()
  for (let index = 0; index < hashes.length; index++) {
    const hash = hashes.at(index)
    ranks[index] = hash === 0 ? 0 : 1 + lowestIndex(room, hash)
  }
}

/** Of the first item that is not less. */
function lowestIndex(sorted: Float64Array, item: number): number {
  let [from, to] = [0, sorted.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if ((sorted[middle] as number) < item) from = middle + 1
    else to = middle
  }
  return from
}

/** @param of.names of the files; 0 for none @param of.room is overwritten */
function countSeries(
  series: Uint32Array,
  { names, room: pairs }: { names: Uint32Array; room: Float64Array },
): Omit<Alternative, 'strategy'> {
  // Numbers in place of pairs: sorting a hundred thousand of them takes a tenth of the time.
  const span = names.length + 2
  for (let index = 0; index < pairs.length; index++) pairs[index] = (series[index] as number) * span + (names[index] as number)
  pairs.sort()
  const seriesAt = (index: number) => Math.floor((pairs[index] as number) / span)
  const counts = { series: 0, single: 0, mixed: 0 }
  for (let from = 0; from < pairs.length; ) {
    const mine = seriesAt(from)
    let to = from
    let named = 0
    for (let same = 0; to < pairs.length && seriesAt(to) === mine; to++) {
      const hasName = (pairs[to] as number) % span !== 0
      same = to > from && hasName && pairs[to] === pairs[to - 1] ? same + 1 : 1
      // The second file of a name: one file with another name may be a special.
      if (hasName && same === 2) named++
    }
    counts.series++
    if (to - from === 1) counts.single++
    if (named >= NAMES_MIN) counts.mixed++
    from = to
  }
  return counts
}
