import type { Problem } from '#core/metadata/analysis.ts'

/** What happened while a file was at work. */
export type SuspectReason = 'server_stalled' | 'thread_died' | 'child_died'

/** What is remembered of a file that was at work when something went wrong. */
export interface Suspicion {
  times: number
  reason: SuspectReason
  /** The task that analyzed it with nothing else beside it; null before that. */
  aloneTask: string | null
}

/** Named this often, a file is analyzed alone: the first time others may have been the cause. */
export const TIMES_BEFORE_ALONE = 2
/** Reached only by a file that was alone. */
export const TIMES_BEFORE_REFUSED = TIMES_BEFORE_ALONE + 1

/**
 * How a file may be analyzed: `beside` others, `alone`, or not at all (`refused`).
 * @param run.retry whether a person asked for this analysis; it is one further try, alone, and not one more for each restart of the server
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

/** The error of a book whose file did it again with nothing else at work. */
export function describeRefusal({ times, reason }: Suspicion): Problem {
  return {
    type: 'other',
    message: `Reading this file ${DONE[reason]}, ${times} times, at last with nothing else at work. It is not tried again until the file changes or somebody asks for it.`,
    details: { suspected: reason, times },
    fatal: true,
  }
}

/** The problem of an analysis that ended because its thread or child process died, for the pool to answer with. */
export function deathProblem(died: 'thread' | 'child', reason: string): Problem {
  return {
    type: 'other',
    message: died === 'thread' ? 'Reading this file ended the thread that read it.' : 'Reading this file ended the process that drew it.',
    details: { reason, died },
    fatal: true,
  }
}

/** Whether a thread or child died over the file, by the problems that came back; null when none did. */
export function deathAmong(problems: readonly Problem[]): SuspectReason | null {
  const death = problems.find(({ details }) => details?.died === 'thread' || details?.died === 'child')
  if (!death) return null
  return death.details?.died === 'thread' ? 'thread_died' : 'child_died'
}
