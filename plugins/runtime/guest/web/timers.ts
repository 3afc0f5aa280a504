const { apply } = Reflect
const promiseThen = Promise.prototype.then
const resolved = Promise.resolve()

/** Timers of the prelude, which limits them. */
export interface Timers {
  set: (run: () => void, ms: number) => number
  clear: (id: number) => void
}

let timers: Timers

export function useTimers(given: Timers): void {
  timers = given
}

export function setTimeout(run: unknown, ms: unknown = 0, ...given: unknown[]): number {
  if (typeof run !== 'function') throw new TypeError('setTimeout needs a function.')
  const number = Number(ms)
  return timers.set(() => apply(run, undefined, given), number > 0 ? number : 0)
}

export function clearTimeout(id: unknown): void {
  if (typeof id === 'number') timers.clear(id)
}

export function queueMicrotask(run: unknown): void {
  if (typeof run !== 'function') throw new TypeError('queueMicrotask needs a function.')
  apply(promiseThen, resolved, [() => void run()])
}
