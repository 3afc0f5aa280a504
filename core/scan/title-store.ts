import type { Knex } from 'knex'
import { type Viewer, visibleTo } from '#core/account/visibility.ts'
import type { TaskStatus } from '#core/foundation/task-status.ts'

/** The path of a series, and the title rules of its library. */
export interface TitledFolder {
  id: string
  libraryId: string
  path: string
  oneshot: boolean
  /** By the layout; null for a series whose title is the last part of its path. */
  layoutTitle: string | null
  rules: unknown
}

export async function listTitledFolders(database: Knex, seriesIds: readonly string[]): Promise<TitledFolder[]> {
  return await database('series AS s')
    .join('libraries AS l', 'l.id', 's.library_id')
    .whereRaw('s.id = ANY(CAST(? AS uuid[]))', [[...seriesIds]])
    .select(
      's.id',
      's.library_id AS libraryId',
      's.path',
      's.oneshot',
      's.layout_title AS layoutTitle',
      'l.title_preprocessing_rules AS rules',
    )
}

export async function listSeriesOfLibrary(database: Knex, libraryId: string): Promise<string[]> {
  return await database('series').where('library_id', libraryId).orderBy('id').pluck('id')
}

/** Those that the caller may see. */
export async function listVisibleSeriesOfLibrary(database: Knex, caller: Viewer, libraryId: string): Promise<string[]> {
  return await database('series')
    .where('series.library_id', libraryId)
    .modify(visibleTo(caller, 'series.id'))
    .orderBy('series.id')
    .pluck('series.id')
}

/** A task that names the books of a library anew. */
export interface Renaming {
  status: TaskStatus
  startedAt: Date | null
}

/** The last renaming of the library, of those that are not deleted yet. */
export async function findLastRenaming(database: Knex, libraryId: string): Promise<Renaming | undefined> {
  return await database('tasks')
    .where({ library_id: libraryId, type: 'renumber_library' })
    .orderBy('created_at', 'desc')
    .first('status', 'started_at AS startedAt')
}
