import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { getVisible } from '#core/analysis/named-records.ts'
import { listFileNames } from '#core/catalog/series-file-query.ts'
import { announceBooks } from '#core/events/event-store.ts'
import { fieldsOfPlaced, type PlacedBook } from '#core/fields/placed-values.ts'
import { applyChange, isSameContent, type MetadataState } from '#core/metadata/apply-change.ts'
import { loadStates, storeStates } from '#core/metadata/metadata-state-store.ts'
import { listTitledFolders } from '#core/scan/title-store.ts'
import type { TaskAdder, TaskHandler, TaskRun } from '#core/tasks/task.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'

/** Books per transaction: short enough that nobody waits for their rows. */
const STEP = 200
/** The fields that a file name gives besides the title. */
const NUMBERS = ['number', 'volume', 'chapter']
const FIRST = '00000000-0000-0000-0000-000000000000'

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

/** Queues the renumbering of the books of a series from their file names. @throws not_found */
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

/** Registers the handlers with the queue; call before its start(). */
export function handleRenumbering({ database, tasks }: Dependencies & { tasks: TaskQueue }): void {
  const renumber = (idsOf: (run: TaskRun) => string[]): TaskHandler => {
    return async (run) => {
      const tally: Tally = { processed: 0, changed: 0, skipped: 0 }
      const ids = idsOf(run)
      for (const [index, id] of ids.entries()) {
        await renumberOne(database, id, { run, tally })
        run.progress(index + 1, ids.length)
      }
      return tally
    }
  }
  tasks.handle(
    'renumber_series',
    { concurrency: 1 },
    renumber((run) => [run.seriesId as string]),
  )
  tasks.handle(
    'renumber_series_batch',
    { concurrency: 1 },
    renumber((run) => run.params.seriesIds as string[]),
  )
}

async function renumberOne(database: Knex, seriesId: string, { run, tally }: { run: TaskRun; tally: Tally }): Promise<void> {
  for (let after = FIRST; ; ) {
    run.signal.throwIfAborted()
    const books = await listFileNames(database, seriesId, { after, limit: STEP })
    const names = new Map(books.map(({ id, fileName, ...placed }): [string, [string, PlacedBook]] => [id, [fileName, placed]]))
    const { changed, skipped } = await database.transaction(async (trx) => {
      const done = numbersOf(await loadStates(trx, 'book', [...names.keys()], []), names)
      await storeStates(trx, 'book', done.changed)
      await announceBooks(
        trx,
        done.changed.map(({ next }) => next.id),
        NUMBERS,
      )
      return done
    })
    // Counted after writing: what a transaction rolls back must not count.
    tally.processed += books.length
    tally.changed += changed.length
    tally.skipped += skipped
    if (books.length < STEP) return
    after = books.at(-1)?.id as string
  }
}

/** The changes that follow from parsing number, volume and chapter from the file names again. */
function numbersOf(states: ReadonlyMap<string, MetadataState>, named: ReadonlyMap<string, [fileName: string, placed: PlacedBook]>) {
  const changed: { before: MetadataState; next: MetadataState }[] = []
  let skipped = 0
  for (const [id, before] of states) {
    const { number, volume, chapter } = fieldsOfPlaced(...(named.get(id) as [string, PlacedBook]))
    const { next, outcomes } = applyChange('book', before, { values: { number, volume, chapter } }, 'file_name')
    if (!isSameContent('book', before, next)) changed.push({ before, next })
    else if (outcomes.some(({ field, result }) => field === 'number' && (result === 'locked' || result === 'outranked'))) skipped++
  }
  return { changed, skipped }
}
