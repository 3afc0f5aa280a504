import type { Test } from 'tap'

/** The first pause of the login throttle takes a second, which a busy machine lets pass between two requests: its clock stands still until the test ends. */
export function stopClock(t: Test): void {
  const stopped = performance.now()
  performance.now = () => stopped
  t.teardown(() => Reflect.deleteProperty(performance, 'now'))
}
