import type { Isolation } from './placement.ts'

/** Why a runner ended: the server killed it for this reason, or it crashed. */
export type ExitReason = 'memory' | 'timeout' | 'closed' | 'crash'

export const EXIT_MESSAGES: Record<ExitReason, string> = {
  memory: 'The code exceeded the memory limit of its process.',
  timeout: 'The code did not return in time, and its process was terminated.',
  crash: 'The process of the code crashed.',
  closed: 'The process of the code was terminated because the server is stopping or the process was idle.',
}

const RESIDENT_MB_MAX = { own: 256, shared: 512 }
/** From this share of the limit, idle isolates are closed. */
const RESIDENT_SOFT = 0.75
/** Some 55 MB each; when more places have calls, the least recently used runner is evicted, or they wait. The spare is extra. */
export const RUNNERS_MAX: Record<Isolation, number> = { strict: 6, grouped: 3 }
/** As long as the longest request of a user; a refresh may use a runner for longer. */
export const ROOM_WAIT_MS_MAX = 30_000
export const IDLE_MS = 5 * 60_000
/** Programs that run alone usually follow each other: load, migrate, set up. */
const TEMPORARY_IDLE_MS = 2_000
/**
 * A runner responds within microseconds, whatever its isolates do, but on a busy machine a process may stand still for two seconds. One that does not
 * respond in this time is stopped or broken.
 */
const SILENCE_MS_MAX = 4_000
/** The system may suspend an idle process first. */
const IDLE_SILENCE_MS_MAX = 10_000
/** From the start to the first message. */
const START_MS_MAX = 15_000
/** Runners in a row that exit before they are ready: then it is not an accident, and the waiting calls fail. */
const FAILED_STARTS_MAX = 3
/** Unexpected messages within a second: a closed isolate leaves at most some hundreds behind. */
export const UNEXPECTED_MAX = 2_000
/** This many bytes of an unread body count as one unexpected message, up to a quarter of the limit: a late answer is not a violation. */
const UNEXPECTED_BODY = { bytes: 8 * 1024, countMax: UNEXPECTED_MAX / 4 }

/** The use of a runner at some time. */
export interface RunnerUse {
  isBusy: boolean
  startedAt: number
  lastUsed: number
  /** Infinity until the runner is ready: before that its silence is normal. */
  lastHeard: number
  isTemporary: boolean
  sessions: number
}

/** The number of unexpected messages that an unread body counts for. */
export const unexpectedCount = (bodyBytes: number): number =>
  Math.min(Math.ceil(bodyBytes / UNEXPECTED_BODY.bytes), UNEXPECTED_BODY.countMax)

export const isSilent = ({ isBusy, startedAt, lastHeard }: RunnerUse, now: number): boolean =>
  lastHeard === Number.POSITIVE_INFINITY
    ? now - startedAt > START_MS_MAX
    : now - lastHeard > (isBusy ? SILENCE_MS_MAX : IDLE_SILENCE_MS_MAX)

/** Whether a runner has been unused long enough to end. */
export const isIdle = ({ isBusy, lastUsed, isTemporary, sessions }: RunnerUse, now: number, idleMs: number): boolean =>
  !isBusy && now - lastUsed > (isTemporary && sessions === 0 ? Math.min(TEMPORARY_IDLE_MS, idleMs) : idleMs)

export const residentBytesMax = (isShared: boolean, residentMbMax = RESIDENT_MB_MAX[isShared ? 'shared' : 'own']): number =>
  residentMbMax * 1024 * 1024

/** `soft`: idle sessions are closed. `hard`: the runner is killed. */
export const memoryExcess = (bytes: number, bytesMax: number): 'soft' | 'hard' | null =>
  bytes > bytesMax ? 'hard' : bytes > bytesMax * RESIDENT_SOFT ? 'soft' : null

/**
 * The place that caused the exit of a runner; null when unknown.
 * @param known the place that was seen to cause it; empty when it was closed before
 * @param suspects places with running code
 */
export const culpritOf = (known: string | null, suspects: readonly string[], isFailedStart: boolean): string | null =>
  known ?? (suspects.length === 1 && !isFailedStart ? (suspects[0] as string) : null)

/** Whether calls that the exit of a runner has interrupted are repeated in another one. */
export const isWorthRepeating = (isFailedStart: boolean, failedStarts: number): boolean =>
  !isFailedStart || failedStarts < FAILED_STARTS_MAX
