import { FinalFailure, taskErrorMessage } from '#core/tasks/task.ts'

/** The first try and three more; how long each waits is graphile-worker's: 2.7, 7.4 and 20 seconds. */
export const TRIES_MAX = 4
/** The exponent grows no further in graphile-worker. */
const BACKOFF_STEPS_MAX = 10

export type SettledStatus = 'pending' | 'completed' | 'failed'

/** How the run of a handler ended. */
export type Ending = { result: unknown } | { error: unknown; isCancelled: boolean; isStopping: boolean }

/** What becomes of the task. `again` means that its job is tried once more. */
interface Verdict {
  status: SettledStatus
  result: unknown
  lastError: string | null
  isHandedBack: boolean
  isFinal: boolean
}

/** Which try this is, from 1, since the task was added or retried by a person. */
export const attemptOf = ({ attempts, maxAttempts }: { attempts: number; maxAttempts: number }) =>
  Math.max(1, TRIES_MAX - (maxAttempts - attempts))

/** What becomes of a task whose run ended so, in its `attempt`th try. */
export function judgeEnding(ending: Ending, attempt: number): Verdict {
  if ('result' in ending) return { status: 'completed', result: ending.result, lastError: null, isHandedBack: false, isFinal: false }
  const { error, isCancelled, isStopping } = ending
  const none = { result: undefined, isFinal: false, isHandedBack: false }
  if (isStopping && !isCancelled) return { ...none, status: 'pending', lastError: null, isHandedBack: true }
  const isFinal = error instanceof FinalFailure
  const lastError = cleanText(taskErrorMessage(error))
  return { ...none, lastError, isFinal, status: isFinal || attempt >= TRIES_MAX ? 'failed' : 'pending' }
}

/** How long graphile-worker waits before it hands out a job again that failed so often, in seconds. */
export const backoffSeconds = (jobAttempts: number) => Math.exp(Math.min(jobAttempts, BACKOFF_STEPS_MAX))

/** PostgreSQL keeps no NUL and no half of a pair. */
export const cleanText = (text: string) => text.toWellFormed().replaceAll('\0', '\ufffd')
