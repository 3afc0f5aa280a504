/** One Ctrl-C reaches a program from the terminal and again from npm and the launcher: what comes this soon is the same one. */
const SAME_SIGNAL_MS = 700
/** 128 + SIGINT, as shells say it. */
export const QUIT_AT_ONCE = 130

/**
 * Aborts when a signal asks this process to stop, or when its launcher was killed. A second signal ends the process at once.
 */
export function openStopSignal(): AbortSignal {
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
  // A launcher that listens is no reason to stay.
  process.channel?.unref()
  return stop.signal
}
