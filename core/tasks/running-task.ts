import type { TaskRun, TaskType } from '#core/tasks/task.ts'
import { attemptOf } from '#core/tasks/task-ending.ts'
import type { BegunTask, Progress } from '#core/tasks/task-store.ts'

/** A task that is running on this node. */
export class RunningTask {
  readonly id: string
  /** The number of this run; it increases when another node requeues the task because it takes this node for dead. */
  run: number
  isCancelled = false
  /** Settles when the handler has ended. */
  isEnding = false
  /** Settles when the outcome is stored. */
  done: Promise<void> = Promise.resolve()
  readonly #abort = new AbortController()

  constructor({ id, run }: BegunTask) {
    this.id = id
    this.run = run
  }

  cancel(): void {
    this.isCancelled = true
    this.#abort.abort(new DOMException('The task was canceled', 'AbortError'))
  }

  stop(): void {
    this.#abort.abort(new DOMException('The server is stopping', 'AbortError'))
  }

  /** What the handler receives. */
  describe(type: TaskType, task: BegunTask, report: (progress: Progress) => void): TaskRun {
    const { id, libraryId, seriesId, bookId, userId, parentId, params, waitedMs } = task
    return {
      ...{ id, type, waitedMs, params: params ?? {}, attempt: attemptOf(task), signal: this.#abort.signal },
      ...(libraryId && { libraryId }),
      ...(seriesId && { seriesId }),
      ...(bookId && { bookId }),
      ...(userId && { userId }),
      ...(parentId && { parentId }),
      progress: (current, total, message) => report({ id, current: Math.round(current), total: Math.round(total), message: message ?? '' }),
    }
  }
}
