// @ts-check

/**
 * @typedef {{ cpuMs: number, wallMs: number }} Budget
 * @typedef {{ isolateMs: number, processMs: number }} CpuTimes
 * @typedef {CpuTimes & { at: number }} Moment
 */

/** Calls that have used this share of their CPU limit are few, and may be slowed to find out where they spend it. */
const LONG_SHARE = 1 / 2
/** CPU time of code after its call was answered: for cleaning up. */
const AFTERWARDS_CPU_MS_MAX = 100

const processCpuMs = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e3
}

/** To microseconds: all digits of a number are longer than the rest of a message's header. @param {number} ms */
const rounded = (ms) => Math.round(ms * 1e3) / 1e3

/**
 * CPU time of an isolate between two moments. Its own clock also counts while its thread waits for a core; that of the process includes
 * other isolates too: the true value is at most the smaller of the two.
 * @param {CpuTimes} since @param {CpuTimes} until
 */
const cpuMsBetween = (since, until) => Math.min(until.isolateMs - since.isolateMs, until.processMs - since.processMs)

/** The running calls of one isolate, and what each of them has used. */
export class CallBudgets {
  #isolate
  /** @type {Map<number, Moment & { budget: Budget }>} */
  #running = new Map()
  /** When the last call was answered, to measure what runs after that. @type {CpuTimes} */
  #answeredAt = { isolateMs: 0, processMs: 0 }
  /** When a debugger was last attached: budgets start again then. @type {Moment} */
  #debuggedAt = { at: 0, isolateMs: 0, processMs: 0 }

  /** @param {import('isolated-vm').Isolate} isolate */
  constructor(isolate) {
    this.#isolate = isolate
  }

  /** The number of running calls. */
  get size() {
    return this.#running.size
  }

  /** @param {number} id */
  has(id) {
    return this.#running.has(id)
  }

  /** @param {number} id @param {Budget} budget */
  begin(id, budget) {
    this.#running.set(id, { ...this.#now(), budget })
  }

  /** @param {number} id @returns {Budget | null} what it used; null when it is not running */
  finish(id) {
    const call = this.#running.get(id)
    if (call === undefined) return null
    this.#running.delete(id)
    if (this.#isolate.isDisposed) return { cpuMs: 0, wallMs: rounded(performance.now() - call.at) }
    const now = this.#now()
    this.#answeredAt = now
    return { cpuMs: rounded(cpuMsBetween(call, now)), wallMs: rounded(now.at - call.at) }
  }

  /** A debugger is attached: time until now counts for no budget. */
  noteDebugging() {
    this.#debuggedAt = this.#now()
    this.#answeredAt = this.#debuggedAt
  }

  /** Whether code has used more than its time for cleaning up since the last answer. */
  isPastAnswer(now = this.#now()) {
    return cpuMsBetween(this.#answeredAt, now) > AFTERWARDS_CPU_MS_MAX
  }

  /** Whether a call has used much of its CPU time. */
  isLong(now = this.#now()) {
    for (const call of this.#running.values()) if (cpuMsBetween(call, now) > call.budget.cpuMs * LONG_SHARE) return true
    return false
  }

  /** @returns {{ code: 'cpu' | 'timeout', message: string, id: number | null } | null} the exceeded budget, and its call */
  check() {
    const now = this.#now()
    if (this.#running.size === 0 && this.isPastAnswer(now))
      return { code: 'cpu', message: 'The code continued to use the CPU after its call was answered.', id: null }
    for (const [id, call] of this.#running) {
      const { budget } = call
      const since = this.#debuggedAt.at > call.at ? this.#debuggedAt : call
      if (cpuMsBetween(since, now) > budget.cpuMs)
        return { code: 'cpu', message: `The code exceeded its CPU limit of ${budget.cpuMs} ms.`, id }
      if (now.at - since.at > budget.wallMs)
        return { code: 'timeout', message: `The code exceeded its time limit of ${budget.wallMs} ms.`, id }
    }
    return null
  }

  /** @returns {Moment} */
  #now() {
    return { at: performance.now(), isolateMs: Number(this.#isolate.cpuTime) / 1e6, processMs: processCpuMs() }
  }
}
