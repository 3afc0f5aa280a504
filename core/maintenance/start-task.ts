import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import type { Permission } from '#core/account/permission.ts'
import { requestPageCacheCleanup } from '#core/book/page-cache-upkeep.ts'
import { requestAnalysesOfSeries, requestBookAnalysis } from '#core/book/request-analysis.ts'
import { requestOrphanCleanup } from '#core/cover/orphans.ts'
import { requestThumbnail, requestThumbnails } from '#core/cover/request-thumbnails.ts'
import { scanDuplicates } from '#core/duplicate/duplicates.ts'
import { refuse } from '#core/errors.ts'
import { requestPurge } from '#core/library/library-work.ts'
import { renumberManySeries, renumberSeries } from '#core/library/renumber.ts'
import { reprocessTitle, reprocessTitles } from '#core/library/reprocess-titles.ts'
import type { Scans } from '#core/library/scans.ts'
import type { TaskQueue } from '#core/task/task.ts'

/** Whoever wants something done later than in a month has forgotten it by then. */
const SCHEDULE_DAYS_MAX = 30
const DAY_MS = 86_400_000

/** Tasks that a person may begin by their type, and what each needs. */
export const STARTABLE = {
  analyze_book: { needs: 'books-write', takes: 'bookId, force' },
  analyze_series: { needs: 'series-write', takes: 'seriesId, force' },
  scan_library: { needs: 'libraries-write', takes: 'libraryId, mode' },
  purge_deleted: { needs: 'libraries-write', takes: 'libraryId' },
  generate_thumbnail: { needs: 'tasks-write', takes: 'bookId, force' },
  generate_thumbnails: { needs: 'tasks-write', takes: 'bookIds, seriesIds, seriesId, libraryId, force' },
  generate_series_thumbnail: { needs: 'tasks-write', takes: 'seriesId, force' },
  generate_series_thumbnails: { needs: 'tasks-write', takes: 'seriesIds, libraryId, force' },
  find_duplicates: { needs: 'books-write', takes: 'nothing' },
  reprocess_series_title: { needs: 'series-write', takes: 'seriesId' },
  reprocess_series_titles: { needs: 'series-write', takes: 'seriesIds, libraryId' },
  renumber_series: { needs: 'series-write', takes: 'seriesId' },
  renumber_series_batch: { needs: 'series-write', takes: 'seriesIds' },
  cleanup_orphaned_files: { needs: 'system-admin', takes: 'nothing' },
  cleanup_pdf_cache: { needs: 'system-admin', takes: 'nothing' },
} as const satisfies Record<string, { needs: Permission; takes: string }>

export interface TaskWish {
  type: string
  libraryId?: string | null | undefined
  seriesId?: string | null | undefined
  bookId?: string | null | undefined
  bookIds?: readonly string[] | null | undefined
  seriesIds?: readonly string[] | null | undefined
  force?: boolean | null | undefined
  mode?: 'normal' | 'deep' | null | undefined
}

interface Parts {
  database: Knex
  tasks: TaskQueue
  scans: Scans
}

/**
 * Begins a task by its type, as the operation of its own would, with the permission that it asks for; answers the task.
 * @throws invalid_value for a type that cannot be begun so, what it lacks, or a time that cannot be; forbidden; what the operation itself refuses
 */
export async function startTask(
  parts: Parts,
  caller: Caller,
  wish: { task: TaskWish; priority?: number | null | undefined; scheduledFor?: string | null | undefined },
): Promise<{ taskId: string }> {
  const { task } = wish
  if (!isStartable(task.type)) {
    refuse('invalid_value', `Tasks of this type are not begun so. There are: ${Object.keys(STARTABLE).join(', ')}.`, {
      details: { member: 'taskType.type' },
    })
  }
  const { needs } = STARTABLE[task.type]
  if (!caller.permissions.has(needs)) refuse('forbidden', `This task needs the permission ${needs}.`, { details: { permission: needs } })
  const scheduledFor = readSchedule(wish.scheduledFor)
  if (task.type === 'scan_library') {
    if (scheduledFor) refuse('invalid_value', 'A scan begins at once: it cannot be put off.', { details: { member: 'scheduledFor' } })
    return await parts.scans.start(idOf(task, 'libraryId'), task.mode ?? 'normal', caller)
  }
  const tasks = adjusted(parts.tasks, { ...(wish.priority != null && { priority: wish.priority }), ...(scheduledFor && { scheduledFor }) })
  const { taskId } = await begin({ ...parts, tasks }, caller, task as TaskWish & { type: Startable })
  return { taskId }
}

type Startable = keyof typeof STARTABLE

const isStartable = (type: string): type is Startable => Object.hasOwn(STARTABLE, type)

async function begin(parts: Parts, caller: Caller, task: TaskWish & { type: Startable }): Promise<{ taskId: string }> {
  const force = task.force ?? false
  const choice = force ? 'all' : 'unanalyzed'
  switch (task.type) {
    case 'analyze_book':
      return await requestBookAnalysis(parts, caller, { bookId: idOf(task, 'bookId'), choice: 'all' })
    case 'analyze_series':
      return await requestAnalysesOfSeries(parts, caller, { seriesIds: [idOf(task, 'seriesId')], choice })
    case 'purge_deleted':
      return await requestPurge(parts, idOf(task, 'libraryId'))
    case 'generate_thumbnail':
      return await requestThumbnail(parts, caller, { bookId: idOf(task, 'bookId'), force })
    case 'generate_series_thumbnail':
      return await requestThumbnail(parts, caller, { seriesId: idOf(task, 'seriesId'), force })
    case 'generate_thumbnails':
      return await requestThumbnails(parts, caller, { of: 'books', ...scopeOf(task), bookIds: task.bookIds, force })
    case 'generate_series_thumbnails':
      return await requestThumbnails(parts, caller, { of: 'series', ...scopeOf(task), force })
    case 'find_duplicates':
      return await scanDuplicates(parts)
    case 'reprocess_series_title':
      return firstOf(await reprocessTitle(parts, caller, { seriesId: idOf(task, 'seriesId') }))
    case 'reprocess_series_titles':
      return firstOf(await reprocessTitles(parts, caller, task))
    case 'renumber_series':
      return await renumberSeries(parts, caller, idOf(task, 'seriesId'))
    case 'renumber_series_batch':
      return await renumberManySeries(parts, caller, task.seriesIds ?? lacking(task, 'seriesIds'))
    case 'cleanup_orphaned_files':
      return await requestOrphanCleanup(parts)
    case 'cleanup_pdf_cache':
      return await requestPageCacheCleanup(parts)
    case 'scan_library':
      throw new Error('Scans are begun elsewhere')
  }
}

const scopeOf = ({ seriesId, seriesIds, libraryId }: TaskWish) => ({
  libraryId,
  seriesIds: seriesId ? [seriesId, ...(seriesIds ?? [])] : seriesIds,
})

const idOf = (task: TaskWish, member: 'libraryId' | 'seriesId' | 'bookId'): string => task[member] ?? lacking(task, member)

const lacking = ({ type }: TaskWish, member: string): never =>
  refuse('invalid_value', `A task of the type ${type} needs ${member}.`, { details: { member: `taskType.${member}` } })

const firstOf = ({ taskIds, message }: { taskIds: readonly string[]; message: string }) => ({
  taskId: taskIds[0] ?? refuse('conflict', message),
})

/** @throws invalid_value for a time that is too far away; one that has passed means now */
function readSchedule(text: string | null | undefined): Date | null {
  if (text == null) return null
  const at = new Date(text)
  if (Number.isNaN(at.getTime()) || at.getTime() > Date.now() + SCHEDULE_DAYS_MAX * DAY_MS) {
    refuse('invalid_value', `A task can be put off for ${SCHEDULE_DAYS_MAX} days at most.`, { details: { member: 'scheduledFor' } })
  }
  return at.getTime() > Date.now() ? at : null
}

/** The queue, with what a person wants of all that is added here. */
const adjusted = (tasks: TaskQueue, wish: { priority?: number; scheduledFor?: Date }): TaskQueue => ({
  ...tasks,
  add: (task) => tasks.add({ ...task, ...wish }),
  addMany: (many) => tasks.addMany(many.map((task) => ({ ...task, ...wish }))),
})
