import { parentPort } from 'node:worker_threads'
import { AppError } from '#core/foundation/errors.ts'

/** What a thread sends to its {@link ThreadHost}. Errors lose their class on the way, so a refusal is sent as its members. */
export type FromThread<Part, Answer> =
  | { kind: 'ready' }
  | { kind: 'part'; part: Part }
  | { kind: 'answer'; answer: Answer }
  | { kind: 'refused'; code: AppError['code']; message: string; details: unknown }

/**
 * The program of a thread: answers the jobs of its host, one after the other. An {@link AppError} refuses the job; any other error is a bug, and ends the thread.
 * @param run gets a function that sends a part of the answer at once
 */
export function serveJobs<Job, Answer, Part = never>(run: (job: Job, send: (part: Part) => void) => Answer): void {
  const send = (message: FromThread<Part, Answer>) => parentPort?.postMessage(message)
  parentPort?.on('message', (job: Job) => {
    try {
      send({ kind: 'answer', answer: run(job, (part) => send({ kind: 'part', part })) })
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      send({ kind: 'refused', code: error.code, message: error.message, details: error.details })
    }
  })
  // Its code is loaded: the time of a job begins.
  send({ kind: 'ready' })
}
