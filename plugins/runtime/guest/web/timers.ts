const { apply } = Reflect
const promiseThen = Promise.prototype.then
const resolved = Promise.resolve()

/** Timers of the prelude, which limits them. */
export interface Timers {
  /** @param isDeadline whether it may be pending when its call is answered, because no code can clear it */
  set: (run: () => void, ms: number, isDeadline?: boolean) => number
  clear: (id: number) => void
}

let timers: Timers

export function useTimers(given: Timers): void {
  timers = given
}

export function setTimeout(run: unknown, ms: unknown = 0, ...given: unknown[]): number {
  if (typeof run !== 'function') throw new TypeError('setTimeout needs a function.')
  return timers.set(() => apply(run, undefined, given), delayOf(ms))
}

/** For a timer that no code can clear. */
export function setDeadline(run: () => void, ms: unknown): void {
  timers.set(run, delayOf(ms), true)
}

function delayOf(ms: unknown): number {
  const number = Number(ms)
  return number > 0 ? number : 0
}

export function clearTimeout(id: unknown): void {
  if (typeof id === 'number') timers.clear(id)
}

export function queueMicrotask(run: unknown): void {
  if (typeof run !== 'function') throw new TypeError('queueMicrotask needs a function.')
  apply(promiseThen, resolved, [() => void run()])
}
