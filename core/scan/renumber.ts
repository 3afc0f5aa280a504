import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { getVisible } from '#core/analysis/named-records.ts'
import { findLibraryRow, type LibraryRow } from '#core/catalog/library-store.ts'
import type { Rules } from '#core/conditions/rules.ts'
import { FIRST_ID } from '#core/database/each-by-id.ts'
import { announceBooks } from '#core/events/event-store.ts'
import { changedNames } from '#core/fields/field.ts'
import { firstPosition, type NumberConfig, namedFields } from '#core/fields/number-strategy.ts'
import { fieldsOfPlaced } from '#core/fields/placed-values.ts'
import { applyChange, isSameContent } from '#core/metadata/apply-change.ts'
import { listFileTitles, listKeptEmbedded } from '#core/metadata/embedded-store.ts'
import { loadStates, type StoredState, storeStates } from '#core/metadata/metadata-state-store.ts'
import { withValuesOfFile } from '#core/metadata/reapply-embedded.ts'
import { type BookToName, listBooksToName, type NamedByStrategy, reviewRestarts, storeNamed } from '#core/scan/position-store.ts'
import { strategyTitles } from '#core/scan/strategy-titles.ts'
import { findLastRenaming, listSeriesOfLibrary, listTitledFolders, type Renaming } from '#core/scan/title-store.ts'
import type { TaskAdder, TaskHandler, TaskRun } from '#core/tasks/task.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'

/** Books per transaction: short enough that nobody waits for their rows. */
const STEP = 200
/** The fields that strategies give besides the title. */
const NUMBERS = ['number', 'volume', 'chapter']

interface Dependencies {
  database: Knex
  tasks: TaskAdder
}

/** The result of a task, in books. `skipped`: a lock, a user, a plugin or the file itself says otherwise. */
interface Tally {
  processed: number
  changed: number
  skipped: number
}

/** Queues the renumbering of the books of a series by the strategy of its library. @throws not_found */
export async function renumberSeries(dependencies: Dependencies, caller: Caller, seriesId: string): Promise<{ taskId: string }> {
  const [id = ''] = await getVisible(dependencies.database, caller, { kind: 'series', ids: [seriesId] })
  const [folder] = await listTitledFolders(dependencies.database, [id])
  const { taskId } = await dependencies.tasks.add({
    type: 'renumber_series',
    ...(folder && { libraryId: folder.libraryId }),
    seriesId: id,
    dedupeKey: id,
  })
  return { taskId }
}

/** The same for many series; if one is unknown or hidden, none is queued. @throws not_found */
export async function renumberManySeries(
  dependencies: Dependencies,
  caller: Caller,
  seriesIds: readonly string[],
): Promise<{ taskId: string; message: string }> {
  const ids = await getVisible(dependencies.database, caller, { kind: 'series', ids: seriesIds })
  const dedupeKey = createHash('sha256').update(ids.join()).digest('hex')
  const { taskId } = await dependencies.tasks.add({ type: 'renumber_series_batch', dedupeKey, params: { seriesIds: ids } })
  return { taskId, message: `Renumbering of the books of ${ids.length} series is queued.` }
}

/** The same for a library whose strategies have changed, with titles. */
export async function renameLibrary({ tasks }: { tasks: TaskAdder }, libraryId: string): Promise<{ taskId: string }> {
  return await tasks.add({ type: 'renumber_library', libraryId, dedupeKey: libraryId })
}

const isStopped = (last: Renaming | undefined) => last?.status === 'cancelled' || last?.status === 'failed'

/** The same for a library whose strategies were sent again, unchanged, if its last renaming was canceled or failed. */
export async function renameStopped({ database, tasks }: Dependencies, libraryId: string): Promise<void> {
  if (isStopped(await findLastRenaming(database, libraryId))) await renameLibrary({ tasks }, libraryId)
}

/**
 * The same after any scan of a library that was edited meanwhile, because the scan gave new books the names of the strategies at its start, or whose last
 * renaming was canceled, failed, or was lost with a killed server.
 * @param library as it was when the scan began
 */
export async function renameEdited(
  { database, tasks }: Dependencies,
  { library, startedAt }: { library: LibraryRow; startedAt: Date },
): Promise<void> {
  const now = await findLibraryRow(database, library.id)
  if (!now) return
  const last = await findLastRenaming(database, library.id)
  // Finished tasks are deleted after a while; one that waits will see all.
  const renamedAt = last ? last.startedAt : (library.last_scanned_at ?? startedAt)
  const isLost = renamedAt !== null && now.updated_at > renamedAt
  if (isLost || isStopped(last) || now.updated_at > startedAt) await renameLibrary({ tasks }, library.id)
}

/** Registers the handlers with the queue; call before its start(). */
export function handleRenumbering({ database, tasks, rules }: Dependencies & { tasks: TaskQueue; rules: Rules }): void {
  const renumber = (members: readonly string[], idsOf: (run: TaskRun) => Promise<string[]>): TaskHandler => {
    return async (run) => {
      const tally: Tally = { processed: 0, changed: 0, skipped: 0 }
      const ids = await idsOf(run)
      for (const [index, id] of ids.entries()) {
        await renumberOne({ database, rules, members }, id, { run, tally })
        run.progress(index + 1, ids.length)
      }
      return tally
    }
  }
  tasks.handle(
    'renumber_series',
    { concurrency: 1 },
    renumber(NUMBERS, async (run) => [run.seriesId as string]),
  )
  tasks.handle(
    'renumber_series_batch',
    { concurrency: 1 },
    renumber(NUMBERS, async (run) => run.params.seriesIds as string[]),
  )
  tasks.handle(
    'renumber_library',
    { concurrency: 1 },
    renumber(['title', ...NUMBERS], (run) => listSeriesOfLibrary(database, run.libraryId as string)),
  )
}

interface Renumbering {
  database: Knex
  rules: Rules
  members: readonly string[]
}

async function renumberOne({ database, rules, members }: Renumbering, seriesId: string, { run, tally }: { run: TaskRun; tally: Tally }) {
  const [folder] = await listTitledFolders(database, [seriesId])
  for (let after = FIRST_ID; ; ) {
    run.signal.throwIfAborted()
    // Again for each step: a person may have changed the strategies, and the last task wins.
    const library = folder && (await findLibraryRow(database, folder.libraryId))
    if (!library) return
    const start = firstPosition(library.number_strategy, library.number_config as NumberConfig | null)
    if (after === FIRST_ID) await reviewRestarts(database, seriesId, start !== null)
    const books = await listBooksToName(database, seriesId, { after, limit: STEP })
    const fields = books.map((book) => fieldsOfPlaced(book.fileName, withoutTitle(book)))
    const titles = await strategyTitles(
      rules,
      library,
      books.map(({ fileName, seriesTitle }, index) => ({ fileName, seriesTitle, fields: fields[index] as (typeof fields)[number] })),
    )
    const { changed, skipped } = await database.transaction((trx) => nameBooks(trx, { library, books, titles, members }))
    // Counted after writing: what a transaction rolls back must not count.
    tally.processed += books.length
    tally.changed += changed
    tally.skipped += skipped
    if (books.length < STEP) return
    after = books.at(-1)?.id as string
  }
}

const withoutTitle = ({ layoutValues, isSide }: BookToName) => {
  const { strategyTitle: _, restarts: __, ...values } = layoutValues ?? {}
  return { layoutValues: values, isSide }
}

interface ToName {
  library: LibraryRow
  books: readonly BookToName[]
  titles: readonly (string | null)[]
  members: readonly string[]
}

async function nameBooks(
  trx: Knex.Transaction,
  { library, books, titles, members }: ToName,
): Promise<{ changed: number; skipped: number }> {
  const ids = books.map(({ id }) => id)
  const states = await loadStates(trx, 'book', ids, [])
  const entries = books.map(({ id }, index) => ({ id, title: titles[index] ?? null, position: null }))
  // First, because the strategy for the title of a book depends on it.
  if (members.includes('title')) await storeNamed(trx, entries, { titles: true })
  const [kept, files] = [await listKeptEmbedded(trx, ids), await listFileTitles(trx, ids)]
  const start = firstPosition(library.number_strategy, library.number_config as NumberConfig | null)
  const changed: { before: StoredState; next: StoredState }[] = []
  const named: NamedByStrategy[] = []
  let skipped = 0
  for (const [index, book] of books.entries()) {
    const before = states.get(book.id)
    if (!before) continue
    const file = { kept: kept.get(book.id) ?? null, file: files.get(book.id) }
    const position = start === null || book.position === null ? null : book.position + start
    const { next, isByPosition, isSkipped } = nameBook(before, { file, book, position, library, members })
    named.push({ id: book.id, title: titles[index] ?? null, position: isByPosition ? position : null })
    if (!isSameContent('book', before, next)) changed.push({ before, next })
    else if (isSkipped) skipped++
  }
  await storeNamed(trx, named, { titles: false })
  await storeStates(trx, 'book', changed)
  await announceBooks(
    trx,
    changed.map(({ next }) => next.id),
    new Map(changed.map(({ before, next }) => [next.id, changedNames(before, next)])),
  )
  return { changed: changed.length, skipped }
}

interface BookNames {
  file: Parameters<typeof withValuesOfFile>[1]
  book: BookToName
  position: number | null
  library: LibraryRow
  members: readonly string[]
}

/** One book with the title and numbers by the strategies; the position numbers it when nothing else does. */
function nameBook(before: StoredState, { file, book, position, library, members }: BookNames) {
  const read = withValuesOfFile(before, file, members)
  const isOpen = !('number' in namedFields(library.number_strategy, fieldsOfPlaced(book.fileName, book)))
  const placed = isOpen ? applyChange('book', read.next, { values: { number: position } }, 'file_name') : read
  const isByPosition =
    isOpen &&
    position !== null &&
    placed.next.sources.number === 'file_name' &&
    (placed.next.values as { number?: number }).number === position
  const isSkipped = placed.outcomes.some(({ field, result }) => field === 'number' && (result === 'locked' || result === 'outranked'))
  return { next: placed.next, isByPosition, isSkipped }
}
