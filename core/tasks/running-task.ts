import type { TaskRun, TaskType } from '#core/tasks/task.ts'
import { attemptOf } from '#core/tasks/task-ending.ts'
import type { BegunTask, Progress } from '#core/tasks/task-store.ts'

/** A task that runs on this node. */
export class RunningTask {
  readonly id: string
  /** Of the begin that counts; another one when a node that took this one for dead had given it back. */
  run: number
  isCancelled = false
  /** Its handler has ended. */
  isEnding = false
  /** Settles when all about it has been written. */
  done: Promise<void> = Promise.resolve()
  readonly #abort = new AbortController()

  constructor({ id, run }: BegunTask) {
    this.id = id
    this.run = run
  }

  cancel(): void {
    this.isCancelled = true
    this.#abort.abort(new DOMException('The task was cancelled', 'AbortError'))
  }

  stop(): void {
    this.#abort.abort(new DOMException('The server is stopping', 'AbortError'))
  }

  /** What its handler is given. */
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
