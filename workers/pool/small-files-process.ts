import type { Analysis, AnalysisRequest } from '#core/fields/analysis.ts'
import { type Child, type ChildEnd, KEPT_BYTES_MAX, START_MS, startChild } from './child-process.ts'
import { readAnalyses } from './read-analyses.ts'

interface Options {
  heapMbMax: number
  idleMs?: number
  restMs?: number
}

/** After the last small file of a scan no more follow for long, and the process takes some 90 MB. */
const IDLE_MS = 10_000
/** After it was lost, files are analyzed in threads: whatever ended it may end the next one too. */
const REST_MS = 10_000

/** The body has the requests of its files in JSON. */
interface AnalyzeMessage {
  kind: 'analyze'
}

interface Job {
  files: number
  resolve(analyses: readonly (Analysis | null)[]): void
}

/**
 * A process that analyzes small files, a job at a time, beside the threads. libvips prepares each picture under locks of its process, which takes a
 * millisecond, most of the work on a small file: two processes prepare twice as many as any number of threads of one.
 */
export class SmallFilesProcess {
  readonly #options: Required<Options>
  #child: Child<AnalyzeMessage> | null = null
  /** When it can work, or has ended. */
  #ready = Promise.resolve()
  #ended = Promise.resolve()
  #job: Job | null = null
  #isTaken = false
  #idle: NodeJS.Timeout | undefined
  #restUntil = 0
  #closed = false

  constructor(options: Options) {
    this.#options = { idleMs: IDLE_MS, restMs: REST_MS, ...options }
  }

  isFree(): boolean {
    return !this.#closed && !this.#isTaken && performance.now() >= this.#restUntil
  }

  /** The process id, for tests. */
  get pid(): number | null {
    return this.#child?.pid ?? null
  }

  /** Only while it is free. Resolves with nothing if the process was lost or the signal aborted: the files are then analyzed by themselves. */
  async analyze(requests: readonly AnalysisRequest[], signal: AbortSignal): Promise<readonly (Analysis | null)[]> {
    this.#isTaken = true
    clearTimeout(this.#idle)
    const giveUp = () => this.#end('closed')
    signal.addEventListener('abort', giveUp)
    try {
      const child = this.#child ?? this.#start()
      await this.#ready
      if (this.#child !== child) return []
      return await new Promise((resolve) => {
        this.#job = { files: requests.length, resolve }
        child.send({ kind: 'analyze' }, Buffer.from(JSON.stringify(requests)))
      })
    } finally {
      signal.removeEventListener('abort', giveUp)
      this.#giveBack()
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#idle)
    this.#end('closed')
    await this.#ended
  }

  #giveBack(): void {
    this.#job = null
    this.#isTaken = false
    if (this.#child === null) return
    if (this.#child.residentBytes() > KEPT_BYTES_MAX) this.#end('closed')
    else this.#idle = setTimeout(() => this.#end('closed'), this.#options.idleMs).unref()
  }

  #start(): Child<AnalyzeMessage> {
    const ready = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    this.#ready = ready.promise
    this.#ended = ended.promise
    const late = setTimeout(() => this.#end('crash'), START_MS)
    const child = startChild<AnalyzeMessage, { kind?: unknown } | null>(
      { program: 'small-files-child.ts', heapMbMax: this.#options.heapMbMax },
      {
        onMessage: (message, body) => {
          if (message?.kind !== 'ready') return this.#settle(body)
          clearTimeout(late)
          ready.resolve()
        },
        onEnd: (end) => {
          clearTimeout(late)
          if (this.#child === child) this.#lose(end)
          ready.resolve()
          ended.resolve()
        },
      },
    )
    this.#child = child
    return child
  }

  #settle(body: Uint8Array): void {
    const analyses = this.#job && readAnalyses(body, this.#job.files)
    if (analyses) this.#job?.resolve(analyses)
    else this.#end('crash')
  }

  #end(end: ChildEnd): void {
    const child = this.#child
    if (child === null) return
    this.#lose(end)
    child.kill(end)
  }

  #lose(end: ChildEnd): void {
    this.#child = null
    clearTimeout(this.#idle)
    if (end !== 'closed') this.#restUntil = performance.now() + this.#options.restMs
    this.#job?.resolve([])
  }
}
