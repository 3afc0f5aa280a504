import { randomUUID } from 'node:crypto'
import type { AnalysisEnd } from '#core/analysis/book-store.ts'
import type { BookToAnalyze } from '#core/analysis/book-to-analyze-store.ts'
import { type Announcer, silentAnnouncer } from '#core/events/announcer.ts'
import type { FinishedFile } from '#core/events/event.ts'

/** People follow no more than four lists a second, and each is a notification of the database. */
const INTERVAL_MS = 250
/** Files of one event, of each kind: what a page shows of hundreds that may end in a second. */
const FILES_MAX = 20

type File = Pick<BookToAnalyze, 'id' | 'library_id' | 'file_name'>

interface Running {
  file: File
  begun: number
  startedAt: string
  /** When the file was read, and only its data remained to be written. */
  read?: number
  failed?: true
}

/** Announces which files are being analyzed, and what became of those before. Each process reports its own files. */
export class FileReport {
  readonly #announcer: Announcer
  readonly #reader = randomUUID()
  readonly #running = new Set<Running>()
  #finished: FinishedFile[] = []
  #finishedCount = 0
  #timer: NodeJS.Timeout | undefined

  constructor(announcer: Announcer) {
    this.#announcer = announcer
  }

  /** Reports a file while it is analyzed. @param leave says that it was read */
  async during(file: File, leave: () => void, analyze: (leave: () => void) => Promise<AnalysisEnd>): Promise<AnalysisEnd> {
    const running: Running = { file, begun: performance.now(), startedAt: new Date().toISOString() }
    this.#running.add(running)
    this.#plan()
    try {
      const end = await analyze(() => {
        running.read ??= performance.now()
        this.#plan()
        leave()
      })
      this.#finish(running, end)
      return end
    } finally {
      this.#running.delete(running)
      this.#plan()
    }
  }

  /** Says that a file that is being analyzed cannot be read. */
  fail(bookId: string): void {
    for (const running of this.#running) if (running.file.id === bookId) running.failed = true
  }

  #finish({ file, begun, read, failed }: Running, { kind }: AnalysisEnd): void {
    // The others are tried again, or there is no such book.
    if (kind !== 'written' && kind !== 'unchanged' && kind !== 'died') return
    const outcome = failed || kind === 'died' ? 'failed' : kind === 'written' ? 'analyzed' : 'unchanged'
    const durationMs = Math.round((read ?? performance.now()) - begun)
    this.#finished.push({ bookId: file.id, libraryId: file.library_id, fileName: file.file_name, outcome, durationMs })
    this.#finishedCount += 1
    if (this.#finished.length > FILES_MAX) this.#finished.shift()
  }

  #plan(): void {
    if (this.#announcer === silentAnnouncer) return
    this.#timer ??= setTimeout(() => this.#announce(), INTERVAL_MS).unref()
  }

  #announce(): void {
    this.#timer = undefined
    // The oldest first: a file that takes long is what people look for.
    const running = [...this.#running]
      .filter(({ read }) => read === undefined)
      .slice(0, FILES_MAX)
      .map(({ file, startedAt }) => ({ bookId: file.id, libraryId: file.library_id, fileName: file.file_name, startedAt }))
    const [finished, finishedCount] = [this.#finished, this.#finishedCount]
    this.#finished = []
    this.#finishedCount = 0
    this.#announcer.soon([{ event: { type: 'scan_files', readerId: this.#reader, running, finished, finishedCount } }])
  }
}
