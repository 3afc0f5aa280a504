// How long the launcher waits before it starts a server anew that stood still.

const PAUSE_FIRST_MS = 1_000
/** A server that stands still at every start is looked at once a minute, and the machine is free for others in between. */
const PAUSE_MS_MAX = 60_000
/** Whoever ran this long has left behind what made it stand still. */
const RAN_WELL_MS = 10 * 60_000

/**
 * Milliseconds: the first pause, or twice the one before when the server stood still again soon.
 * @param {number} beforeMs the pause before this run; 0 when there was none
 * @param {number} ranMs how long the server ran after it
 */
export function restartPauseMs(beforeMs, ranMs) {
  if (beforeMs === 0 || ranMs >= RAN_WELL_MS) return PAUSE_FIRST_MS
  return Math.min(beforeMs * 2, PAUSE_MS_MAX)
}
