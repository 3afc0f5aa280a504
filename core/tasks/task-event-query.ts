import type { Knex } from 'knex'
import type { NewAnnouncement } from '#core/events/event.ts'
import type { TaskStatus } from '#core/foundation/task-status.ts'
import { PROGRESS, type TaskRecord } from '#core/tasks/task-query.ts'

interface TaskRow {
  id: string
  type: string
  status: TaskStatus
  library_id: string | null
  series_id: string | null
  book_id: string | null
  user_id: string | null
  last_error: string | null
  created_at: Date
  started_at: Date | null
  completed_at: Date | null
  book_series_id: string | null
  progress: TaskRecord['progress'] | null
}

/** The states of these tasks, as events announce them. Deleted tasks are missing. */
export async function listTaskEvents(database: Knex, taskIds: readonly string[]): Promise<NewAnnouncement[]> {
  const { rows } = await database.raw(
    `SELECT t.id, t.type, t.status, t.library_id, t.series_id, t.book_id, t.user_id, t.last_error, t.created_at, t.started_at, t.completed_at,
       b.series_id AS book_series_id, ${PROGRESS} AS progress
     FROM tasks t LEFT JOIN books b ON b.id = t.book_id WHERE t.id = ANY(CAST(? AS uuid[])) ORDER BY t.created_at, t.id`,
    [[...taskIds]],
  )
  return (rows as TaskRow[]).map(eventOf)
}

/** How many tasks are waiting or running, over all nodes. */
export async function countQueue(database: Knex): Promise<NewAnnouncement> {
  const { rows } = await database.raw(
    `SELECT type, count(*)::int AS count FROM tasks WHERE status IN ('pending', 'processing') GROUP BY type ORDER BY type`,
  )
  const counts = rows as { type: string; count: number }[]
  return {
    event: {
      type: 'queue_updated',
      count: counts.reduce((sum, { count }) => sum + count, 0),
      countByType: Object.fromEntries(counts.map(({ type, count }) => [type, count])),
    },
  }
}

function eventOf(row: TaskRow): NewAnnouncement {
  const { library_id: libraryId, series_id: seriesId, book_id: bookId, user_id: userId } = row
  const error = row.status === 'cancelled' ? 'The task was cancelled.' : row.last_error
  // A task of a deleted book is announced only to users who see everything: its id belongs to no series.
  const reach = seriesId ?? (bookId === null ? null : (row.book_series_id ?? bookId))
  return {
    event: {
      type: 'task_updated',
      taskId: row.id,
      taskType: row.type,
      status: row.status,
      ...(row.progress && { progress: row.progress }),
      ...(error !== null && { error }),
      startedAt: (row.started_at ?? row.created_at).toISOString(),
      ...(row.completed_at !== null && { completedAt: row.completed_at.toISOString() }),
      ...(libraryId !== null && { libraryId }),
      ...(seriesId !== null && { seriesId }),
      ...(bookId !== null && { bookId }),
    },
    ...(reach !== null && { seriesId: reach }),
    ...(userId !== null && { userId }),
  }
}
