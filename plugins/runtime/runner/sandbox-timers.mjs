// @ts-check

/** As many as the prelude lets wait, and no sooner or later than these; a timer that is due at once would keep this process busy for nothing. */
const TIMERS = { max: 16, msMin: 4, msMax: 60_000 }

/** The timers that the code of one isolate has set. */
export class SandboxTimers {
  #onFire
  /** @type {Map<number, NodeJS.Timeout>} */
  #timers = new Map()

  /** @param {(id: number, call: number | undefined) => void} onFire */
  constructor(onFire) {
    this.#onFire = onFire
  }

  /** @param {number} id @param {number} ms @param {number | undefined} call that has set it */
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
