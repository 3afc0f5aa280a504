import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { getLibraryRow, getVisible } from '#core/analysis/named-records.ts'
import type { ThumbnailOrder } from '#core/analysis/thumbnails.ts'
import type { TaskAdder } from '#core/tasks/task.ts'

interface Dependencies {
  database: Knex
  tasks: TaskAdder
}

/** Which thumbnails. All given conditions must hold; without any, all thumbnails. */
interface ThumbnailRequest {
  of: 'books' | 'series'
  bookIds?: readonly string[] | null | undefined
  seriesIds?: readonly string[] | null | undefined
  libraryId?: string | null | undefined
  /** Existing ones too. */
  force?: boolean | undefined
}

/** Queues the thumbnails of one book or series. @throws not_found */
export async function requestThumbnail(
  dependencies: Dependencies,
  caller: Caller,
  request: { force?: boolean | undefined } & ({ bookId: string } | { seriesId: string }),
): Promise<{ taskId: string }> {
  const force = request.force ?? false
  const params = { force, since: new Date().toISOString() }
  if ('bookId' in request) {
    const [bookId = ''] = await getVisible(dependencies.database, caller, { kind: 'book', ids: [request.bookId] })
    return await add(dependencies, { type: 'generate_thumbnail', bookId, dedupeKey: `${bookId}:${force}`, params })
  }
  const [seriesId = ''] = await getVisible(dependencies.database, caller, { kind: 'series', ids: [request.seriesId] })
  return await add(dependencies, { type: 'generate_series_thumbnail', seriesId, dedupeKey: `${seriesId}:${force}`, params })
}

/** Queues many as one task; if one id is unknown or hidden, nothing is queued. @throws not_found */
export async function requestThumbnails(
  dependencies: Dependencies,
  caller: Caller,
  request: ThumbnailRequest,
): Promise<{ taskId: string; message: string }> {
  const { database } = dependencies
  const { of, bookIds, seriesIds, libraryId, force = false } = request
  const library = libraryId ? await getLibraryRow(database, caller, libraryId) : undefined
  const scope = {
    ...(bookIds && { bookIds: await getVisible(database, caller, { kind: 'book', ids: bookIds }) }),
    ...(seriesIds && { seriesIds: await getVisible(database, caller, { kind: 'series', ids: seriesIds }) }),
    ...(library && { libraryId: library.id }),
  }
  const dedupeKey = createHash('sha256')
    .update(JSON.stringify([of, scope, force]))
    .digest('hex')
  const order: ThumbnailOrder = { of, scope, force, since: new Date().toISOString() }
  const { taskId } = await add(dependencies, {
    type: of === 'books' ? 'generate_thumbnails' : 'generate_series_thumbnails',
    ...(library && { libraryId: library.id }),
    dedupeKey,
    params: { ...order },
  })
  const whose = bookIds
    ? `${bookIds.length} books`
    : seriesIds
      ? `${seriesIds.length} series`
      : library
        ? `"${library.name}"`
        : 'all libraries'
  return { taskId, message: `The ${force ? '' : 'missing '}thumbnails of ${whose} are queued.` }
}

async function add({ tasks }: Dependencies, task: Parameters<TaskAdder['add']>[0]): Promise<{ taskId: string }> {
  const { taskId } = await tasks.add(task)
  return { taskId }
}
