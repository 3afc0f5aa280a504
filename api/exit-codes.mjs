// @ts-check
// Exit codes of the server. Plain JavaScript: launch.mjs reads them on Node 20, before packages are installed.

/**
 * The watchdog ended a server whose main thread was blocked. The launcher restarts the server only for this code. It is outside
 * of the codes of Node (1 to 13), of shells and signals (126 and up) and of systemd (200 and up).
 */
export const STALLED_EXIT_CODE = 75

/**
 * The signal by which the watchdog ends the server: while the main thread is in native code, a thread cannot end the process with an exit
 * code, but a signal can. Nothing else sends this one, and Node does not handle it. The launcher treats it as the code above.
 */
export const STALLED_SIGNAL = 'SIGVTALRM'
