import { escapedText } from '#core/foundation/stranger-text.ts'
import type { TaskRun, TaskType } from '#core/tasks/task.ts'
import { attemptOf } from '#core/tasks/task-ending.ts'
import type { BegunTask, Progress } from '#core/tasks/task-store.ts'

/** A task that is running on this node. */
export class RunningTask {
  readonly id: string
  /** The number of this run; it increases when another node considers this one dead and queues the task again. */
  run: number
  isCanceled = false
  /** Whether the handler has ended; its outcome is not stored yet. */
  isEnding = false
  /** Settles when the outcome is stored. */
  done: Promise<void> = Promise.resolve()
  readonly #abort = new AbortController()

  constructor({ id, run }: BegunTask) {
    this.id = id
    this.run = run
  }

  cancel(): void {
    this.isCanceled = true
    this.#abort.abort(new DOMException('The task was cancelled', 'AbortError'))
  }

  stop(): void {
    this.#abort.abort(new DOMException('The server is stopping', 'AbortError'))
  }

  /** What the handler receives. */
  describe(type: TaskType, task: BegunTask, report: (progress: Progress) => void): TaskRun {
    const { id, libraryId, seriesId, bookId, userId, parentId, params, waitedMs } = task
    return {
      id,
      type,
      waitedMs,
      params: params ?? {},
      attempt: attemptOf(task),
      signal: this.#abort.signal,
      ...(libraryId && { libraryId }),
      ...(seriesId && { seriesId }),
      ...(bookId && { bookId }),
      ...(userId && { userId }),
      ...(parentId && { parentId }),
      progress: (current, total, message) =>
        report({ id, current: Math.round(current), total: Math.round(total), message: escapedText(message ?? '') }),
    }
  }
}
