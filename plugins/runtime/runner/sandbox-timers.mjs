// @ts-check

/** The limit of the prelude, and bounds for delays: timers without delay would keep this process busy. */
const TIMERS = { max: 16, msMin: 4, msMax: 60_000 }
/** Of a stack, so that those of all timers, whose characters JSON may escape with six, fit into the header of an answer. */
const STACK_LENGTH_MAX = 512

/** Whole lines: a part of a number would be another position. @param {string} stack */
const shortened = (stack) => (stack.length > STACK_LENGTH_MAX ? stack.slice(0, stack.lastIndexOf('\n', STACK_LENGTH_MAX) + 1) : stack)

/** The timers set by the code of one isolate. */
export class SandboxTimers {
  #isTraced
  #onFire
  /** @type {Map<number, { timeout: NodeJS.Timeout, call: number | undefined, stack: string | undefined }>} */
  #timers = new Map()

  /** @param {boolean} isTraced whether the code that sets timers is to be known @param {(id: number, call: number | undefined) => void} onFire */
  constructor(isTraced, onFire) {
    this.#isTraced = isTraced
    this.#onFire = onFire
  }

  /** @param {number} id @param {number} ms @param {unknown} given the id of the call that set it @param {unknown} where the stack of that code */
  set(id, ms, given, where) {
    if (this.#timers.size >= TIMERS.max) return
    const call = typeof given === 'number' ? given : undefined
    const stack = typeof where === 'string' && this.#isTraced ? shortened(where) : undefined
    const fire = () => {
      this.#timers.delete(id)
      this.#onFire(id, call)
    }
    const timeout = setTimeout(fire, Math.min(Math.max(ms || 0, TIMERS.msMin), TIMERS.msMax))
    this.#timers.set(id, { timeout, call, stack })
  }

  /** @param {number} id */
  clear(id) {
    clearTimeout(this.#timers.get(id)?.timeout)
    this.#timers.delete(id)
  }

  /** The stacks of the pending timers of a call, where they are known. @param {number} call @returns {string[]} */
  pendingOf(call) {
    return [...this.#timers.values()].flatMap((timer) => (timer.call === call && timer.stack !== undefined ? [timer.stack] : []))
  }

  clearAll() {
    for (const id of this.#timers.keys()) this.clear(id)
  }
}
