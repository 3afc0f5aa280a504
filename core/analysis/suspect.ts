import type { Problem } from '#core/fields/analysis.ts'

/** What happened while a file was being processed. */
export type SuspectReason = 'server_stalled' | 'thread_died' | 'child_died'

/** The record of a file that was being processed when something went wrong. */
export interface Suspicion {
  times: number
  reason: SuspectReason
  /** The task that analyzed it alone; null before that. */
  aloneTask: string | null
}

/** After this many times, a file is analyzed alone: the first time others may have been the cause. */
export const TIMES_BEFORE_ALONE = 2
/** Reached only by a file that was analyzed alone. */
export const TIMES_BEFORE_REFUSED = TIMES_BEFORE_ALONE + 1

/**
 * How a file may be analyzed: `beside` others, `alone`, or not at all (`refused`).
 * @param run.retry whether a user requested this analysis; it is one further attempt, alone, and not one more for each restart of the server
 */
export function mannerOf(suspicion: Suspicion | null, run: { taskId: string; retry: boolean }): 'beside' | 'alone' | 'refused' {
  if (suspicion === null || suspicion.times < TIMES_BEFORE_ALONE) return 'beside'
  if (suspicion.times < TIMES_BEFORE_REFUSED) return 'alone'
  return run.retry && suspicion.aloneTask !== run.taskId ? 'alone' : 'refused'
}

const DONE: Record<SuspectReason, string> = {
  server_stalled: 'stopped the whole server',
  thread_died: 'ended the thread that read it',
  child_died: 'ended the process that drew it',
}

/** The error of a book whose file stopped the server, thread or process again while it was analyzed alone. */
export function describeRefusal({ times, reason }: Suspicion): Problem {
  return {
    type: 'other',
    message: `Reading this file ${DONE[reason]}, ${times} times, the last time with no other work running. The server does not retry it until the file changes or a user requests it.`,
    details: { suspected: reason, times },
    fatal: true,
  }
}

/** The problem that the pool returns for an analysis whose thread or child process died. */
export function deathProblem(died: 'thread' | 'child', reason: string): Problem {
  return {
    type: 'other',
    message: died === 'thread' ? 'Reading this file ended the thread that read it.' : 'Reading this file ended the process that drew it.',
    details: { reason, died },
    fatal: true,
  }
}

/** Whether a thread or child died while processing the file, by the reported problems; null when none did. */
export function deathAmong(problems: readonly Problem[]): SuspectReason | null {
  const death = problems.find(({ details }) => details?.died === 'thread' || details?.died === 'child')
  if (!death) return null
  return death.details?.died === 'thread' ? 'thread_died' : 'child_died'
}
