import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Knex } from 'knex'
import { findLibraryRow, type LibraryRow } from '#core/catalog/library-store.ts'
import type { Rules } from '#core/conditions/rules.ts'
import { FIRST_ID } from '#core/database/each-by-id.ts'
import { isUniqueViolation } from '#core/database/unique-violation.ts'
import type { PlacedBook } from '#core/fields/placed-values.ts'
import { FOLDER_FILES } from '#core/fields/sidecar.ts'
import { askDisk } from '#core/foundation/disk-calls.ts'
import { isSilence } from '#core/foundation/mounts.ts'
import { aggregateDue } from '#core/metadata/aggregate-series.ts'
import {
  type ArrangedBook,
  endArranging,
  hasPendingBooks,
  hasWaitingFolders,
  keepGroupedNames,
  listArrangedBooks,
  listPlacedSeries,
  moveGroup,
} from '#core/scan/layouts/arrange-store.ts'
import type { FolderDecision } from '#core/scan/layouts/decide-folder.ts'
import { listDecisions, settleDecisions } from '#core/scan/layouts/folder-layout-store.ts'
import { hasCalibreId, nameOfFolder, parentOf } from '#core/scan/layouts/folder-name.ts'
import { matchPatterns } from '#core/scan/layouts/match-patterns.ts'
import { type PatternGroups, placedBook, placeKey, type Rule, type SeriesPlace } from '#core/scan/layouts/place-book.ts'
import { CALIBRE_DATABASE, TreePlaces } from '#core/scan/layouts/place-tree.ts'
import { planMoves, type SeriesGroup } from '#core/scan/layouts/plan-moves.ts'
import { layoutOf, type SeriesLayout, waitsForMetadata } from '#core/scan/layouts/series-config.ts'
import { renameLibrary } from '#core/scan/renumber.ts'
import type { TaskAdder, TaskHandler, TaskRun } from '#core/tasks/task.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'

/** Books that are read, or placed, before other work has a turn. */
const STEP = 500
/** A library whose books wait for their analysis is looked at again after one second, two, four and so on, up to this many, and for a day. */
const AGAIN_SECONDS_MAX = 60
const LOOKS_MAX = (24 * 3600) / AGAIN_SECONDS_MAX
/** Other changes of the same series are rare; a task that runs again does the rest. */
const PASSES_MAX = 5
/** Rules of `auto` that ask no metadata. */
const NAMELESS: ReadonlySet<Rule> = new Set(['folder', 'oneshots'])
/** Series that a preview names. */
const EXAMPLES_MAX = 50

/** First the book of the file, then those that are missing since it has their path: they stay with it. */
type BooksByPath = Map<string, [ArrangedBook, ...ArrangedBook[]]>

/** What a layout makes of the books that a library has. */
interface Arrangement {
  groups: SeriesGroup[]
  /** By the keys of their series. */
  places: ReadonlyMap<string, SeriesPlace & { rule: Rule }>
  placed: ReadonlyMap<string, { fileName: string } & PlacedBook>
  series: ReadonlyMap<string, { title: string; path: string }>
  decisions: ReadonlyMap<string, FolderDecision>
  /** The names in the metadata by which books are grouped from now on; '' for none. */
  names: ReadonlyMap<string, string>
}

/** What a change of the layout moves. */
export interface LayoutChange {
  booksMoved: number
  /** Series that keep their row, with metadata, locks, ratings, covers and places in collections. */
  seriesKept: number
  seriesNew: number
  seriesRemoved: number
  /** The first of the series afterwards. */
  examples: { title: string; path: string; rule: Rule; bookCount: number; from: string[] }[]
}

/** Queues the task that moves the books of a library to their series. */
export async function queueArranging(tasks: TaskAdder, libraryId: string, options: { afterAnalysis?: boolean } = {}): Promise<string> {
  const { taskId } = await tasks.add({
    type: 'arrange_library',
    libraryId,
    dedupeKey: libraryId,
    params: options.afterAnalysis ? { afterAnalysis: true } : {},
  })
  return taskId
}

/** After a scan: whether its new books, by their metadata or their names, may change series, or an earlier change of the layout is not done. */
export async function needsArranging(database: Knex, library: LibraryRow, analysesQueued: number): Promise<boolean> {
  const layout = layoutOf(library.series_strategy, library.series_config)
  if (library.arrange_due) return true
  if (analysesQueued === 0 || !waitsForMetadata(layout)) return false
  return layout.strategy !== 'auto' || (await hasWaitingFolders(database, library.id))
}

/** Registers the handler with the queue; call before its start(). */
export function handleArranging({ database, tasks, rules }: { database: Knex; tasks: TaskQueue; rules: Rules }): void {
  tasks.handle('arrange_library', { concurrency: 1 }, arrangeLibrary({ database, tasks, rules }))
}

const arrangeLibrary =
  ({ database, tasks, rules }: { database: Knex; tasks: TaskAdder; rules: Rules }): TaskHandler =>
  async (run) => {
    const library = await findLibraryRow(database, run.libraryId as string)
    if (!library) return { skipped: true }
    const layout = layoutOf(library.series_strategy, library.series_config)
    const look = Number(run.params.look ?? 0)
    const isPending = waitsForMetadata(layout) && (await hasPendingBooks(database, library.id))
    const again = async () => {
      if (look >= LOOKS_MAX) return
      const params = { afterAnalysis: true, look: look + 1 }
      const scheduledFor = new Date(Date.now() + Math.min(2 ** look, AGAIN_SECONDS_MAX) * 1_000)
      await tasks.add({ type: 'arrange_library', libraryId: library.id, dedupeKey: library.id, params, scheduledFor })
    }
    if (isPending && run.params.afterAnalysis === true && !library.arrange_due) {
      await again()
      return { waits: true }
    }
    const { moved, isDone } = await arrangeNow({ database, tasks, rules }, library, run)
    if (isPending || !isDone) await again()
    return { moved }
  }

/** Moves the books of a library to the series that its layout gives them. All or none of a group of series that exchange books. */
export async function arrangeNow(
  { database, tasks, rules }: { database: Knex; tasks: TaskAdder; rules: Rules },
  library: LibraryRow,
  run: Pick<TaskRun, 'signal' | 'progress'>,
): Promise<{ moved: number; isDone: boolean }> {
  const layout = layoutOf(library.series_strategy, library.series_config)
  let moved = 0
  let isDone = false
  for (let pass = 1; pass <= PASSES_MAX && !isDone; pass++) {
    const arrangement = await planLibrary(database, rules, { library, layout, signal: run.signal, isNew: library.arrange_due })
    await database.transaction((trx) => settleDecisions(trx, library.id, arrangement.decisions))
    await keepGroupedNames(database, arrangement.names)
    isDone = true
    for (const [index, group] of arrangement.groups.entries()) {
      run.signal.throwIfAborted()
      const isMoved = await database
        .transaction((trx) => moveGroup(trx, { library, rules, group, ...arrangement }))
        .catch((error: unknown) => {
          // A scan has made a series at the same place meanwhile.
          if (isUniqueViolation(error)) return false
          throw error
        })
      isDone &&= isMoved
      if (isMoved) moved += countMoved(group)
      run.progress(index + 1, arrangement.groups.length)
    }
  }
  await aggregateDue(database, library.id, run.signal)
  // Titles and positions of books follow from their series. Before the end, because a server that was killed in between arranges again, and moves nothing.
  if (moved > 0 || library.arrange_due) await renameLibrary({ tasks }, library.id)
  if (isDone) await endArranging(database, library)
  return { moved, isDone }
}

/** Which books another layout would move. @param library with its new strategy and settings */
export async function previewArranging(
  database: Knex,
  rules: Rules,
  of: { library: LibraryRow; signal: AbortSignal },
): Promise<LayoutChange> {
  const layout = layoutOf(of.library.series_strategy, of.library.series_config)
  return describeArrangement(await planLibrary(database, rules, { ...of, layout, isNew: true, isPreview: true }))
}

const countMoved = (group: SeriesGroup): number =>
  [...group.targets.values()].reduce((sum, { keeps, books }) => sum + books.filter(({ seriesId }) => seriesId !== keeps).length, 0)

function describeArrangement({ groups, places, series }: Arrangement): LayoutChange {
  const targets = groups.flatMap((group) => [...group.targets])
  const examples = targets.slice(0, EXAMPLES_MAX).map(([key, { books }]) => {
    const { title, path, rule } = places.get(key) as SeriesPlace & { rule: Rule }
    const from = [...new Set(books.map(({ seriesId }) => series.get(seriesId)?.path ?? ''))].slice(0, 5)
    return { title, path, rule, bookCount: books.length, from }
  })
  return {
    booksMoved: groups.reduce((sum, group) => sum + countMoved(group), 0),
    seriesKept: targets.filter(([, { keeps }]) => keeps !== null).length,
    seriesNew: targets.filter(([, { keeps }]) => keeps === null).length,
    seriesRemoved: groups.reduce((sum, { emptied }) => sum + emptied.length, 0),
    examples,
  }
}

interface Plan {
  library: LibraryRow
  layout: SeriesLayout
  signal: AbortSignal
  /** The layout has changed: books are grouped by the metadata that they have now. */
  isNew: boolean
  /** Ignores what was decided for folders. */
  isPreview?: boolean
}

async function planLibrary(
  database: Knex,
  rules: Rules,
  { library, layout, signal, isNew, isPreview = false }: Plan,
): Promise<Arrangement> {
  const books = await listBooksByPath(database, library, signal)
  const paths = [...books.keys()]
  const found = await matchPatterns(rules, layout, paths)
  const groups = found && new Map(paths.map((path, index) => [path, found[index] as PatternGroups]))
  const decided = isPreview ? new Map<string, FolderDecision>() : await listDecisions(database, library.id)
  const isOpen = (folder: string) => (decided.get(folder)?.kind ?? 'persons') === 'persons'
  const described = layout.strategy === 'auto' ? await calibreFiles(library.path, books, isOpen) : []
  const tree = new TreePlaces(layout, [...paths, ...described], {
    known: (path) => {
      const [{ isPending, named, groupedBy, writers }] = books.get(path) as [ArrangedBook]
      // What a file says later moves no book.
      if (groupedBy !== null && !isNew) return { named: groupedBy || null, writers: writers ?? [] }
      return isPending ? null : { named, writers: writers ?? [] }
    },
    ...(groups && { groupsOf: (path) => groups.get(path) ?? null }),
    decided,
  })
  const series = await listPlacedSeries(database, library.id)
  const places = new Map<string, SeriesPlace & { rule: Rule }>()
  const placed = new Map<string, { fileName: string } & PlacedBook>()
  const targets: { id: string; seriesId: string; target: string }[] = []
  const names = new Map<string, string>()
  for (const [index, path] of tree.books.entries()) {
    if (index % STEP === 0) await nextTurn(undefined, { signal })
    const place = tree.place(path)
    const isByNames = waitsForMetadata(layout) && (layout.strategy !== 'auto' || !NAMELESS.has(place.rule))
    const target = placeKey(place.series)
    const rule = places.get(target)?.rule
    // The special rule says more than that the folder is the series.
    if (rule === undefined || rule === 'folder') places.set(target, { ...(places.get(target) ?? place.series), rule: place.rule })
    for (const { id, seriesId, fileName, isAnalyzed, named, groupedBy } of books.get(path) ?? []) {
      if (isByNames && isAnalyzed && (isNew ? groupedBy !== (named ?? '') : groupedBy === null)) names.set(id, named ?? '')
      placed.set(id, { fileName, ...placedBook(fileName, place) })
      targets.push({ id, seriesId, target })
    }
  }
  const known = new Map([...series].map(([id, { key }]) => [id, key]))
  // A book of a series that was made meanwhile is settled, or the next run finds it.
  const planned = planMoves(
    targets.filter(({ seriesId }) => known.has(seriesId)),
    known,
  )
  return { groups: planned, places, placed, series, names, decisions: layout.strategy === 'auto' ? tree.decisions : new Map() }
}

async function listBooksByPath(database: Knex, library: LibraryRow, signal: AbortSignal): Promise<BooksByPath> {
  const books: BooksByPath = new Map()
  for (let after = FIRST_ID; ; ) {
    signal.throwIfAborted()
    const rows = await listArrangedBooks(database, library, { after, limit: STEP })
    for (const row of rows) {
      const others = books.get(row.path)
      books.set(row.path, !others ? [row] : row.isDisplaced ? [...others, row] : [row, ...others])
    }
    if (rows.length < STEP) return books
    after = rows.at(-1)?.id as string
  }
}

/** The files that tell a folder of Calibre, where books may lie in one. @param isOpen whether it is still to be decided what a folder is */
async function calibreFiles(root: string, books: BooksByPath, isOpen: (folder: string) => boolean): Promise<string[]> {
  const described = new Set<string>()
  const above = new Set<string>()
  for (const [path, [{ hasSidecar }]] of books) {
    const folder = parentOf(path)
    if (folder === '' || !hasCalibreId(nameOfFolder(folder)) || !isOpen(folder)) continue
    if (hasSidecar) described.add(folder)
    for (let at = folder; at !== ''; at = parentOf(at)) above.add(parentOf(at))
  }
  const databases = await listFolders(root, above, CALIBRE_DATABASE)
  const isBelow = (folder: string): boolean => folder !== '' && (databases.has(parentOf(folder)) || isBelow(parentOf(folder)))
  // A large library of Calibre has ten thousand such folders, and one database.
  const others = [...described].filter((folder) => !isBelow(folder))
  const withOpf = await listFolders(root, others, FOLDER_FILES.opf)
  const inFolder = (name: string) => (folder: string) => (folder === '' ? name : `${folder}/${name}`)
  return [...[...databases].map(inFolder(CALIBRE_DATABASE)), ...[...withOpf].map(inFolder(FOLDER_FILES.opf))]
}

/** Those of the folders that hold a file with this name. */
async function listFolders(root: string, folders: Iterable<string>, name: string): Promise<Set<string>> {
  const found = new Set<string>()
  for (const folder of folders) {
    const facts = await askDisk(root, () => stat(join(root, folder, name))).catch((error: unknown) => {
      // Without the answer, books would move to other series.
      if (isSilence(error)) throw error
      return null
    })
    if (facts?.isFile()) found.add(folder)
  }
  return found
}
