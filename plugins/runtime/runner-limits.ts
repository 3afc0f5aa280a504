import type { Isolation } from './placement.ts'

/** Why a runner ended: the server killed it for this reason, or it crashed. */
export type ExitReason = 'memory' | 'timeout' | 'closed' | 'crash'

export const EXIT_MESSAGES: Record<ExitReason, string> = {
  memory: 'The code needed more memory than its process may have.',
  timeout: 'The code did not come back in time, and its process was ended.',
  crash: 'The process of the code died.',
  closed: 'The process of the code was ended because the server is stopping or nobody used it.',
}

const RESIDENT_MB_MAX = { own: 256, shared: 512 }
/** From this part of it on isolates that nobody calls are closed. */
const RESIDENT_SOFT = 0.75
/** Some 55 MB each; where more places are called, the runner that was used longest ago makes room, or they wait. The spare comes on top. */
export const RUNNERS_MAX: Record<Isolation, number> = { strict: 6, grouped: 3 }
/** As long as the longest of what people wait for; a refresh may hold a runner for longer. */
export const ROOM_WAIT_MS_MAX = 30_000
export const IDLE_MS = 5 * 60_000
/** What runs alone is as a rule needed more than once in a row: loaded, its data migrated, set up. */
const TEMPORARY_IDLE_MS = 2_000
/** A runner answers within microseconds, whatever its isolates do; one that does not within this time is stopped or worse. */
const SILENCE_MS_MAX = 2_000
/** One that nobody waits for may be what the system puts to sleep first. */
const IDLE_SILENCE_MS_MAX = 10_000
/** From its start to its first message. */
const START_MS_MAX = 15_000
/** Runners that exit before they are ready, in a row: then it is not by chance, and the waiting calls fail. */
const FAILED_STARTS_MAX = 3
/** Messages that nobody asked for, within a second: a closed isolate leaves some hundreds behind at most. */
export const UNEXPECTED_MAX = 2_000
/** So many bytes of an unread body count as one unexpected message, up to a quarter of the limit: an answer that came too late is no offense. */
const UNEXPECTED_BODY = { bytes: 8 * 1024, countMax: UNEXPECTED_MAX / 4 }

/** What is known of the use of a runner at some moment. */
export interface RunnerUse {
  isBusy: boolean
  startedAt: number
  lastUsed: number
  /** Infinity until the runner is ready: before that its silence means nothing. */
  lastHeard: number
  isTemporary: boolean
  sessions: number
}

/** For how many unexpected messages an unread body counts. */
export const unexpectedCount = (bodyBytes: number): number =>
  Math.min(Math.ceil(bodyBytes / UNEXPECTED_BODY.bytes), UNEXPECTED_BODY.countMax)

export const isSilent = ({ isBusy, startedAt, lastHeard }: RunnerUse, now: number): boolean =>
  lastHeard === Number.POSITIVE_INFINITY
    ? now - startedAt > START_MS_MAX
    : now - lastHeard > (isBusy ? SILENCE_MS_MAX : IDLE_SILENCE_MS_MAX)

/** Whether nobody has used a runner for so long that it ends. */
export const isIdle = ({ isBusy, lastUsed, isTemporary, sessions }: RunnerUse, now: number, idleMs: number): boolean =>
  !isBusy && now - lastUsed > (isTemporary && sessions === 0 ? Math.min(TEMPORARY_IDLE_MS, idleMs) : idleMs)

export const residentBytesMax = (isShared: boolean, residentMbMax = RESIDENT_MB_MAX[isShared ? 'shared' : 'own']): number =>
  residentMbMax * 1024 * 1024

/** `soft`: the sessions that nobody calls are closed. `hard`: the runner ends. */
export const memoryExcess = (bytes: number, bytesMax: number): 'soft' | 'hard' | null =>
  bytes > bytesMax ? 'hard' : bytes > bytesMax * RESIDENT_SOFT ? 'soft' : null

/**
 * The place that is to blame for the exit of a runner; null where nobody knows.
 * @param known the place that was seen to cause it; empty where what caused it was closed before
 * @param suspects places that had something running
 */
export const culpritOf = (known: string | null, suspects: readonly string[], isFailedStart: boolean): string | null =>
  known ?? (suspects.length === 1 && !isFailedStart ? (suspects[0] as string) : null)

/** Whether calls that were interrupted by the exit of a runner are tried in another one. */
export const isWorthRepeating = (isFailedStart: boolean, failedStarts: number): boolean =>
  !isFailedStart || failedStarts < FAILED_STARTS_MAX
