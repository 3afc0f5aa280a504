import { escapedText } from '#core/foundation/stranger-text.ts'
import { FinalFailure, taskErrorMessage } from '#core/tasks/task.ts'

/** The first try and three more; graphile-worker determines the pauses: 2.7, 7.4 and 20 seconds. */
export const TRIES_MAX = 4
/** graphile-worker does not increase the exponent further. */
const BACKOFF_STEPS_MAX = 10

export type SettledStatus = 'pending' | 'completed' | 'failed'

/** How the run of a handler ended. */
export type Ending = { result: unknown } | { error: unknown; isCanceled: boolean; isStopping: boolean }

/** The new state of the task. */
interface Verdict {
  status: SettledStatus
  result: unknown
  lastError: string | null
  isHandedBack: boolean
  isFinal: boolean
}

/** The number of this try, from 1, since the task was added or a user retried it. */
export const attemptOf = ({ attempts, maxAttempts }: { attempts: number; maxAttempts: number }) =>
  Math.max(1, TRIES_MAX - (maxAttempts - attempts))

/** The new state of a task whose run ended like this in its `attempt`th try. */
export function judgeEnding(ending: Ending, attempt: number): Verdict {
  if ('result' in ending) return { status: 'completed', result: ending.result, lastError: null, isHandedBack: false, isFinal: false }
  const { error, isCanceled, isStopping } = ending
  const none = { result: undefined, isFinal: false, isHandedBack: false }
  if (isStopping && !isCanceled) return { ...none, status: 'pending', lastError: null, isHandedBack: true }
  const isFinal = error instanceof FinalFailure
  const lastError = escapedText(taskErrorMessage(error))
  return { ...none, lastError, isFinal, status: isFinal || attempt >= TRIES_MAX ? 'failed' : 'pending' }
}

/** How long graphile-worker waits before it retries a job that failed so often, in seconds. */
export const backoffSeconds = (jobAttempts: number) => Math.exp(Math.min(jobAttempts, BACKOFF_STEPS_MAX))
