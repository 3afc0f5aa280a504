import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import type { Viewer } from '#core/account/visibility.ts'
import { getLibraryRow, getVisible } from '#core/analysis/named-records.ts'
import type { Rules } from '#core/conditions/rules.ts'
import { announceSeries } from '#core/events/event-store.ts'
import { titleOfFileName } from '#core/fields/file-name.ts'
import { withSortTitle } from '#core/fields/sort-title.ts'
import { refuse } from '#core/foundation/errors.ts'
import { toNameText } from '#core/foundation/name-text.ts'
import { applyChange, isSameContent, type MetadataState } from '#core/metadata/apply-change.ts'
import { lockRecords } from '#core/metadata/metadata-record-store.ts'
import { loadStates, readStates, storeStates } from '#core/metadata/metadata-state-store.ts'
import { storeFolderTitles } from '#core/metadata/series-aggregate-store.ts'
import { listVisibleIds } from '#core/metadata/visible-records-query.ts'
import { nameOfFolder } from '#core/scan/layouts/folder-name.ts'
import { listSeriesOfLibrary, listTitledFolders, listVisibleSeriesOfLibrary, type TitledFolder } from '#core/scan/title-store.ts'
import type { TaskAdder, TaskHandler } from '#core/tasks/task.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'

/** Series per transaction: nobody waits for their rows, and comparing as many of the largest records takes 50 ms of the main thread. */
const STEP = 50
/** Series per task: their ids are stored in its row. */
const TASK_SERIES_MAX = 500
/** Changes that a task lists; users look at some of them, and correct their rules. */
const RESULTS_MAX = 100

interface Dependencies {
  database: Knex
  tasks: TaskAdder
}

/** `dryRun`: the task reports what it would change, and changes nothing. */
interface ReprocessRequest {
  dryRun?: boolean | undefined
}

/** What was queued, and a sentence about it. */
interface Reprocessing {
  success: boolean
  message: string
  taskIds: string[]
  tasksEnqueued: number
}

/** The result for one title. */
interface TitleResult {
  seriesId: string
  originalTitle: string
  newTitle: string
  changed: boolean
  skipped: boolean
  /** `locked`, or `outranked` by a title that a user or a file has given. */
  skipReason: string | null
}

/** The result of a task. `results` are the first changes, or all results if the task was for one series. */
interface Tally {
  dryRun: boolean
  processed: number
  changed: number
  skipped: number
  results: TitleResult[]
}

/** Queues a task that derives the title of one series from its folder name again. @throws not_found */
export async function reprocessTitle(
  dependencies: Dependencies,
  caller: Caller,
  request: ReprocessRequest & { seriesId: string },
): Promise<Reprocessing> {
  const [seriesId] = await getVisible(dependencies.database, caller, { kind: 'series', ids: [request.seriesId] })
  const [folder] = await listTitledFolders(dependencies.database, [seriesId as string])
  const dryRun = request.dryRun ?? false
  const { taskId, created } = await dependencies.tasks.add({
    type: 'reprocess_series_title',
    ...(folder && { libraryId: folder.libraryId }),
    seriesId: seriesId as string,
    dedupeKey: `${seriesId}:${dryRun}`,
    params: { dryRun },
  })
  return describe([{ taskId, created }], 1)
}

/** The same for all series of a library. @throws not_found */
export async function reprocessLibraryTitles(
  dependencies: Dependencies,
  caller: Viewer,
  request: ReprocessRequest & { libraryId: string },
): Promise<Reprocessing> {
  const { libraryId, dryRun = false } = request
  const library = await getLibraryRow(dependencies.database, caller, libraryId)
  const task = { type: 'reprocess_series_titles', libraryId: library.id, dedupeKey: `${library.id}:${dryRun}`, params: { dryRun } } as const
  return describe([await dependencies.tasks.add(task)], null)
}

/**
 * The same for chosen series, or for those of a library that the caller may see; with both, the chosen series must be in that library.
 * @throws not_found, all or nothing; invalid_request when neither is given
 */
export async function reprocessTitles(
  dependencies: Dependencies,
  caller: Caller,
  request: { seriesIds?: readonly string[] | null | undefined; libraryId?: string | null | undefined },
): Promise<Reprocessing> {
  const { seriesIds, libraryId } = request
  if (!seriesIds && !libraryId) refuse('invalid_request', 'Give the series in seriesIds, or their library in libraryId.')
  const library = libraryId ? await getLibraryRow(dependencies.database, caller, libraryId) : null
  const ids = seriesIds
    ? await getVisible(dependencies.database, caller, { kind: 'series', ids: seriesIds })
    : await listVisibleSeriesOfLibrary(dependencies.database, caller, library?.id as string)
  if (seriesIds && library) {
    const folders = await listTitledFolders(dependencies.database, ids)
    const stranger = folders.find((folder) => folder.libraryId !== library.id)
    if (stranger) refuse('not_found', `The series ${stranger.id} is not in the library "${library.name}". Nothing was queued.`)
  }
  const added: { taskId: string; created: boolean }[] = []
  for (let start = 0; start < ids.length; start += TASK_SERIES_MAX) {
    const some = ids.slice(start, start + TASK_SERIES_MAX)
    const dedupeKey = createHash('sha256').update(some.join()).digest('hex')
    added.push(await dependencies.tasks.add({ type: 'reprocess_series_titles', dedupeKey, params: { seriesIds: some } }))
  }
  return describe(added, ids.length)
}

/** Registers the handlers with the queue; call before its start(). */
export function handleReprocessing({ database, tasks, rules }: Dependencies & { tasks: TaskQueue; rules: Rules }): void {
  const reprocess = reprocessWith(database, rules)
  const one: TaskHandler = async (run) => {
    const tally = newTally(run.params)
    await reprocess([run.seriesId as string], tally, { all: true })
    return tally
  }
  const many: TaskHandler = async (run) => {
    const tally = newTally(run.params)
    const ids = run.libraryId ? await listSeriesOfLibrary(database, run.libraryId) : (run.params.seriesIds as string[])
    for (let start = 0; start < ids.length; start += STEP) {
      run.signal.throwIfAborted()
      await reprocess(ids.slice(start, start + STEP), tally, { all: false })
      run.progress(Math.min(start + STEP, ids.length), ids.length)
    }
    return tally
  }
  tasks.handle('reprocess_series_title', { concurrency: 1 }, one)
  tasks.handle('reprocess_series_titles', { concurrency: 1 }, many)
}

const newTally = (params: Record<string, unknown>): Tally => ({
  dryRun: params.dryRun === true,
  processed: 0,
  changed: 0,
  skipped: 0,
  results: [],
})

/** Gives series the titles that a scan with the current rules would give them, unless they have a better one or a lock forbids it. */
const reprocessWith = (database: Knex, rules: Rules) => async (ids: readonly string[], tally: Tally, list: { all: boolean }) => {
  const titles = await titlesOf(rules, await listTitledFolders(database, ids))
  // Counted after writing: what a transaction rolls back must not count.
  const results = tally.dryRun
    ? changesOf(await readStates(database, 'series', ids, []), titles).results
    : await database.transaction(async (trx) => {
        const { changed, results } = changesOf(await loadStates(trx, 'series', ids, []), titles)
        await storeFolderTitles(trx, titles)
        await storeStates(trx, 'series', changed)
        await announceSeries(
          trx,
          changed.map(({ next }) => next.id),
          ['title', 'titleSort'],
        )
        return results
      })
  for (const result of results) {
    tally.processed++
    if (result.changed) tally.changed++
    if (result.skipped) tally.skipped++
    if ((list.all || result.changed) && tally.results.length < RESULTS_MAX) tally.results.push(result)
  }
}

/** Updates the stored titles from folder names to the current rules, for series whose title is about to be reset. Hidden series are not changed. */
export async function refreshFolderTitles(
  { database, rules }: { database: Knex; rules: Rules },
  caller: Caller,
  seriesIds: readonly string[],
): Promise<void> {
  const visible = await listVisibleIds(database, caller, 'series', seriesIds)
  // One of the series is hidden or unknown, so the change that follows is refused completely.
  if (visible.size < new Set(seriesIds).size) return
  const titles = await titlesOf(rules, await listTitledFolders(database, [...visible]))
  // Locked in one order before writing, as everywhere.
  await database.transaction(async (trx) => {
    await lockRecords(trx, 'series', [...visible])
    await storeFolderTitles(trx, titles)
  })
}

/** The title of a series by its layout, before any rule of the library. */
const titleOfSeries = ({ path, oneshot, layoutTitle }: TitledFolder): string =>
  layoutTitle ?? (oneshot ? titleOfFileName(nameOfFolder(path)) : toNameText(nameOfFolder(path)))

/** Titles by series, according to the rules of their libraries. */
async function titlesOf(rules: Rules, folders: readonly TitledFolder[]): Promise<Map<string, string>> {
  const titles = new Map<string, string>()
  for (const mine of Map.groupBy(folders, ({ libraryId }) => libraryId).values()) {
    const rewritten = await rules.rewriteTitles(mine[0]?.rules, mine.map(titleOfSeries))
    for (const [index, { id }] of mine.entries()) titles.set(id, rewritten[index] as string)
  }
  return titles
}

function changesOf(states: ReadonlyMap<string, MetadataState>, titles: ReadonlyMap<string, string>) {
  const changed: { before: MetadataState; next: MetadataState }[] = []
  const results: TitleResult[] = []
  for (const [seriesId, before] of states) {
    const title = titles.get(seriesId)
    if (title === undefined) continue
    const { next, outcomes } = applyChange('series', before, { values: { title } }, 'file_name')
    const sorted = withSortTitle(next)
    if (!isSameContent('series', before, sorted)) changed.push({ before, next: sorted })
    const result = outcomes[0]?.result
    const skipped = result === 'locked' || result === 'outranked'
    const named = { originalTitle: before.values.title as string, newTitle: sorted.values.title as string }
    results.push({ seriesId, ...named, changed: result === 'set', skipped, skipReason: skipped ? result : null })
  }
  return { changed, results }
}

function describe(added: readonly { taskId: string; created: boolean }[], series: number | null): Reprocessing {
  const fresh = added.filter(({ created }) => created).length
  const what = series === null ? 'The titles of the library are' : series === 1 ? 'One title is' : `${series} titles are`
  const message = added.length === 0 ? 'There is no series to do this for.' : `${what}${fresh === 0 ? ' already' : ''} queued.`
  return { success: true, message, taskIds: [...new Set(added.map(({ taskId }) => taskId))], tasksEnqueued: fresh }
}
