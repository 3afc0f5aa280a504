import { availableParallelism } from 'node:os'
import { Piscina, transferableSymbol, valueSymbol } from 'piscina'
import type {
  Analyse,
  Analysis,
  ExtractRar,
  Page,
  PageOutcome,
  PageRefusal,
  Problem,
  ReadRarPage,
  ReadZipPage,
  RenderPdfPage,
  ResizeImage,
} from '#core/book/analysis.ts'
import { deathProblem } from '#core/book/suspect.ts'
import type { DrawCover } from '#core/cover/cover.ts'
import { refuse } from '#core/errors.ts'
import type { ReadingListOutcome, ReadReadingList } from '#core/shelf/reading-list.ts'
import { openGate } from './gate.ts'
import { drawCover, resizePicture } from './image.ts'
import { openFiles } from './open-files.ts'
import { openZipPages } from './zip-page.ts'

export interface PoolOptions {
  /** Analyses at a time. Pages get threads of their own, so that reading goes on during a scan. */
  threads: number
  /** JavaScript heap per thread. Bytes of files lie outside of it and are bounded by the limits on entries. */
  memoryMbMax: number
  /** From the start of the work in a thread, not from the request. */
  deadlineMs: number
}

export interface Pool {
  analyse: Analyse
  readZipPage: ReadZipPage
  readRarPage: ReadRarPage
  extractRar: ExtractRar
  renderPdfPage: RenderPdfPage
  resizeImage: ResizeImage
  drawCover: DrawCover
  readReadingList: ReadReadingList
  /** False once closed, and while threads die before they can do anything. */
  healthy(): boolean
  /** Lets running work end, for at most two seconds, then ends it. */
  close(): Promise<void>
}

const IDLE_THREAD_MS = 30_000
const CLOSE_MS = 2_000
/** A thread starts in 0.2 s; on a machine that is busy with everything at once it has been seen to take several. */
const THREAD_START_MS = 30_000
/** Results leave a thread at once, so there is nothing for a large young generation to gather but garbage. */
const YOUNG_GENERATION_MB = 8
/** A thread that dies can be one bad file; so many in a row are no accident. */
const LOSSES_UNHEALTHY = 8

/**
 * Threads for everything that touches hostile bytes. A file that takes too long or too much memory costs its thread, which
 * is replaced, and comes back as an ordinary problem; nothing else notices.
 */
export function openPool(options: PoolOptions): Pool {
  const readers = Math.max(1, Math.floor(options.threads / 2))
  const piscina = new Piscina({
    filename: new URL('./thread.ts', import.meta.url).href,
    // The default would freeze a thread between tasks, with its timers and pending closes.
    atomics: 'async',
    minThreads: 1,
    maxThreads: options.threads + readers,
    idleTimeout: IDLE_THREAD_MS,
    resourceLimits: { maxOldGenerationSizeMb: options.memoryMbMax, maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  })
  // Raised for a thread that dies between tasks; the pool has replaced it already.
  piscina.on('error', () => losses++)
  const analyses = openGate(options.threads)
  const reads = openGate(readers)
  const resizes = openGate(availableParallelism())
  const files = openFiles()
  let losses = 0
  let closed = false

  /** Runs one task; a thread lost over it gives the refusal, an abort by the caller rejects. */
  async function run<Request, Result>(
    name: string,
    request: Request,
    signal: AbortSignal | undefined,
    refusal: (problem: Problem) => Result,
  ): Promise<Result> {
    if (closed) refuse('unavailable', 'The server is shutting down.')
    const deadline = openDeadline(options.deadlineMs)
    try {
      const result: Result = await piscina.run({ request, begun: deadline.begun } satisfies Errand<Request>, {
        name,
        signal: signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal,
      })
      losses = 0
      return result
    } catch (error) {
      signal?.throwIfAborted()
      if (closed) refuse('unavailable', 'The server is shutting down.', { cause: error })
      if (deadline.signal.aborted) return refusal(tookTooLong(options.deadlineMs))
      if (isOutOfMemory(error)) return refusal(neededTooMuch(options.memoryMbMax))
      losses++
      if (isThreadEnd(error)) return refusal(deathProblem('thread', error.message))
      throw error
    } finally {
      deadline.end()
    }
  }

  const pageRefusal = (problem: Problem): PageOutcome => ({ problem: { ...problem, fatal: false } }) satisfies PageRefusal
  return {
    analyse: (request, { signal } = {}) =>
      analyses.pass(() => run<typeof request, Analysis>('analyse', request, signal, refusedAnalysis), signal),
    readZipPage: openZipPages(files),
    readRarPage: (request, { signal } = {}) => reads.pass(() => run('readRarPage', request, signal, pageRefusal), signal),
    extractRar: (request, { signal } = {}) =>
      reads.pass(
        () => run<{ path: string; pages: Page[]; folder: string }, Problem | null>('extractRar', request, signal, (problem) => problem),
        signal,
      ),
    renderPdfPage: (request, { signal } = {}) => reads.pass(() => run('renderPdfPage', request, signal, pageRefusal), signal),
    // In this process: libvips works in threads of its own, and no picture is copied to another heap and back.
    resizeImage: (request) => resizes.pass(() => resizePicture(request)),
    drawCover: (bytes) => resizes.pass(() => drawCover(bytes)),
    // Its markup takes seconds where it is made for that.
    readReadingList: (bytes) =>
      reads.pass(() => run<Uint8Array, ReadingListOutcome>('readReadingList', bytes, undefined, ({ message }) => ({ refused: message }))),
    healthy: () => !closed && losses < LOSSES_UNHEALTHY,
    async close() {
      if (closed) return
      closed = true
      const ended = piscina.close().catch(() => undefined)
      let timer: NodeJS.Timeout | undefined
      await Promise.race([ended, new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_MS)))])
      clearTimeout(timer)
      await piscina.destroy()
      await files.close()
    },
  }
}

/** What travels to a thread: the request, and the place where the thread writes when it began, as `monotonicMs()`. */
export interface Errand<Request> {
  request: Request
  begun: Float64Array
}

/** Milliseconds of the machine's monotonic clock, the same in every thread. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}

/** Aborts its signal `deadlineMs` after the work began in a thread, or when no thread has begun it in a time of its own. */
function openDeadline(deadlineMs: number) {
  const controller = new AbortController()
  // Shared, because a message from a busy thread would come when it is done.
  const begun = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT))
  const asked = monotonicMs()
  let timer = setTimeout(check, deadlineMs)

  function check(): void {
    const left = (begun[0] ? begun[0] : asked + THREAD_START_MS) + deadlineMs - monotonicMs()
    if (left <= 0) controller.abort()
    else timer = setTimeout(check, begun[0] ? left : Math.min(left, deadlineMs))
  }

  return { begun, signal: controller.signal, end: () => clearTimeout(timer) }
}

/** Wraps a thread's answer so that the memory under `bytes` is handed over instead of copied. */
export function moved<Result extends object>(result: Result, bytes: Uint8Array): Result {
  const movable = { [transferableSymbol]: bytes.buffer, [valueSymbol]: result }
  // The pool unwraps it on its way; the caller gets a Result.
  return Piscina.move(movable as never) as unknown as Result
}

function tookTooLong(deadlineMs: number): Problem {
  return {
    type: 'other',
    message: `Reading this file took longer than ${deadlineMs / 1000} s and was stopped.`,
    details: { deadlineMs },
    fatal: true,
  }
}

function neededTooMuch(memoryMbMax: number): Problem {
  return {
    type: 'other',
    message: `Reading this file needed more memory than ${memoryMbMax} MB and was stopped.`,
    details: { memoryMbMax },
    fatal: true,
  }
}

const isOutOfMemory = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
/** The pool tells it in words only. */
const isThreadEnd = (error: unknown): error is Error => error instanceof Error && error.message.startsWith('worker exited')

function refusedAnalysis(problem: Problem): Analysis {
  return { file: null, format: null, pageCount: 0, pageSource: 'none', pages: [], embedded: {}, cover: null, problems: [problem] }
}
