import type { Knex } from 'knex'
import type { NewAnnouncement } from '#core/events/event.ts'
import { QUEUE_SCHEMA } from '#core/tasks/task-store.ts'

interface TaskRow {
  id: string
  name: string
  state: 'created' | 'retry' | 'active' | 'completed' | 'failed' | 'cancelled'
  data: { libraryId?: string; seriesId?: string; bookId?: string; userId?: string } | null
  message: string | null
  created_on: Date
  started_on: Date | null
  completed_on: Date | null
  book_series_id: string | null
  progress_current: number | null
  progress_total: number | null
  progress_message: string | null
}

const STATUSES = {
  created: 'pending',
  retry: 'pending',
  active: 'running',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'failed',
} as const

/** How these tasks stand, as those who follow are told. Tasks that are forgotten are missing. */
export async function listTaskNews(database: Knex, taskIds: readonly string[]): Promise<NewAnnouncement[]> {
  const { rows } = await database.raw(
    `SELECT j.id, j.name, j.state, j.data, j.output ->> 'message' AS message, j.created_on, j.started_on, j.completed_on, b.series_id AS book_series_id,
       r.progress_current, r.progress_total, r.progress_message
     FROM ${QUEUE_SCHEMA}.job j LEFT JOIN books b ON b.id = (j.data ->> 'bookId')::uuid LEFT JOIN task_runs r ON r.task_id = j.id AND j.state = 'active'
     WHERE j.id = ANY(CAST(? AS uuid[])) ORDER BY j.created_on, j.id`,
    [[...taskIds]],
  )
  return (rows as TaskRow[]).map(newsOf)
}

/** How many tasks wait or run, of all nodes. */
export async function countQueue(database: Knex): Promise<NewAnnouncement> {
  const { rows } = await database.raw(
    `SELECT name, count(*)::int AS count FROM ${QUEUE_SCHEMA}.job WHERE state IN ('created', 'retry', 'active') AND name NOT LIKE '\\_\\_pgboss%'
     GROUP BY name ORDER BY name`,
  )
  const counts = rows as { name: string; count: number }[]
  return {
    event: {
      type: 'queue_updated',
      count: counts.reduce((sum, { count }) => sum + count, 0),
      countByType: Object.fromEntries(counts.map(({ name, count }) => [name, count])),
    },
  }
}

function newsOf(row: TaskRow): NewAnnouncement {
  const { libraryId, seriesId, bookId, userId } = row.data ?? {}
  const isOver = row.state === 'completed' || row.state === 'failed' || row.state === 'cancelled'
  const error = row.state === 'cancelled' ? 'The task was cancelled.' : row.state === 'failed' || row.state === 'retry' ? row.message : null
  // Of a book that is gone only those are told who see all: its id is that of no series.
  const reach = seriesId ?? (bookId === undefined ? undefined : (row.book_series_id ?? bookId))
  return {
    event: {
      type: 'task_updated',
      taskId: row.id,
      taskType: row.name,
      status: STATUSES[row.state],
      ...(row.progress_current !== null &&
        row.progress_total !== null && {
          progress: {
            current: row.progress_current,
            total: row.progress_total,
            ...(row.progress_message !== null && { message: row.progress_message }),
          },
        }),
      ...(error !== null && { error }),
      startedAt: (row.started_on ?? row.created_on).toISOString(),
      ...(isOver && row.completed_on !== null && { completedAt: row.completed_on.toISOString() }),
      ...(libraryId !== undefined && { libraryId }),
      ...(seriesId !== undefined && { seriesId }),
      ...(bookId !== undefined && { bookId }),
    },
    ...(reach !== undefined && { seriesId: reach }),
    ...(userId !== undefined && { userId }),
  }
}
