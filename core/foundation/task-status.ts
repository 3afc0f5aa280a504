/**
 * The states of a task, and of a scan, an export or a job that a task does. The API has no other words for them: not in records, events, filters and
 * statistics, nor in messages.
 */
export const TASK_STATUSES = ['pending', 'processing', 'completed', 'failed', 'cancelled'] as const
export type TaskStatus = (typeof TASK_STATUSES)[number]
