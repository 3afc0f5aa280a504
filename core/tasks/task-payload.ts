import { type NewTask, TASK_PRIORITY, type TaskReference } from '#core/tasks/task.ts'

/** What pg-boss keeps of a task beside its own columns. */
export interface Payload extends TaskReference {
  params?: Record<string, unknown>
}

export const payloadOf = ({ libraryId, seriesId, bookId, userId, parentId, params }: NewTask): Payload => ({
  ...{ libraryId, seriesId, bookId, params },
  ...(userId !== undefined && { userId }),
  ...(parentId !== undefined && { parentId }),
})

export const sendOptions = (task: NewTask) => ({
  ...(task.id === undefined ? {} : { id: task.id }),
  priority: task.priority ?? TASK_PRIORITY[task.type],
  singletonKey: task.dedupeKey,
  ...(task.scheduledFor && { startAfter: task.scheduledFor }),
})

/** pg-boss keeps an object; anything else is wrapped. */
export const outputOf = (result: unknown): object => (typeof result === 'object' && result !== null ? result : { value: result })

/** How long a task that is claimed now stood in line although it might have begun, in ms. */
export const waitOf = ({ createdOn, startAfter }: { createdOn: Date; startAfter: Date }) =>
  Math.max(0, Date.now() - Math.max(createdOn.getTime(), startAfter.getTime()))
