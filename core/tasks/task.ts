/** Background work: all long work is a task with progress, cancel, retry and a readable history. task-queue.ts is the queue. */

/** Default priorities, higher first. */
export const TASK_PRIORITY = {
  scan_library: 1000,
  purge_deleted: 900,
  analyze_library: 850,
  analyze_books: 810,
  analyze_book: 800,
  // After the analyses, whose metadata may change the series of books.
  arrange_library: 790,
  reprocess_series_title: 780,
  reprocess_series_titles: 770,
  renumber_library: 765,
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
  // Hours of reading, which nobody waits for.
  verify_library: 200,
  cleanup_orphaned_files: 100,
  cleanup_pdf_cache: 100,
} as const
export type TaskType = keyof typeof TASK_PRIORITY

export interface TaskReference {
  libraryId?: string
  seriesId?: string
  bookId?: string
  /** Only this user and administrators may see the task. */
  userId?: string
  /** The task that this one is a part of. */
  parentId?: string
}

export interface NewTask extends TaskReference {
  /** Given if another row must have the same id (a scan). */
  id?: string
  type: TaskType
  params?: Record<string, unknown>
  /** Two waiting tasks of one type and key are one task. The key must contain everything that distinguishes tasks of the type. */
  dedupeKey: string
  priority?: number
  /** Earliest start; default: now. */
  scheduledFor?: Date
}

/** What a handler receives for one task. `signal` aborts on cancel and on shutdown; check it between steps. */
export interface TaskRun extends TaskReference {
  id: string
  type: TaskType
  params: Record<string, unknown>
  /** How long the task waited although it could have begun, in ms. */
  waitedMs?: number
  /** 1 for the first try since it was added or a user retried it; a run that ended because the server stopped does not count. */
  attempt: number
  signal: AbortSignal
  /** Stored and shown to users; cheap to call often (written at most a few times a second). */
  progress(current: number, total: number, message?: string): void
}

/** Thrown by a handler if retrying cannot help: the task fails at once. */
export class FinalFailure extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'FinalFailure'
  }
}

/** The error text for users. A database error may contain any data, so only the log has it. */
export function taskErrorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'severity' in error ? 'The database rejected a statement of this task; the server log says why.' : error.message
}

/** Does the work; the returned value is the result of the task (JSON). Throwing means a retry with back-off, until no tries are left. */
export type TaskHandler = (run: TaskRun) => Promise<unknown>

/** Selects tasks of one type: those of a library, the parts of one task, or all. */
export type TasksOf = { type: TaskType } & ({ libraryId: string } | { parentId: string } | { all: true })

/** Adds tasks. */
export interface TaskAdder {
  /** Adds a task; `created` is false if one with the same key is waiting, whose id is then returned. It begins earlier if the new one would. */
  add(task: NewTask): Promise<{ taskId: string; created: boolean }>
  /** Adds many tasks (one statement per five hundred); returns how many were new, or waited for a later time and now begin earlier. */
  addMany(tasks: readonly NewTask[]): Promise<number>
}
