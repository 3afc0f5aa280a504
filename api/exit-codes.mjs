// Codes with which the server ends on purpose. Plain JavaScript: launch.mjs reads them on Node 20, before anything is installed.

/**
 * The watchdog ended a server whose main thread had stood still. The launcher starts the server anew on this code alone. A number
 * outside those of Node (1 to 13), of shells and signals (126 and up) and of systemd (200 and up).
 */
export const STALLED_EXIT_CODE = 75
