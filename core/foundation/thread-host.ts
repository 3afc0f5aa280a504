import { Worker } from 'node:worker_threads'
import { AppError } from '#core/foundation/errors.ts'
import type { FromThread } from '#core/foundation/thread-jobs.ts'

interface ThreadOptions {
  /** Its program, which calls `serveJobs`. */
  program: URL
  memoryMbMax: number
  /** What is read leaves the thread at once; a larger young generation would only collect garbage. */
  youngMbMax: number
  /** How long it waits for another job before it ends. */
  idleMs: number
  /** Of one job, once the thread has started; null for jobs that wait for disks. */
  jobMsMax: number | null
  /** Waiting jobs. */
  queueMax: number
}

/** A thread starts in 0.6 s; on a busy machine it took ten. */
const START_MS_MAX = 60_000

/** Why a job has no answer. `crash`: its thread ended, for instance by an error that is a bug. */
export type ThreadLoss = 'deadline' | 'memory' | 'crash' | 'closed' | 'full'

export class ThreadLost extends Error {
  readonly reason: ThreadLoss

  constructor(reason: ThreadLoss, program: URL, cause?: unknown) {
    super(`The thread ${program.pathname.split('/').at(-1)} did not finish a job: ${reason}`, cause === undefined ? undefined : { cause })
    this.reason = reason
  }
}

/** Whether an error of a thread says that it exceeded its limit. */
export const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'

interface RunOptions<Part> {
  signal?: AbortSignal
  /** Receives the parts of the answer as they come. */
  onPart?: (part: Part) => void
}

interface Waiting<Job, Part, Answer> {
  job: Job
  options: RunOptions<Part>
  settle(outcome: { answer: Answer } | { error: unknown }): void
}

/**
 * A thread of its own for jobs that would block the server, one after the other. It starts with the first job, ends when it has none for a while, and is
 * replaced when it is lost; its job is not tried again, because it would end the next thread too. It keeps the process alive only while it has a job.
 */
export class ThreadHost<Job, Answer, Part = never> {
  readonly #options: ThreadOptions
  readonly #queue: Waiting<Job, Part, Answer>[] = []
  #current: Waiting<Job, Part, Answer> | null = null
  #thread: Worker | null = null
  #isReady = false
  /** The end of the current job or of the idle thread. */
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: ThreadOptions) {
    this.#options = options
  }

  /** @throws ThreadLost, the reason of the signal, and the refusal of the job */
  run(job: Job, options: RunOptions<Part> = {}): Promise<Answer> {
    const { signal } = options
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      if (this.#isClosed) throw this.#lost('closed')
      if (this.#queue.length >= this.#options.queueMax) throw this.#lost('full')
      const giveUp = () => this.#giveUp(one, signal?.reason)
      const one: Waiting<Job, Part, Answer> = {
        job,
        options,
        settle(outcome) {
          signal?.removeEventListener('abort', giveUp)
          if ('error' in outcome) reject(outcome.error)
          else resolve(outcome.answer)
        },
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      this.#queue.push(one)
      this.#next()
    })
  }

  /** Ends the thread in the middle of any work. Resolves when it has ended: a thread in a system call ends only when that call ends. */
  async close(): Promise<void> {
    this.#isClosed = true
    const ended = this.#endThread()
    for (const one of [this.#current, ...this.#queue.splice(0)]) one?.settle({ error: this.#lost('closed') })
    this.#current = null
    await ended
  }

  #next(): void {
    if (this.#current !== null) return
    clearTimeout(this.#timer)
    const one = this.#queue.shift() ?? null
    if (one === null) {
      this.#thread?.unref()
      this.#timer = setTimeout(() => void this.#endThread(), this.#options.idleMs).unref()
      return
    }
    this.#current = one
    try {
      this.#thread ??= this.#start()
      this.#thread.ref()
      this.#thread.postMessage(one.job)
      this.#setDeadline()
    } catch (error) {
      // The system has no thread left, for instance.
      this.#lose('crash', error)
    }
  }

  #setDeadline(): void {
    const { jobMsMax } = this.#options
    clearTimeout(this.#timer)
    if (jobMsMax !== null) this.#timer = setTimeout(() => this.#lose('deadline'), this.#isReady ? jobMsMax : START_MS_MAX)
  }

  #start(): Worker {
    const { program, memoryMbMax, youngMbMax } = this.#options
    this.#isReady = false
    const thread = new Worker(program, { resourceLimits: { maxOldGenerationSizeMb: memoryMbMax, maxYoungGenerationSizeMb: youngMbMax } })
    const lose = (reason: ThreadLoss, cause: unknown) => {
      if (this.#thread === thread) this.#lose(reason, cause)
    }
    thread.on('message', (message: FromThread<Part, Answer>) => {
      if (this.#thread === thread) this.#receive(message)
    })
    thread.on('error', (error: unknown) => lose(isOutOfMemory(error) ? 'memory' : 'crash', error))
    thread.on('exit', (code) => lose('crash', new Error(`It ended with code ${code}.`)))
    return thread
  }

  #receive(message: FromThread<Part, Answer>): void {
    if (message.kind === 'ready') {
      this.#isReady = true
      if (this.#current !== null) this.#setDeadline()
    } else if (message.kind === 'part') this.#current?.options.onPart?.(message.part)
    else if (message.kind === 'answer') this.#settle({ answer: message.answer })
    else this.#settle({ error: new AppError(message.code, message.message, { details: message.details }) })
  }

  #settle(outcome: { answer: Answer } | { error: unknown }): void {
    const one = this.#current
    this.#current = null
    one?.settle(outcome)
    this.#next()
  }

  #lose(reason: ThreadLoss, cause?: unknown): void {
    void this.#endThread()
    this.#settle({ error: this.#lost(reason, cause) })
  }

  #giveUp(one: Waiting<Job, Part, Answer>, reason: unknown): void {
    if (this.#current === one) {
      void this.#endThread()
      this.#settle({ error: reason })
      return
    }
    this.#queue.splice(this.#queue.indexOf(one), 1)
    one.settle({ error: reason })
  }

  async #endThread(): Promise<void> {
    clearTimeout(this.#timer)
    const thread = this.#thread
    this.#thread = null
    await thread?.terminate()
  }

  #lost(reason: ThreadLoss, cause?: unknown): ThreadLost {
    return new ThreadLost(reason, this.#options.program, cause)
  }
}
