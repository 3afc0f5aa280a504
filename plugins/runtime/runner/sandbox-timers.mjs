// @ts-check

/** The limit of the prelude, and bounds for delays: timers without delay would keep this process busy. */
const TIMERS = { max: 16, msMin: 4, msMax: 60_000 }

/** The timers set by the code of one isolate. */
export class SandboxTimers {
  #onFire
  /** @type {Map<number, NodeJS.Timeout>} */
  #timers = new Map()

  /** @param {(id: number, call: number | undefined) => void} onFire */
  constructor(onFire) {
    this.#onFire = onFire
  }

  /** @param {number} id @param {number} ms @param {number | undefined} call that set it */
  set(id, ms, call) {
    if (this.#timers.size >= TIMERS.max) return
    const fire = () => {
      this.#timers.delete(id)
      this.#onFire(id, call)
    }
    this.#timers.set(id, setTimeout(fire, Math.min(Math.max(ms || 0, TIMERS.msMin), TIMERS.msMax)))
  }

  /** @param {number} id */
  clear(id) {
    clearTimeout(this.#timers.get(id))
    this.#timers.delete(id)
  }

  clearAll() {
    for (const id of this.#timers.keys()) this.clear(id)
  }
}
