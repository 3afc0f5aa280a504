/** One Ctrl-C reaches a program from the terminal and again from npm and the launcher: signals within this time count as one. */
const SAME_SIGNAL_MS = 700
/** 128 + SIGINT, the exit code that shells use. */
export const QUIT_AT_ONCE = 130

/**
 * Aborts when this process receives a signal to stop, or when its launcher was killed. A second signal ends the process at once.
 */
export function receiveStopSignal(): AbortSignal {
  const stop = new AbortController()
  let stoppedAt = 0
  const requestStop = () => {
    const now = Date.now()
    if (stoppedAt === 0) {
      stoppedAt = now
      stop.abort()
    } else if (now - stoppedAt > SAME_SIGNAL_MS) process.exit(QUIT_AT_ONCE)
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, requestStop)
  process.on('disconnect', requestStop)
  // The channel to a launcher must not keep the process running.
  process.channel?.unref()
  return stop.signal
}
