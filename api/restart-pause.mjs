// @ts-check
// How long the launcher waits before it restarts a blocked server.

const PAUSE_FIRST_MS = 1_000
/** A server that is blocked at every start restarts once a minute, and leaves the machine to others in between. */
const PAUSE_MS_MAX = 60_000
/** After running this long, the cause of the last restart counts as gone. */
const RAN_WELL_MS = 10 * 60_000

/**
 * Milliseconds: the first pause, or twice the previous one if the server was blocked again soon.
 * @param {number} beforeMs the pause before this run; 0 if there was none
 * @param {number} ranMs how long the server ran after it
 */
export function restartPauseMs(beforeMs, ranMs) {
  if (beforeMs === 0 || ranMs >= RAN_WELL_MS) return PAUSE_FIRST_MS
  return Math.min(beforeMs * 2, PAUSE_MS_MAX)
}
