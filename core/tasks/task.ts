/**
 * Background work as the rest of the code sees it. The queue itself stands in task-queue.ts; everything long is a
 * task with progress, cancel, retry and a history that a person can read.
 */

/** Default priorities, higher first. */
export const TASK_PRIORITY = {
  scan_library: 1000,
  purge_deleted: 900,
  analyze_library: 850,
  analyze_books: 810,
  analyze_book: 800,
  reprocess_series_title: 780,
  reprocess_series_titles: 770,
  renumber_series: 760,
  renumber_series_batch: 750,
  refresh_recommendations: 600,
  generate_thumbnail: 600,
  generate_series_thumbnail: 590,
  generate_thumbnails: 580,
  generate_series_thumbnails: 570,
  auto_match_series: 500,
  auto_match_book: 490,
  auto_match_library: 450,
  library_job: 400,
  find_duplicates: 400,
  export_series: 300,
  cleanup_orphaned_files: 100,
  cleanup_pdf_cache: 100,
} as const
export type TaskType = keyof typeof TASK_PRIORITY

export interface TaskReference {
  libraryId?: string
  seriesId?: string
  bookId?: string
  /** Only this user, and administrators, may see the task. */
  userId?: string
  /** The task that this one is a part of. */
  parentId?: string
}

export interface NewTask extends TaskReference {
  /** Chosen by the caller when another row must carry the same id (a scan). */
  id?: string
  type: TaskType
  params?: Record<string, unknown>
  /** Two waiting tasks of one type with one key are one task. Must name every identity member. */
  dedupeKey: string
  priority?: number
  /** Not begun before; at once unless said. */
  scheduledFor?: Date
}

/** What a handler is given for one task. `signal` aborts on cancel and on shutdown; check it between steps. */
export interface TaskRun extends TaskReference {
  id: string
  type: TaskType
  params: Record<string, unknown>
  /** How long it stood in line although it might have begun, in ms. */
  waitedMs?: number
  /** 1 for the first try since it was added or retried by a person; the end of the server is no try. */
  attempt: number
  signal: AbortSignal
  /** Remembered and shown to people; cheap to call often (written at most a few times a second). */
  progress(current: number, total: number, message?: string): void
}

/** Thrown by a handler when another try cannot help: the task has failed at once, whatever tries it has left. */
export class FinalFailure extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'FinalFailure'
  }
}

/** What people are told of an error. A statement of the database holds whatever somebody has, and is for the log alone. */
export function taskErrorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'severity' in error ? 'The database refused it; the log of the server says why.' : error.message
}

/** Does the work; what it returns is the task's result (JSON). Throwing means another try with back-off, until the tries are used up. */
export type TaskHandler = (run: TaskRun) => Promise<unknown>

/** Tasks of one type: those of a library, the parts of one task, or all there are. */
export type TasksOf = { type: TaskType } & ({ libraryId: string } | { parentId: string } | { all: true })

export interface TaskQueue {
  /** Adds a task; `created` is false when one with the same key already waits, whose id is then answered where it is known. */
  add(task: NewTask): Promise<{ taskId: string; created: boolean }>
  /** Adds many at once (one statement per thousand); answers how many were new. */
  addMany(tasks: readonly NewTask[]): Promise<number>
  /** Registers the one handler of a type; `concurrency` tasks of it run at a time. Call before start(). */
  handle(type: TaskType, options: { concurrency: number }, handler: TaskHandler): void
  start(): Promise<void>
  /** Takes no new work, aborts what runs, gives it back to the queue unharmed, and returns when nothing runs any more. */
  stop(): Promise<void>
  /** Cancels a waiting or running task: its signal aborts at once, on whichever node it runs. False when it had already ended or is unknown. */
  cancel(taskId: string): Promise<boolean>
  /** Cancels every waiting and running one of these tasks; answers how many there were. */
  cancelAll(which: TasksOf): Promise<number>
  /** Puts a failed or cancelled task back in line. False when it is neither. */
  retry(taskId: string): Promise<boolean>
}
