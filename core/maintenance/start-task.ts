import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import type { Permission } from '#core/account/permission.ts'
import { requestAnalysesOfSeries, requestBookAnalysis } from '#core/analysis/request-analyses.ts'
import { requestThumbnail, requestThumbnails } from '#core/analysis/request-thumbnails.ts'
import { scanDuplicates } from '#core/catalog/duplicates.ts'
import { refuse, refuseValue } from '#core/foundation/errors.ts'
import { requestOrphanRemoval } from '#core/maintenance/orphans.ts'
import { requestPageCacheMaintenance } from '#core/reading/page-cache-maintenance.ts'
import { requestPurge } from '#core/scan/purge-deleted.ts'
import { renumberManySeries, renumberSeries } from '#core/scan/renumber.ts'
import { reprocessTitle, reprocessTitles } from '#core/scan/reprocess-titles.ts'
import type { Scans } from '#core/scan/scans.ts'
import type { NewTask, TaskAdder } from '#core/tasks/task.ts'

/** Users forget what they scheduled more than a month ahead. */
const SCHEDULE_DAYS_MAX = 30
const DAY_MS = 86_400_000

/** Task types that users may start, and the permission that each needs. */
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

const NO_RELEASES = 'Release tracking is not part of this server.'
const REMOVED_AT_ONCE = 'Files are deleted together with what they belong to; cleanup_orphaned_files deletes those left behind.'

/** Types of the reference interface that cannot be started by type, with the reason or the operation that starts them. */
export const NOT_STARTABLE: Readonly<Record<string, string>> = {
  refresh_metadata:
    'POST /api/v1/books/{bookId}/analyze reads the metadata of its file again; POST /api/v1/books/{bookId}/metadata/auto-match/task searches with plugins.',
  refresh_library_metadata: 'Start a library job with POST /api/v1/libraries/{libraryId}/jobs/{jobId}/run-now.',
  cleanup_book_files: REMOVED_AT_ONCE,
  cleanup_series_files: REMOVED_AT_ONCE,
  cleanup_plugin_data: 'Delete the data of a plugin with DELETE /api/v1/admin/plugin-storage/{name}.',
  cleanup_series_exports: 'The server deletes exports by itself when they expire.',
  plugin_auto_match: 'Start it with POST /api/v1/series/{seriesId}/metadata/auto-match/task.',
  user_plugin_sync: 'No plugin syncs reading progress with a service yet.',
  user_plugin_recommendations: 'Start it with POST /api/v1/user/recommendations/refresh.',
  user_plugin_recommendation_dismiss: 'POST /api/v1/user/recommendations/{externalId}/dismiss does this immediately.',
  export_series: 'Start it with POST /api/v1/user/exports/series.',
  backfill_tracking_from_metadata: NO_RELEASES,
  poll_release_source: NO_RELEASES,
}

interface TaskRequest {
  type: string
  libraryId?: string | null | undefined
  seriesId?: string | null | undefined
  bookId?: string | null | undefined
  bookIds?: readonly string[] | null | undefined
  seriesIds?: readonly string[] | null | undefined
  force?: boolean | null | undefined
  mode?: 'normal' | 'deep' | null | undefined
}

interface Dependencies {
  database: Knex
  tasks: TaskAdder
  scans: Scans
}

/**
 * Starts a task by its type, with the permission that its own operation requires; returns the task.
 * @throws invalid_value for a type that cannot be started, a missing member, or an invalid time; forbidden; any error of its own operation
 */
export async function startTask(
  dependencies: Dependencies,
  caller: Caller,
  request: { task: TaskRequest; priority?: number | null | undefined; scheduledFor?: string | null | undefined },
): Promise<{ taskId: string }> {
  const { task } = request
  if (!isStartable(task.type)) {
    const types = Object.keys(STARTABLE).join(', ')
    const what = Object.hasOwn(NOT_STARTABLE, task.type)
      ? `A task of the type ${task.type} cannot be started here. ${NOT_STARTABLE[task.type]}`
      : 'There is no such task type.'
    refuseValue('/taskType/type', `${what} These types can be started: ${types}.`)
  }
  const { needs } = STARTABLE[task.type]
  if (!caller.permissions.has(needs)) refuse('forbidden', `This task needs the permission ${needs}.`, { details: { permission: needs } })
  const scheduledFor = readSchedule(request.scheduledFor)
  if (task.type === 'scan_library') {
    if (scheduledFor) refuseValue('/scheduledFor', 'A scan starts immediately; it cannot be scheduled.')
    return await dependencies.scans.start(idOf(task, 'libraryId'), task.mode ?? 'normal', caller)
  }
  const given = (asked: NewTask): NewTask => ({
    ...asked,
    ...(request.priority != null && { priority: request.priority }),
    ...(scheduledFor && { scheduledFor }),
  })
  const tasks: TaskAdder = {
    add: (asked) => dependencies.tasks.add(given(asked)),
    addMany: (all) => dependencies.tasks.addMany(all.map(given)),
  }
  const { taskId } = await begin({ ...dependencies, tasks }, caller, task as TaskRequest & { type: Startable })
  return { taskId }
}

type Startable = keyof typeof STARTABLE

const isStartable = (type: string): type is Startable => Object.hasOwn(STARTABLE, type)

async function begin(dependencies: Dependencies, caller: Caller, task: TaskRequest & { type: Startable }): Promise<{ taskId: string }> {
  const force = task.force ?? false
  const choice = force ? 'all' : 'unanalyzed'
  switch (task.type) {
    case 'analyze_book':
      return await requestBookAnalysis(dependencies, caller, { bookId: idOf(task, 'bookId'), choice: 'all' })
    case 'analyze_series':
      return await requestAnalysesOfSeries(dependencies, caller, { seriesIds: [idOf(task, 'seriesId')], choice })
    case 'purge_deleted':
      return await requestPurge(dependencies, caller, idOf(task, 'libraryId'))
    case 'generate_thumbnail':
      return await requestThumbnail(dependencies, caller, { bookId: idOf(task, 'bookId'), force })
    case 'generate_series_thumbnail':
      return await requestThumbnail(dependencies, caller, { seriesId: idOf(task, 'seriesId'), force })
    case 'generate_thumbnails':
      return await requestThumbnails(dependencies, caller, { of: 'books', ...scopeOf(task), bookIds: task.bookIds, force })
    case 'generate_series_thumbnails':
      return await requestThumbnails(dependencies, caller, { of: 'series', ...scopeOf(task), force })
    case 'find_duplicates':
      return await scanDuplicates(dependencies)
    case 'reprocess_series_title':
      return firstOf(await reprocessTitle(dependencies, caller, { seriesId: idOf(task, 'seriesId') }))
    case 'reprocess_series_titles':
      return firstOf(await reprocessTitles(dependencies, caller, task))
    case 'renumber_series':
      return await renumberSeries(dependencies, caller, idOf(task, 'seriesId'))
    case 'renumber_series_batch':
      return await renumberManySeries(dependencies, caller, task.seriesIds ?? lacking(task, 'seriesIds'))
    case 'cleanup_orphaned_files':
      return await requestOrphanRemoval(dependencies)
    case 'cleanup_pdf_cache':
      return await requestPageCacheMaintenance(dependencies)
    case 'scan_library':
      throw new Error('Scans are started elsewhere')
  }
}

const scopeOf = ({ seriesId, seriesIds, libraryId }: TaskRequest) => ({
  libraryId,
  seriesIds: seriesId ? [seriesId, ...(seriesIds ?? [])] : seriesIds,
})

const idOf = (task: TaskRequest, member: 'libraryId' | 'seriesId' | 'bookId'): string => task[member] ?? lacking(task, member)

const lacking = ({ type }: TaskRequest, member: string): never =>
  refuseValue(`/taskType/${member}`, `A task of the type ${type} needs ${member}.`)

const firstOf = ({ taskIds, message }: { taskIds: readonly string[]; message: string }) => ({
  taskId: taskIds[0] ?? refuse('conflict', message),
})

/** @throws invalid_value for a time that is too far in the future; a past time means now */
function readSchedule(text: string | null | undefined): Date | null {
  if (text == null) return null
  const at = new Date(text)
  if (Number.isNaN(at.getTime()) || at.getTime() > Date.now() + SCHEDULE_DAYS_MAX * DAY_MS) {
    refuseValue('/scheduledFor', `A task can be scheduled at most ${SCHEDULE_DAYS_MAX} days ahead.`)
  }
  return at.getTime() > Date.now() ? at : null
}
