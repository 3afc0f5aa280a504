import { Piscina } from 'piscina'
import { deathProblem } from '#core/analysis/suspect.ts'
import type { Problem } from '#core/fields/analysis.ts'
import { refuse } from '#core/foundation/errors.ts'
import { isOutOfMemory } from '#core/foundation/thread-host.ts'
import type { DrawingOutcome, DrawingRequest, DrawPdfPage } from '../drawing.ts'
import { Deadline } from './deadline.ts'
import { type DrawingMessage, ENDED, type Job, type ThreadWork } from './job.ts'

/** What threads can run: it gets a request, and a function that draws pages for it. */
// biome-ignore lint/suspicious/noExplicitAny: functions of every request fit
type ThreadFunction = (request: any, draw?: DrawPdfPage) => unknown

interface ThreadPoolOptions {
  /** The program of the threads, see thread.ts. */
  program: URL
  maxThreads: number
  memoryMbMax: number
  deadlineMs: number
  /** Draws pages for the threads. */
  draw: (request: DrawingRequest, options: { signal: AbortSignal }) => Promise<DrawingOutcome>
}

const IDLE_THREAD_MS = 30_000
const CLOSE_MS = 2_000
/** Results leave a thread at once, so a large young generation would only collect garbage. */
const YOUNG_GENERATION_MB = 8
/** Threads in a row that die before they begin: one can be an accident, so many are not. A thread that dies of a file does not count. */
const LOSSES_UNHEALTHY = 8
const TRY_AGAIN_MS = 5_000

/** Threads for work on files that can be terminated at any moment, except inside native code. */
export class ThreadPool {
  readonly #options: ThreadPoolOptions
  readonly #piscina
  readonly #running = new Map<number, { deadline: Deadline; signal: AbortSignal }>()
  #jobs = 0
  #losses = 0
  #triedAt = 0
  #closed = false

  constructor(options: ThreadPoolOptions) {
    this.#options = options
    this.#piscina = new Piscina({
      filename: options.program.href,
      // The default would freeze a thread between tasks, with its timers and pending closes.
      atomics: 'async',
      // All threads end when idle: a waiting thread takes 20 MB, and a new one starts in 0.2 s.
      minThreads: 0,
      maxThreads: options.maxThreads,
      idleTimeout: IDLE_THREAD_MS,
      resourceLimits: { maxOldGenerationSizeMb: options.memoryMbMax, maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    })
    // Emitted when a thread dies between tasks; the pool has replaced it already, and the next task shows whether it works.
    this.#piscina.on('error', () => {})
    this.#piscina.on('message', (message: DrawingMessage) => void this.#drawFor(message))
  }

  async #drawFor({ drawingFor, request, port }: DrawingMessage): Promise<void> {
    const job = this.#running.get(drawingFor)
    if (!job) return port.close()
    try {
      port.postMessage(await job.deadline.except(() => this.#options.draw(request, { signal: job.signal })))
    } catch (error) {
      const message = `Page 1 could not be drawn at the moment: ${(error as Error).message} Analyze the book again.`
      port.postMessage({ problem: { type: 'pdf_rendering', message, fatal: false } } satisfies DrawingOutcome)
    }
  }

  /** Runs one job, or none. When its thread is lost, resolves with the refusal; when the caller aborts, rejects. */
  async run<Run extends ThreadFunction>(
    work: ThreadWork<Run> | null,
    request: Parameters<Run>[0],
    signal: AbortSignal | undefined,
    refusal: (problem: Problem) => Awaited<ReturnType<Run>>,
  ): Promise<Awaited<ReturnType<Run>>> {
    if (this.#closed) refuse('unavailable', 'The server is shutting down.')
    const id = ++this.#jobs
    const deadline = new Deadline(this.#options.deadlineMs)
    const ended = signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal
    this.#running.set(id, { deadline, signal: ended })
    try {
      const result = await this.#piscina.run({ id, work, request, times: deadline.times } satisfies Job, { signal: ended })
      this.#losses = 0
      return result
    } catch (error) {
      signal?.throwIfAborted()
      if (this.#closed) refuse('unavailable', 'The server is shutting down.', { cause: error })
      // The task threw; its thread is alive.
      if (deadline.times[ENDED] !== 0 && !deadline.signal.aborted) throw error
      if (!deadline.begun) {
        this.#losses++
        refuse('unavailable', 'No thread could be started to read this file. Try again.', { retryAfterSeconds: 5, cause: error })
      }
      this.#losses = 0
      const reason = deadline.signal.aborted ? 'deadline' : isOutOfMemory(error) ? 'memory' : 'crash'
      return refusal(lostFile(reason, this.#options, error))
    } finally {
      this.#running.delete(id)
      deadline.end()
    }
  }

  /** Runs an empty job, to find out whether a thread can start. */
  #tryAgain(): void {
    if (Date.now() - this.#triedAt < TRY_AGAIN_MS) return
    this.#triedAt = Date.now()
    this.run<() => null>(null, undefined, undefined, () => null).catch(() => {})
  }

  /** False after close, and while threads die before they begin; the call tries to start one again. */
  healthy(): boolean {
    if (this.#closed) return false
    if (this.#losses < LOSSES_UNHEALTHY) return true
    this.#tryAgain()
    return false
  }

  /** Waits at most two seconds for running work, then terminates it. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const ended = this.#piscina.close().catch(() => undefined)
    let timer: NodeJS.Timeout | undefined
    await Promise.race([ended, new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_MS)))])
    clearTimeout(timer)
    await this.#piscina.destroy()
  }
}

function lostFile(reason: 'deadline' | 'memory' | 'crash', { deadlineMs, memoryMbMax }: ThreadPoolOptions, error: unknown): Problem {
  if (reason === 'crash') return deathProblem('thread', (error as Error).message)
  const reasons = {
    deadline: { message: `Reading this file took longer than ${deadlineMs / 1000} s and was stopped.`, details: { deadlineMs } },
    memory: { message: `Reading this file needed more memory than ${memoryMbMax} MB and was stopped.`, details: { memoryMbMax } },
  }
  return { type: 'other', ...reasons[reason], fatal: true }
}
