// Codes with which the server ends on purpose. Plain JavaScript: launch.mjs reads them on Node 20, before anything is installed.

/**
 * The watchdog ended a server whose main thread had stood still. The launcher starts the server anew on this code alone. A number
 * outside those of Node (1 to 13), of shells and signals (126 and up) and of systemd (200 and up).
 */
export const STALLED_EXIT_CODE = 75

/**
 * How it ends such a server: a thread cannot end its process with a code of its own while the main thread stands in native code, but a signal
 * can. Nobody else sends this one, and Node leaves it alone. The launcher takes the end by it for the code above.
 */
export const STALLED_SIGNAL = 'SIGVTALRM'
